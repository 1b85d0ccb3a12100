"""`crowdveil discover`: what is true, and whom to trust."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.options import Force, Json, ObjectColumn, Threads, UserColumn, ValueColumn
from crowdveil.errors import ParameterError


class Method(StrEnum):
    """Names of methods."""

    gtm = "gtm"
    crh = "crh"
    catd = "catd"
    deviation = "deviation"
    mean = "mean"
    median = "median"


def discover(
    claims: Annotated[str, typer.Argument(help="CSV or Parquet; - is standard input.")],
    out: Annotated[
        str,
        typer.Option("-o", "--out", help="Truths: CSV or .parquet; - is standard output.", metavar="PATH"),
    ] = "-",
    method: Annotated[Method, typer.Option(help="How users are weighed.")] = Method.gtm,
    users: Annotated[str | None, typer.Option(help="Also write users' weights here.", metavar="PATH")] = None,
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

    Columns of the result: object, value, its standard error, and the ends of an interval. Truths from raw
    claims protect nobody; from perturbed claims they are as private as those claims.

    Example: crowdveil discover claims.csv -o truths.csv --users weights.csv
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, warn, working
    from crowdveil.files import check_new, read_claims, write_table
    from crowdveil.files.writing import STDOUT
    from crowdveil.truth.methods import METHODS

    if users is not None and users == out:
        raise ParameterError("truths and weights need files of their own")
    if as_json and out == STDOUT:
        raise ParameterError("--json and truths on standard output exclude each other: add -o PATH")
    for path in (out, users):
        if path not in (None, STDOUT):
            check_new(Path(str(path)), force=force)
    announce_compiling()
    table = read_claims(claims, object=object, user=user, value=value)
    with working(threads) as engine:
        found = METHODS[method](table, engine=engine)
    frame = found.to_frame(level)
    if not found.converged:
        warn(
            f"still moving after {found.sweeps} sweeps: truths are close to where they would rest, not there"
        )
    told: dict[str, Any] = {
        "method": found.method,
        "objects": len(found.objects),
        "users": len(found.users),
        "claims": len(table),
        "sweeps": found.sweeps,
        "converged": found.converged,
    }
    if truths is not None:
        told |= _compared(frame, truths)
    write_table(frame, out, force=force)
    if users is not None:
        write_table(found.user_frame(), users, force=force)
    if as_json:
        say_json(told)
    elif out != STDOUT:
        for name, figure in told.items():
            say(f"{name:<12} {figure:.6g}" if isinstance(figure, float) else f"{name:<12} {figure}")


def _compared(frame: Any, path: str) -> dict[str, float]:
    """Mean absolute and root mean squared error, and how many intervals cover, over objects in both."""
    import numpy as np
    import polars as pl

    from crowdveil.files import read_truths

    known = read_truths(path).select("object", pl.col("value").alias("known"))
    both = frame.with_columns(pl.col("object").cast(pl.String)).join(known, on="object")
    if both.is_empty():
        raise ParameterError(f"{path}: no object is in both files")
    value, known_value = both["value"].to_numpy(), both["known"].to_numpy()
    low, high = both["low"].to_numpy(), both["high"].to_numpy()
    return {
        "compared": both.height,
        "mae": float(np.abs(value - known_value).mean()),
        "rmse": float(np.sqrt(np.square(value - known_value).mean())),
        "covered": float(((low <= known_value) & (known_value <= high)).mean()),
    }
