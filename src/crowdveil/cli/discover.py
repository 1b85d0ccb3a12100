"""`crowdveil discover`: what is true, and whom to trust."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.options import Force, Json, ObjectColumn, Threads, UserColumn, ValueColumn
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from crowdveil.engines import LocalEngine
    from crowdveil.local.reports import Reports
    from crowdveil.truths import Truths, Voted


class Method(StrEnum):
    """Names of methods."""

    noise_aware = "noise-aware"
    gtm = "gtm"
    crh = "crh"
    catd = "catd"
    inverse_deviation = "inverse-deviation"
    mean = "mean"
    median = "median"
    one_coin = "one-coin"
    majority = "majority"
    randomized = "randomized"


RAW = "No guarantee: these truths were found from raw claims."
_FOR_LABELS = (Method.one_coin, Method.crh, Method.majority)


def discover(
    claims: Annotated[str, typer.Argument(help="CSV or Parquet; - is standard input.")],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            help="Truths: CSV or .parquet, users' weights beside it; - is standard output.",
            metavar="PATH",
        ),
    ] = "-",
    method: Annotated[
        Method | None,
        typer.Option(
            help="How (default: gtm; noise-aware on noisy claims; one-coin on labels; randomized on reports)."
        ),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Values are labels, not numbers.")] = False,
    truths: Annotated[
        str | None, typer.Option(help="Known truths (object, value) to compare with.", metavar="PATH")
    ] = None,
    level: Annotated[float, typer.Option(help="How often intervals should cover the truth.")] = 0.9,
    sparsity: Annotated[
        float | None,
        typer.Option(help="Reports of lp, slots: the share of cells without an answer, known beforehand."),
    ] = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find one value for each object from claims that contradict each other, and how far to trust whom.

    Columns of the result: object, estimate, the ends of an interval, and the estimate's standard error; for
    labels object, estimate and the chance that it is right. Truths from raw claims protect nobody; from
    noisy claims and from reports about every cell, as `perturb` writes them, they are as private as those.

    Example: crowdveil discover claims.csv -o truths.csv
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, warn
    from crowdveil.files import check_new, read_cell_reports, write_table
    from crowdveil.files.writing import STDOUT

    if as_json and out == STDOUT:
        raise ParameterError("--json and truths on standard output exclude each other: add -o PATH")
    weights = None
    if out != STDOUT:
        check_new(Path(out), force=force)
        weights = str(weights_file(out))
        check_new(Path(weights), force=force)
    announce_compiling()
    columns = {"object": object, "user": user, "value": value}
    reports = read_cell_reports(claims)
    if reports is not None:
        if labels or any(columns.values()):
            raise ParameterError("reports about every cell have no labels and no columns to choose")
        found = _reported(reports, method, sparsity, threads, truths, level)
    elif sparsity is not None:
        raise ParameterError("--sparsity goes with reports of lp and slots")
    elif labels:
        found = _labelled(claims, method, columns, threads, truths)
    else:
        found = _numeric(claims, method, columns, threads, truths, level)
    if not found.result.converged:
        sweeps = found.result.sweeps
        warn(f"still moving after {sweeps} sweeps: truths are close to where they would rest, not there")
    write_table(found.frame, out, force=force)
    if weights is not None:
        write_table(found.result.user_frame(), weights, force=force)
    told = found.told | {"out": out, "weights": weights}
    if as_json:
        say_json(told)
    elif out == STDOUT:
        warn(told["promise"])
    else:
        for name, figure in told.items():
            say(f"{name:<12} {figure:.6g}" if isinstance(figure, float) else f"{name:<12} {figure}")


def weights_file(out: str) -> Path:
    """Where users' weights go that belong to truths in `out`."""
    path = Path(out)
    stem, dot, ending = path.name.partition(".")
    return path.with_name(f"{stem}.weights{dot}{ending}")


@dataclass(frozen=True)
class _Found:
    """Truths, as they are written, and what is said about them."""

    result: Truths | Voted
    frame: pl.DataFrame
    told: dict[str, Any]


def _numeric(
    path: str,
    method: Method | None,
    columns: dict[str, Any],
    threads: int | None,
    truths: str | None,
    level: float,
) -> _Found:
    from crowdveil.cli.console import working
    from crowdveil.files import promised, read_claims, read_description
    from crowdveil.truth import methods

    if method in (Method.one_coin, Method.majority):
        raise ParameterError(f"--method {method} is for labels: add --labels")
    if method is Method.randomized:
        raise ParameterError("--method randomized is for reports about every cell, as perturb writes them")
    table = read_claims(path, **columns)
    noisy = read_description(path)
    law = None if noisy is None else noisy[0].build().law
    with working(threads) as engine:
        result = methods.discover(table, method, law=law, engine=engine)
    frame = result.to_frame(level)
    most = int(table.claims_per_user().max())
    told = _told(result, len(table), *((RAW, RAW) if noisy is None else promised(*noisy, most)))
    if truths is not None:
        told |= _compared(frame, truths)
    return _Found(result, frame, told)


def _reported(
    reports: Reports,
    method: Method | None,
    sparsity: float | None,
    threads: int | None,
    truths: str | None,
    level: float,
) -> _Found:
    """From reports about every cell: under the law that made them, or as the paper does."""
    from crowdveil.cli.console import working

    with working(threads) as engine:
        result = _truths_from(reports, method, sparsity, engine)
    promises = (reports.promise.sentence(), reports.user_promise.sentence())
    told = _told(result, len(reports.objects) * len(reports.users), *promises)
    told["cells"] = told.pop("claims")
    frame = result.to_frame(level)
    if truths is not None:
        told |= _compared(frame, truths)
    return _Found(result, frame, told)


def _truths_from(
    reports: Reports, method: Method | None, sparsity: float | None, engine: LocalEngine
) -> Truths:
    from crowdveil.answers import CellReports
    from crowdveil.cli.console import warn
    from crowdveil.local.inverse_deviation import on_symbols
    from crowdveil.local.laplace_cells import LaplaceReports
    from crowdveil.local.slot_response import SlotReports
    from crowdveil.truth import randomized

    sent = reports.read()
    if sparsity is not None and not isinstance(sent, LaplaceReports | SlotReports):
        raise ParameterError("--sparsity goes with reports of lp and slots: others tell it themselves")
    takes = {Method.randomized, Method.inverse_deviation}
    if isinstance(sent, SlotReports):
        takes = set()
    elif not isinstance(sent, CellReports) and sparsity is None:
        takes = {Method.inverse_deviation}
    if method is not None and method not in takes:
        raise ParameterError(f"these reports take {' or '.join(sorted(takes)) or 'no'} --method")
    if isinstance(sent, SlotReports):
        return sent.truths(sparsity=sparsity)
    if isinstance(sent, LaplaceReports) and method is not Method.inverse_deviation:
        if sparsity is None:
            warn("reports of lp are mixed with what stands for no answer; --sparsity S frees them of it")
        else:
            sent = sent.cells(1.0 - sparsity)
    if isinstance(sent, CellReports):
        raw = method is Method.inverse_deviation
        return on_symbols(sent) if raw else randomized.discover(sent, engine=engine)
    found: Truths = sent.truths()
    return found


def _labelled(
    path: str, method: Method | None, columns: dict[str, Any], threads: int | None, truths: str | None
) -> _Found:
    from crowdveil.cli.console import working
    from crowdveil.files import read_labels
    from crowdveil.truth import one_coin

    if method is not None and method not in _FOR_LABELS:
        raise ParameterError(f"--method {method} is for numbers; labels take {', '.join(_FOR_LABELS)}")
    table = read_labels(path, **columns)
    vote_by = {Method.majority: one_coin.majority, Method.crh: one_coin.weighted}.get(
        method or Method.one_coin, one_coin.one_coin
    )
    with working(threads) as engine:
        result = vote_by(table, engine=engine)
    told = _told(result, len(table), RAW, RAW)
    if truths is not None:
        told |= _agreed(result, truths)
    return _Found(result, result.to_frame(), told)


def _told(result: Truths | Voted, claims: int, promise: str, user_promise: str) -> dict[str, Any]:
    return {
        "method": result.method,
        "objects": len(result.objects),
        "users": len(result.users),
        "claims": claims,
        "sweeps": result.sweeps,
        "converged": result.converged,
        "promise": promise,
        "user_promise": user_promise,
    }


def _compared(frame: pl.DataFrame, path: str) -> dict[str, float]:
    """Mean absolute and root mean squared error, and how many intervals cover, over objects in both."""
    import numpy as np
    import polars as pl

    from crowdveil.files import read_truths

    known = read_truths(path).select("object", pl.col("value").alias("known"))
    both = frame.with_columns(pl.col("object").cast(pl.String)).join(known, on="object")
    if both.is_empty():
        raise ParameterError(f"{path}: no object is in both files")
    apart = (both["estimate"] - both["known"]).to_numpy()
    found = {
        "compared": both.height,
        "mae": float(np.abs(apart).mean()),
        "rmse": float(np.sqrt(np.square(apart).mean())),
    }
    if both["error"].is_not_null().any():
        inside = (both["lower"].is_null() | (both["lower"] <= both["known"])) & (
            both["upper"].is_null() | (both["known"] <= both["upper"])
        )
        found["covered"] = float(inside.to_numpy().mean())
    return found


def _agreed(result: Voted, path: str) -> dict[str, float]:
    """The share of labels that are right, over objects in both."""
    import polars as pl

    from crowdveil.files import read_known_labels

    known = read_known_labels(path).rename({"value": "known"})
    found = result.to_frame().with_columns(pl.col("object", "estimate").cast(pl.String))
    both = found.join(known, on="object")
    if both.is_empty():
        raise ParameterError(f"{path}: no object is in both files")
    return {"compared": both.height, "accuracy": float((both["estimate"] == both["known"]).to_numpy().mean())}
