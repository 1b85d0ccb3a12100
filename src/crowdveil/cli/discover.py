"""`crowdveil discover`: what is true, and whom to trust."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crowdveil.cli.options import (
    EngineName,
    Force,
    Json,
    Master,
    Memory,
    ObjectColumn,
    Threads,
    UserColumn,
    ValueColumn,
)
from crowdveil.errors import ParameterError
from crowdveil.truth.registry import DEFAULTS, METHODS, Input

if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[tuple(METHODS)]  # Typer shows these in --help and refuses others

_HOW = (
    f"How (default: {DEFAULTS[Input.CLAIMS]}; {DEFAULTS[Input.NOISY_CLAIMS]} on noisy claims; "
    f"{DEFAULTS[Input.LABELS]} on labels; {DEFAULTS[Input.CELL_REPORTS]} on reports)."
)


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
    method: Annotated[Method | None, typer.Option(help=_HOW)] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Values are labels, not numbers.")] = False,
    law: Annotated[
        str | None,
        typer.Option(
            help="Noisy claims that lost their law: a certificate, or a file that carries one.",
            metavar="PATH",
        ),
    ] = None,
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
    engine: EngineName = "local",
    master: Master = None,
    threads: Threads = None,
    memory: Memory = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find one value for each object from claims that contradict each other, and how far to trust whom.

    Columns of the result: object, estimate, the ends of an interval, and the estimate's standard error; for
    labels object, estimate and the chance that it is right. Truths from noisy claims and from reports about
    every cell, as `perturb` writes them, are as private as those; a file that does not tell what it holds
    is of unknown origin, and nothing is promised.

    Example: crowdveil discover claims.csv -o truths.csv
    """
    from crowdveil.cli.console import say, say_json, warn, working_on
    from crowdveil.files.writing import STDOUT
    from crowdveil.operations.discover import discover as discover_truths

    on_stdout = out == STDOUT
    if as_json and on_stdout:
        raise ParameterError("--json and truths on standard output exclude each other: add -o PATH")
    bar = not (on_stdout and sys.stdout.isatty())
    with working_on(engine, master, threads, memory, bar=bar, bounded=True) as chosen:
        discovered = discover_truths(
            claims,
            out=out,
            method=method,
            labels=labels,
            law=law,
            truths=truths,
            level=level,
            sparsity=sparsity,
            object=object,
            user=user,
            value=value,
            force=force,
            engine=chosen,
        )
    for warning in discovered.warnings:
        warn(warning)
    if as_json:
        say_json(discovered.to_dict())
    elif on_stdout:
        warn(discovered.promise or str(discovered.stated_promise))
    else:
        for name, figure in discovered.to_dict().items():
            if figure is None:
                continue
            say(f"{name:<12} {figure:.6g}" if isinstance(figure, float) else f"{name:<12} {figure}")
