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

    from crowdveil.truth.result import Truths, Voted


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
        typer.Option(help="How (default: gtm; noise-aware on noisy claims; one-coin on labels)."),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Values are labels, not numbers.")] = False,
    truths: Annotated[
        str | None, typer.Option(help="Known truths (object, value) to compare with.", metavar="PATH")
    ] = None,
    level: Annotated[float, typer.Option(help="How often intervals should cover the truth.")] = 0.9,
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
    noisy claims, as `perturb` writes them, they are as private as those.

    Example: crowdveil discover claims.csv -o truths.csv
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, warn
    from crowdveil.files import check_new, write_table
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
    found = (
        _labelled(claims, method, columns, threads, truths)
        if labels
        else _numeric(claims, method, columns, threads, truths, level)
    )
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


def _labelled(
    path: str, method: Method | None, columns: dict[str, Any], threads: int | None, truths: str | None
) -> _Found:
    from crowdveil.cli.console import working
    from crowdveil.files import read_labels
    from crowdveil.truth import vote

    if method is not None and method not in _FOR_LABELS:
        raise ParameterError(f"--method {method} is for numbers; labels take {', '.join(_FOR_LABELS)}")
    table = read_labels(path, **columns)
    vote_by = {Method.majority: vote.majority, Method.crh: vote.weighted}.get(
        method or Method.one_coin, vote.one_coin
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
    inside = (both["lower"].is_null() | (both["lower"] <= both["known"])) & (
        both["upper"].is_null() | (both["known"] <= both["upper"])
    )
    return {
        "compared": both.height,
        "mae": float(np.abs(apart).mean()),
        "rmse": float(np.sqrt(np.square(apart).mean())),
        "covered": float(inside.to_numpy().mean()),
    }


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
