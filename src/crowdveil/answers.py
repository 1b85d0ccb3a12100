"""Answers: a sparse table of users by objects, and the perturbed reports of it that devices send.

Whether a user answered is as private as the answer. So all users and all objects are listed, and a cell (a
user and an object) holds either an answer of a public domain or none (NULL).
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
    """The integers low, low + 1, ..., high: the possible answers."""

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
        """Number of possible answers, not counting NULL."""
        return self.high - self.low + 1

    def values(self) -> Floats:
        """The possible answers as floats, ascending."""
        return np.arange(self.low, self.high + 1, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers grouped by user: those of user u are `codes[offsets[u]:offsets[u + 1]]`.

    The same slice of `object_codes` holds the objects that they are about. Invariants: an answer's code is
    below the domain's size, the objects of a user ascend, and arrays are read-only.
    """

    objects: pl.Series  # names of all N objects, including those without an answer
    users: pl.Series  # names of all M users
    domain: Domain
    offsets: Ints  # (M + 1,)
    object_codes: Codes
    codes: Symbols
    moved: int  # number of answers that were clamped or rounded to the domain; private
    declared: bool = True  # whether objects and users were listed, not taken from the answers

    @classmethod
    def from_claims(
        cls,
        claims: Claims,
        domain: Domain,
        *,
        objects: Iterable[str | int] | None = None,
        users: Iterable[str | int] | None = None,
    ) -> Answers:
        """Claims as answers, rounded and clamped to the domain.

        `objects` and `users` list all objects and users. Without a list they are taken from the claims: a
        user without an answer then does not take part, so taking part reveals that a user answered.
        """
        if objects is not None:
            before, claims = len(claims), claims.about(objects)
            if len(claims) < before:
                raise InputError("somebody has claims about an object that is not on the list of objects")
        names, places = _listed(claims.users, users)
        owners = places[claims.user_codes]
        by_user = np.argsort(owners, kind="stable")  # stable: the claims of a user stay sorted by object
        values = claims.values[by_user]
        nearest = np.clip(np.rint(values), domain.low, domain.high)
        counts = np.bincount(owners, minlength=len(names))
        return cls(
            objects=claims.objects,
            users=names,
            domain=domain,
            offsets=frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
            object_codes=frozen(claims.owners()[by_user].astype(np.int32)),
            codes=frozen((nearest - domain.low).astype(np.uint8)),
            moved=int(np.count_nonzero(nearest != values)),
            declared=objects is not None and users is not None,
        )

    def __len__(self) -> int:
        return int(self.codes.size)

    def __repr__(self) -> str:
        return f"Answers({len(self)} of {len(self.users)} users about {len(self.objects)} objects)"

    @property
    def sparsity(self) -> float:
        """Share of cells without an answer."""
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
    """One randomized symbol (a byte) for each cell, and the law that produced the symbols.

    `law[x, y]` is the probability of symbol y given answer x; the last row is that of NULL. Symbols 0 ...
    K - 2 stand for the numbers in `levels`, the last symbol for NULL. If `answered`, the share of cells with
    an answer, is set, then no symbol stands for NULL, because the reports carry no information on that share.
    If `users_alike`, the cells of a user share a hidden draw (as in the 2-Layer mechanism) and `law` is the
    marginal law of one cell; an estimator must then treat all users alike.
    """

    objects: pl.Series
    users: pl.Series
    domain: Domain
    symbols: Symbols  # (M, N)
    law: Floats  # (domain.size + 1, K)
    levels: Floats  # (K - 1,), or (K,) without a symbol for NULL
    answered: float | None = None
    users_alike: bool = False


def _listed(claimants: pl.Series, listed: Iterable[str | int] | None) -> tuple[pl.Series, Ints]:
    """Names of all users, ascending, and the index among them of each user with claims."""
    names = claimants
    if listed is not None:
        texts = pl.Series(claimants.name, sorted({str(name) for name in listed}), dtype=pl.String)
        names = texts.cast(claimants.dtype, strict=False).unique().sort()
        if names.null_count() or names.is_empty():
            raise InputError("the list of users is empty, or its names are not of the claims' kind")
        if not claimants.is_in(names.implode()).all():
            raise InputError("somebody has claims who is not on the list of users")
    return names, names.search_sorted(claimants).to_numpy().astype(np.int64)
