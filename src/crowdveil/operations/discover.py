"""Discover: from a file of claims, labels or reports to a file of truths. It spends no privacy.

Truths from raw claims are as private as those. Truths from noisy claims and from reports are computed from
what devices sent, and keep what was promised about that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.evaluation.known_truths import accuracy_of_labels, errors_of_numbers
from crowdveil.files import (
    check_new,
    read_cell_reports,
    read_claims,
    read_known_labels,
    read_labels,
    read_noise,
    read_truths,
    write_table,
)
from crowdveil.files.writing import STDOUT
from crowdveil.guarantee import SEEDED
from crowdveil.local.description import Description
from crowdveil.local.reports import Reports
from crowdveil.operations.cell_truths import estimators
from crowdveil.truth import registry
from crowdveil.truths import Truths, Voted

RAW = "No guarantee: these truths were found from raw claims."


@dataclass(frozen=True, eq=False)
class Discovered:
    """Truths, what is promised to the people behind them, and where they were written.

    Parameters
    ----------
    truths:
        The estimates, and the users' weights.
    table:
        The estimates as they were written.
    size:
        How many claims, or how many cells, they were inferred from.
    of_cells:
        Whether they were inferred from reports about every cell, and not from claims.
    promise:
        What is promised about each claim or cell, in words.
    user_promise:
        What is promised to each user, in words.
    scores:
        How close estimates come to known truths, if these were given.
    warnings:
        What whoever asked should know beside the result.
    out:
        Where the estimates were written: a file, or "-" for standard output.
    weights:
        The file of users' weights, beside a file of estimates.

    """

    truths: Truths | Voted
    table: pl.DataFrame
    size: int
    of_cells: bool
    promise: str
    user_promise: str
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    out: str = STDOUT
    weights: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "method": self.truths.method,
            "objects": len(self.truths.objects),
            "users": len(self.truths.users),
            **({} if self.of_cells else {"claims": self.size}),
            "sweeps": self.truths.sweeps,
            "converged": self.truths.converged,
            "promise": self.promise,
            "user_promise": self.user_promise,
            **({"cells": self.size} if self.of_cells else {}),
            **self.scores,
            "out": self.out,
            "weights": self.weights,
        }


def discover(
    claims: str,
    *,
    out: str = STDOUT,
    method: str | None = None,
    labels: bool = False,
    truths: str | None = None,
    level: float = 0.9,
    sparsity: float | None = None,
    object: str | None = None,
    user: str | None = None,
    value: str | None = None,
    force: bool = False,
    engine: LocalEngine | None = None,
) -> Discovered:
    """Infer one value for each object, and write the values and the users' weights.

    Parameters
    ----------
    claims:
        File of claims, noisy claims, labels, or reports about every cell; "-" is standard input.
    out:
        File of truths; the users' weights go beside it. "-" is standard output, without the weights.
    method:
        A name in `truth.registry.METHODS`; without one, the default for what is in the file.
    labels:
        Whether values are labels.
    truths:
        File of known truths to compare with.
    level:
        How often intervals should cover the truth.
    sparsity:
        For reports of lp and slots: the share of cells without an answer, known beforehand.
    object, user, value:
        Names of columns; without them they are guessed.
    force:
        Whether to replace files.
    engine:
        Runs the loops.

    """
    weights = None
    if out != STDOUT:
        check_new(Path(out), force=force)
        weights = str(weights_file(out))
        check_new(Path(weights), force=force)
    columns = {"object": object, "user": user, "value": value}
    reports = read_cell_reports(claims)
    if reports is not None:
        if labels or any(columns.values()):
            raise ParameterError("reports about every cell have no labels and no columns to choose")
        discovered = _from_reports(reports, method, sparsity, truths, level, engine)
    elif sparsity is not None:
        raise ParameterError("--sparsity goes with reports of lp and slots")
    elif labels:
        discovered = _from_labels(claims, columns, method, truths, engine)
    else:
        discovered = _from_claims(claims, columns, method, truths, level, engine)
    discovered = replace(discovered, out=out, weights=weights)
    if not discovered.truths.converged:
        discovered = replace(discovered, warnings=(*discovered.warnings, _still_moving(discovered.truths)))
    write_table(discovered.table, out, force=force)
    if weights is not None:
        write_table(discovered.truths.user_frame(), weights, force=force)
    return discovered


def weights_file(out: str) -> Path:
    """Where the users' weights go that belong to truths in `out`."""
    path = Path(out)
    stem, dot, ending = path.name.partition(".")
    return path.with_name(f"{stem}.weights{dot}{ending}")


def _from_claims(
    path: str,
    columns: Mapping[str, str | None],
    method: str | None,
    known: str | None,
    level: float,
    engine: LocalEngine | None,
) -> Discovered:
    claims = read_claims(path, **columns)
    certificate = read_noise(path)
    law, promises = None, (RAW, RAW)
    if certificate is not None:
        mechanism = Description(certificate.method, certificate.parameters).build()
        law, most = mechanism.law, int(claims.claims_per_user().max())
        user = SEEDED if certificate.seeded else mechanism.promise("user", most)
        promises = certificate.promise.sentence(), user.sentence()
    truths = registry.discover(claims, method, law=law, engine=engine)
    table = truths.to_frame(level)
    return Discovered(truths, table, len(claims), False, *promises, _scores(table, known))


def _from_labels(
    path: str,
    columns: Mapping[str, str | None],
    method: str | None,
    known: str | None,
    engine: LocalEngine | None,
) -> Discovered:
    labels = read_labels(path, **columns)
    voted = registry.vote(labels, method, engine=engine)
    table = voted.to_frame()
    scores = {} if known is None else accuracy_of_labels(table, read_known_labels(known), source=known)
    return Discovered(voted, table, len(labels), False, RAW, RAW, scores)


def _from_reports(
    reports: Reports,
    method: str | None,
    sparsity: float | None,
    known: str | None,
    level: float,
    engine: LocalEngine | None,
) -> Discovered:
    truths, warnings = estimators(reports.read(), sparsity).infer(method, engine)
    table = truths.to_frame(level)
    cells = len(reports.objects) * len(reports.users)
    promises = reports.promise.sentence(), reports.user_promise.sentence()
    return Discovered(truths, table, cells, True, *promises, _scores(table, known), warnings)


def _scores(table: pl.DataFrame, known: str | None) -> dict[str, float]:
    return {} if known is None else errors_of_numbers(table, read_truths(known), source=known)


def _still_moving(truths: Truths | Voted) -> str:
    return f"still moving after {truths.sweeps} sweeps: truths are close to where they would rest, not there"
