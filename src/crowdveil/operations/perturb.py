"""Perturb a file: claims, or answers, as people's own devices would send them.

Everything that can refuse does so before anything is charged: options, range, places to write, the input, the
lists of objects and users, the mechanism's parameters, and answers that it cannot report.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowdveil.answers import Answers
from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import InputError, ParameterError
from crowdveil.files import (
    Reservation,
    keep_apart,
    read_cell_reports,
    read_names,
    reserved_cell_reports,
    reserved_table,
    write_cell_reports,
    write_reports,
)
from crowdveil.files.writing import is_parquet
from crowdveil.local.description import Description
from crowdveil.local.perturbed import ClaimMechanism, Perturbed, most_claims_of_a_user
from crowdveil.local.perturbed import perturb as perturb_claims
from crowdveil.local.registry import MECHANISMS, check_options
from crowdveil.local.reports import CellMechanism, Reports, promised, report
from crowdveil.local.request import MechanismRequest, whole_domain
from crowdveil.operations.raw_claims import read_raw_claims
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, secure, seeded

LISTED_FROM_CLAIMS = (
    "objects and users were read off the claims, so that each of them has an answer is not hidden: "
    "list them all with --objects and --users"
)


@dataclass(frozen=True)
class Request:
    """What is to be perturbed, and how.

    Parameters
    ----------
    source:
        The file of raw claims; "-" is standard input.
    mechanism:
        A name of `local.registry`.
    range:
        The public range of values; for answers on a scale its ends are whole numbers.
    epsilon:
        How strong, in the unit of the mechanism.
    options:
        What this mechanism takes besides, by name; None is "not given".
    objects, users:
        Files with the names of all objects and of all users, for mechanisms that report about every cell.
    columns:
        Names of the columns `object`, `user` and `value`, where they are to be found by name.
    seed:
        Repeatable draws, which are not private.

    """

    source: str
    mechanism: str
    range: Range
    epsilon: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    objects: Path | None = None
    users: Path | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        check_options(self.mechanism, self.options)
        for option in ("objects", "users"):
            if getattr(self, option) is not None and self.about != "cells":
                raise ParameterError(f"--{option} goes with mechanisms that report about every cell")

    @property
    def about(self) -> str:
        """Whether it is about "claims" that were made or about all "cells"."""
        return MECHANISMS[self.mechanism].about

    def describe(self, **sizes: int) -> Description:
        """The mechanism and its parameters, which some choose by the number of users and objects."""
        return MECHANISMS[self.mechanism].describe(
            MechanismRequest(self.range, self.epsilon, **sizes, options=self.options)
        )

    def cost(
        self,
        mechanism: ClaimMechanism | CellMechanism,
        description: Description,
        *,
        declared: bool,
        of_a_user: int,
    ) -> Cost:
        """What is charged: the promise for the mechanism's own unit; a user has `of_a_user` of them."""
        return Cost(
            promised(mechanism.promise(), declared=declared),
            method=f"perturb {description.mechanism}",
            parameters=dict(description.parameters),
            seeded=self.seed is not None,
            claims_of_a_user=of_a_user,
        )

    def rng(self) -> Randomness:
        """Secure randomness, or a seeded one that is not private."""
        return secure() if self.seed is None else seeded(self.seed)


@dataclass(frozen=True)
class NoisyClaims:
    """Noise on each claim that was made, in a file."""

    out: str
    description: Description
    perturbed: Perturbed
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; what is `for_your_eyes` is covered by no promise."""
        return {
            "out": self.out,
            "mechanism": self.description.mechanism,
            "parameters": dict(self.description.parameters),
            "claims": len(self.perturbed.claims),
            "users": self.perturbed.claims.user_count,
            "for_your_eyes": {"clamped": self.perturbed.clamped},
            "noise_deviation": self.perturbed.law.variance**0.5,
            "private": not self.perturbed.seeded,
            "promise": self.perturbed.promise.to_dict(),
            "user_promise": self.perturbed.user_promise.to_dict(),
        }


@dataclass(frozen=True)
class CellsReported:
    """A report about every cell, whether there is an answer or not, in a file."""

    out: str
    description: Description
    reports: Reports
    moved: int  # answers that were clamped or rounded to the scale
    answered: int  # all answers; as private as they are
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; what is `for_your_eyes` is covered by no promise."""
        return {
            "out": self.out,
            "mechanism": self.description.mechanism,
            "parameters": dict(self.description.parameters),
            "users": len(self.reports.users),
            "objects": len(self.reports.objects),
            "bytes": int(self.reports.rows.nbytes),
            "for_your_eyes": {"clamped": self.moved},
            "declared": self.reports.declared,
            "private": not self.reports.seeded,
            "promise": self.reports.promise.to_dict(),
            "user_promise": self.reports.user_promise.to_dict(),
        }


def perturb(
    request: Request,
    account: Account,
    out: str,
    *,
    force: bool = False,
    engine: Engine | None = None,
) -> NoisyClaims | CellsReported:
    """Perturb a file into another one, charged to the account; `force` replaces what is there.

    An engine that writes folders makes one of Parquet files, each with the certificate of the whole table.

    The promise that is charged holds against whoever sees what was written alone: whoever calls this has the
    raw claims. The result carries warnings for whoever asked.
    """
    read = {"the raw claims": request.source, "--objects": request.objects, "--users": request.users}
    keep_apart([out], read, ledger=account.ledger.path)
    engine = engine or LocalEngine()
    if request.about == "claims":
        with reserved_table(out, force=force, parts=engine.writes_folders) as table:
            return _perturb_claims(request, account, out, table, engine)
    if engine.writes_folders:
        raise ParameterError("--engine spark takes noise on claims only: laplace or gaussian-exponential")
    with reserved_cell_reports(out, force=force) as place:
        return _report_cells(request, account, out, place, engine)


def _perturb_claims(
    request: Request, account: Account, out: str, place: Reservation | None, engine: Engine
) -> NoisyClaims:
    description = request.describe()
    mechanism: ClaimMechanism = description.build()
    in_parts = place is not None and is_parquet(out)
    if engine.writes_folders and not in_parts:
        raise ParameterError("--engine spark writes Parquet: give -o a name that ends in .parquet")
    if place is not None and in_parts:
        engine.check_place(place.drafts[-1])
    claims, warned = _read(request, engine)
    claims = claims if in_parts else claims.here()  # refuses what does not fit in memory
    most = most_claims_of_a_user(claims)
    mechanism.promise("user", most)  # refuses too many claims of a user
    key = account.key(seeded=request.seed is not None)  # refuses one that cannot be used
    perturbed = spend(
        account,
        request.cost(mechanism, description, declared=True, of_a_user=most),
        draw=lambda: perturb_claims(claims, mechanism, rng=request.rng(), engine=engine),
        write=lambda perturbed: write_reports(perturbed, description, place, key, engine),
    )
    return NoisyClaims(out, description, perturbed, warned)


def _report_cells(
    request: Request, account: Account, out: str, place: Reservation, engine: Engine
) -> CellsReported:
    domain = whole_domain(request.range)
    lists = {
        "objects": None if request.objects is None else read_names(request.objects),
        "users": None if request.users is None else read_names(request.users),
    }
    claims, warned = _read(request, engine)
    answers = Answers.from_claims(claims.here(), domain, **lists)
    description = request.describe(users=len(answers.users), objects=len(answers.objects))
    mechanism: CellMechanism = description.build()
    mechanism.check(answers)
    key = account.key(seeded=request.seed is not None)  # refuses one that cannot be used
    raised: list[warnings.WarningMessage] = []

    def draw() -> Reports:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reports = report(answers, mechanism, rng=request.rng(), engine=engine)
        raised.extend(caught)
        return reports

    reports = spend(
        account,
        request.cost(mechanism, description, declared=answers.declared, of_a_user=len(answers.objects)),
        draw=draw,
        write=lambda reports: write_cell_reports(reports, description, place, key),
    )
    messages = [*warned, *sorted({str(warning.message) for warning in raised})]
    if not answers.declared:
        messages.append(LISTED_FROM_CLAIMS)
    return CellsReported(out, description, reports, answers.moved, len(answers), tuple(messages))


def _read(request: Request, engine: Engine) -> tuple[Claims, tuple[str, ...]]:
    """The claims, and a warning if they are noisy; reports about every cell are refused."""
    if read_cell_reports(request.source) is not None:
        raise InputError(f"{request.source}: these are reports already")
    return read_raw_claims(request.source, request.columns, in_range=True, engine=engine)
