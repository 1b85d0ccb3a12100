"""Answers: what each user answered about each object, most often nothing; and what devices report of it.

Whether somebody answered is as private as the answer. So all users and all objects are listed, and a cell (a
user and an object) holds an answer of a public domain, or none (NULL).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints, frozen
from crowdveil.claims import Claims
from crowdveil.errors import InputError, ParameterError

Symbols = NDArray[np.uint8]
MOST_ANSWERS = 200  # a symbol is a byte


@dataclass(frozen=True)
class Domain:
    """The whole numbers low, low + 1, ..., high that an answer can be."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not (isinstance(self.low, int) and isinstance(self.high, int)):
            raise ParameterError("a domain of answers lies between two whole numbers")
        if not 2 <= self.size <= MOST_ANSWERS:
            raise ParameterError(
                f"a domain has 2 to {MOST_ANSWERS} answers; {self.low}:{self.high} has {max(0, self.size)}"
            )

    @property
    def size(self) -> int:
        """How many answers there are, NULL not counted."""
        return self.high - self.low + 1

    def values(self) -> Floats:
        """The answers as numbers."""
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    def codes(self, values: Floats) -> Symbols:
        """The nearest answer of each value, in steps above the low end; halves go to the even answer."""
        nearest = np.clip(np.rint(values), self.low, self.high)
        return (nearest - self.low).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers by user: those of user u are `codes[offsets[u]:offsets[u + 1]]`, about `object_codes` there.

    Always true: an answer's code is below the domain's size, a user's objects ascend, arrays are read-only.
    """

    objects: pl.Series  # names of all N objects, also of those that nobody answered about
    users: pl.Series  # names of all M users
    domain: Domain
    offsets: Ints  # (M + 1,)
    object_codes: Codes
    codes: Symbols
    moved: int  # answers that were clamped or rounded to the domain: not for publication
    declared: bool = True  # objects and users were listed, not read off the answers

    @classmethod
    def from_claims(
        cls,
        claims: Claims,
        domain: Domain,
        *,
        objects: Iterable[str | int] | None = None,
        users: Iterable[str | int] | None = None,
    ) -> Answers:
        """Claims as answers, rounded and clamped; all objects and all users are listed.

        Without a list they are those of the claims. Then somebody who answered nothing does not take part,
        and whoever takes part is known to have answered something.
        """
        if objects is not None:
            made, claims = len(claims), claims.about(objects)
            if len(claims) < made:
                raise InputError("somebody has claims about an object that is not on the list of objects")
        names, places = _listed(claims.users, users)
        takers = places[claims.user_codes]
        by_user = np.argsort(takers, kind="stable")  # and by object, as claims are laid out
        values = claims.values[by_user]
        codes = domain.codes(values)
        each = np.bincount(takers, minlength=len(names))
        return cls(
            objects=claims.objects,
            users=names,
            domain=domain,
            offsets=frozen(np.concatenate([[0], np.cumsum(each)]).astype(np.int64)),
            object_codes=frozen(claims.owners()[by_user].astype(np.int32)),
            codes=frozen(codes),
            moved=int(np.count_nonzero(domain.low + codes.astype(np.float64) != values)),
            declared=objects is not None and users is not None,
        )

    def __len__(self) -> int:
        return int(self.codes.size)

    def __repr__(self) -> str:
        return f"Answers({len(self)} of {len(self.users)} users about {len(self.objects)} objects)"

    @property
    def sparsity(self) -> float:
        """The share of cells without an answer."""
        return 1.0 - len(self) / (len(self.users) * len(self.objects))

    def claims(self) -> Claims:
        """The answers as claims."""
        owners = np.repeat(np.arange(len(self.users)), np.diff(self.offsets))
        return Claims.from_columns(
            self.objects.gather(self.object_codes),
            self.users.gather(owners),
            self.domain.low + self.codes.astype(np.float64),
        )


@dataclass(frozen=True, eq=False)
class CellReports:
    """One randomized symbol for each cell, a byte each, and the law that made them.

    `law[x, y]` is the chance of symbol y where the answer is x; the last row is that of NULL. Symbols 0 ...
    K - 2 stand for the places in the range that `levels` names, the last one for NULL. Where the share of
    cells with an answer is stated, as `answered`, no symbol stands for NULL: reports do not tell that share.
    Where a user's cells share a hidden draw, as in the 2-Layer mechanism, the law is that of one cell alone:
    then users have to be taken for alike.
    """

    objects: pl.Series
    users: pl.Series
    domain: Domain
    symbols: Symbols  # (M, N)
    law: Floats  # (domain.size + 1, K)
    levels: Floats  # (K - 1,), or (K,) without a symbol for NULL
    answered: float | None = None
    users_alike: bool = False


def _listed(found: pl.Series, listed: Iterable[str | int] | None) -> tuple[pl.Series, Ints]:
    """All users' names, ascending, and the place among them of each that was found."""
    names = found
    if listed is not None:
        texts = pl.Series(found.name, sorted({str(name) for name in listed}), dtype=pl.String)
        names = texts.cast(found.dtype, strict=False).unique().sort()
        if names.null_count() or names.is_empty():
            raise InputError("the list of users is empty, or its names are not of the claims' kind")
        if not found.is_in(names.implode()).all():
            raise InputError("somebody has claims who is not on the list of users")
    return names, names.search_sorted(found).to_numpy().astype(np.int64)
