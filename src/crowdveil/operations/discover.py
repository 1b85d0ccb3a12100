"""Discover: from a file of claims, labels or reports to a file of truths. It spends no privacy.

Truths from noisy claims and from reports are computed from what devices sent, and keep what was promised.
Where a file carries no certificate, its claims are of unknown origin: they may be raw.
Nothing is promised then. Nor is it where somebody states their law (`--law`): what would follow is told as
that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.certificates.certificate import Certificate
from crowdveil.engines import Engine
from crowdveil.errors import InputError, ParameterError
from crowdveil.evaluation.known_truths import accuracy_of_labels, errors_of_numbers
from crowdveil.files import (
    File,
    check_new,
    keep_apart,
    read_cell_reports,
    read_claims_as_told,
    read_known_labels,
    read_labels_as_told,
    read_truths,
    write_table,
)
from crowdveil.files.certificates import STDIN, read_certificate
from crowdveil.files.writing import STDOUT
from crowdveil.guarantee import SEEDED, NoGuarantee
from crowdveil.local.description import Description
from crowdveil.local.reports import Reports
from crowdveil.operations.cell_truths import estimators
from crowdveil.truth import registry
from crowdveil.truths import Truths, Voted

UNKNOWN = "unknown"
STATED = "stated by --law"
IF_SO = "If these claims were drawn so: "
UNKNOWN_ORIGIN = (
    "No guarantee: these truths were found from claims of unknown origin. Nothing tells whether those are "
    "raw, or noisy and by what law."
)
NOT_TIED = (
    "--law tells how the noise was drawn: nothing ties it to these claims, nor the promise that follows"
)


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
        What is promised about each claim or cell, in words; None if only somebody's word stands for it.
    user_promise:
        What is promised to each user, in words; None if only somebody's word stands for it.
    origin:
        What the input says that it is, like "noisy claims" or "reports"; "unknown" if it says nothing, and
        "stated by --law" if it says nothing and a law was named.
    stated_promise, stated_user_promise:
        What would be promised if the claims were drawn by the law that was named.
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
    promise: str | None
    user_promise: str | None
    origin: str = UNKNOWN
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    out: str = STDOUT
    weights: str | None = None
    stated_promise: str | None = None
    stated_user_promise: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "method": self.truths.method,
            "objects": len(self.truths.objects),
            "users": len(self.truths.users),
            **({} if self.of_cells else {"claims": self.size}),
            "sweeps": self.truths.sweeps,
            "converged": self.truths.converged,
            "origin": self.origin,
            "promise": self.promise,
            "user_promise": self.user_promise,
            "stated_promise": self.stated_promise,
            "stated_user_promise": self.stated_user_promise,
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
    law: str | None = None,
    truths: str | None = None,
    level: float = 0.9,
    sparsity: float | None = None,
    object: str | None = None,
    user: str | None = None,
    value: str | None = None,
    force: bool = False,
    engine: Engine | None = None,
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
    law:
        File that tells the law of the noise, for noisy claims that lost it: a certificate, or a file that
        carries one.
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
        File(Path(out)).check_name()
        weights = str(weights_file(out))
        keep_apart([out, weights], {"the input": claims, "--law": law, "--truths": truths})
        check_new(Path(out), force=force)
        check_new(Path(weights), force=force)
    columns = {"object": object, "user": user, "value": value}
    reports = read_cell_reports(claims)
    if reports is not None:
        if labels or any(columns.values()):
            raise ParameterError("reports about every cell have no labels and no columns to choose")
        if law is not None:
            raise ParameterError("--law goes with noisy claims; reports about every cell carry their own")
        discovered = _from_reports(reports, method, sparsity, truths, level, engine)
    elif sparsity is not None:
        raise ParameterError("--sparsity goes with reports of lp and slots")
    elif labels:
        if law is not None:
            raise ParameterError("--law goes with noisy claims, which are numbers, and not with --labels")
        discovered = _from_labels(claims, columns, method, truths, engine)
    else:
        discovered = _from_claims(claims, columns, law, method, truths, level, engine)
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
    law_file: str | None,
    method: str | None,
    known: str | None,
    level: float,
    engine: Engine | None,
) -> Discovered:
    if path == STDIN == law_file:
        raise ParameterError("the claims and --law cannot both be read from standard input")
    given = None if law_file is None else _law_in(law_file)
    claims, own = read_claims_as_told(path, **columns, engine=engine)
    certificate, warnings = _agreed(own, given)
    stated = own is None and given is not None
    law, told = None, _told(certificate)
    if certificate is not None and certificate.kind == "noisy claims":
        mechanism = _mechanism(certificate)
        law, most = mechanism.law, int(claims.claims_per_user().max())
        user = SEEDED if certificate.seeded else mechanism.promise("user", most)
        told = certificate.promise.sentence(), user.sentence(), certificate.kind
    truths = registry.discover(claims, method, law=law, engine=engine)
    table = truths.to_frame(level)
    scores = _scores(table, known)
    if not stated:
        return Discovered(truths, table, len(claims), False, *told, scores, warnings)
    return Discovered(
        *(truths, table, len(claims), False, None, None, STATED, scores, warnings),
        stated_promise=IF_SO + told[0],
        stated_user_promise=IF_SO + told[1],
    )


def _law_in(path: str) -> Certificate:
    """The certificate that tells the law of noisy claims."""
    certificate = read_certificate(path).certificate
    if certificate.kind != "noisy claims":
        raise InputError(f"{path}: tells of {certificate.kind}, and --law takes what tells of noisy claims")
    return certificate


def _agreed(own: Certificate | None, given: Certificate | None) -> tuple[Certificate | None, tuple[str, ...]]:
    """The certificate that claims carry, else the one that was given for them, with a warning."""
    if given is None:
        return own, ()
    if own is None:
        return given, (NOT_TIED,)
    if own.kind != given.kind or _mechanism(own) != _mechanism(given):
        raise ParameterError("the claims carry another law than --law tells: leave --law away")
    return own, ()


def _mechanism(certificate: Certificate) -> Any:
    return Description(certificate.method, certificate.parameters).build()


def _told(certificate: Certificate | None) -> tuple[str, str, str]:
    """What is promised about truths, and to users, as a certificate says; and of what it is."""
    if certificate is None:
        return UNKNOWN_ORIGIN, UNKNOWN_ORIGIN, UNKNOWN
    user = certificate.user_promise or NoGuarantee("nothing is told about all claims of a user together.")
    return certificate.promise.sentence(), user.sentence(), certificate.kind


def _from_labels(
    path: str,
    columns: Mapping[str, str | None],
    method: str | None,
    known: str | None,
    engine: Engine | None,
) -> Discovered:
    labels, certificate = read_labels_as_told(path, **columns, engine=engine)
    voted = registry.vote(labels, method, engine=engine)
    table = voted.to_frame()
    scores = {} if known is None else accuracy_of_labels(table, read_known_labels(known), source=known)
    return Discovered(voted, table, len(labels), False, *_told(certificate), scores)


def _from_reports(
    reports: Reports,
    method: str | None,
    sparsity: float | None,
    known: str | None,
    level: float,
    engine: Engine | None,
) -> Discovered:
    truths, warnings = estimators(reports.read(), sparsity).infer(method, engine)
    table = truths.to_frame(level)
    cells = len(reports.objects) * len(reports.users)
    told = reports.promise.sentence(), reports.user_promise.sentence(), "reports"
    return Discovered(truths, table, cells, True, *told, _scores(table, known), warnings)


def _scores(table: pl.DataFrame, known: str | None) -> dict[str, float]:
    return {} if known is None else errors_of_numbers(table, read_truths(known), source=known)


def _still_moving(truths: Truths | Voted) -> str:
    return f"still moving after {truths.sweeps} sweeps: truths are close to where they would rest, not there"
