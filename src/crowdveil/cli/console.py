"""What commands print: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from crowdveil.cli.options import parse_memory
from crowdveil.errors import ParameterError

if TYPE_CHECKING:  # a command that computes nothing should start quickly
    from crowdveil.engines import Engine, LocalEngine, Progress
    from crowdveil.randomness import Randomness

EVERY_CORE = "local[*]"  # the Spark of this machine


@contextmanager
def working(threads: int | None, *, bar: bool = True) -> Iterator[LocalEngine]:
    """The engine of this machine, with a bar as `progress_shown` has it."""
    from crowdveil.engines import LocalEngine

    with progress_shown(bar=bar) as show:
        yield LocalEngine(threads, progress=show)


@contextmanager
def working_on(
    engine: str,
    master: str | None,
    threads: int | None,
    memory: str | None = None,
    *,
    bar: bool = True,
    bounded: bool = False,
) -> Iterator[Engine]:
    """The engine that was asked for, with a bar as `progress_shown` has it; Spark ends with the block.

    If `bounded`, this machine's engine uses no more memory than was asked for, or than is free.
    """
    if engine == "local":
        from crowdveil.engines import LocalEngine
        from crowdveil.engines.memory import usable

        if master is not None:
            raise ParameterError("--master goes with --engine spark")
        most = (parse_memory(memory) or usable()) if bounded else None
        with progress_shown(bar=bar) as show:
            yield LocalEngine(threads, progress=show, memory=most)
        return
    if threads is not None:
        raise ParameterError(f"--threads goes with --engine local; Spark's are in --master local[{threads}]")
    if memory is not None:
        raise ParameterError("--memory goes with --engine local; Spark's is in its own settings")
    from crowdveil.engines.spark import SparkEngine, connected

    with progress_shown(bar=bar) as show, connected(master or EVERY_CORE, progress=show) as cluster:
        if cluster.unprotected:
            warn(
                f"{' and '.join(cluster.unprotected)}: not set. Whoever reaches this cluster's network can "
                "read the raw claims, and the key of the draws (docs/scaling.md)"
            )
        yield SparkEngine(cluster)


@contextmanager
def progress_shown(*, bar: bool = True) -> Iterator[Progress]:
    """What shows progress as a bar on a terminal, and not at all in a pipe.

    Pass `bar=False` if a table may be written to the same terminal while the bar is there.
    """
    from crowdveil.engines.local import silent

    if not (bar and sys.stderr.isatty()):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    announce_compiling()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Standard output is left alone: through the bar's console, results would go to standard error.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bars:
        task = bars.add_task("starting", total=1.0)

        def show(stage: str, share: float) -> None:
            bars.update(task, description=stage, completed=share)

        yield show


@cache
def announce_compiling() -> None:
    """On a terminal, warn before loops are compiled: that takes a while."""
    if sys.stderr.isatty():
        from crowdveil.compiled import when_compiling

        when_compiling(lambda: warn("compiling loops for this machine, once: up to half a minute"))


def randomness(seed: int | None) -> Randomness:
    """Secure randomness, or a seeded one that is not private."""
    from crowdveil.randomness import secure, seeded

    return secure() if seed is None else seeded(seed)


def say(text: str) -> None:
    """A line of a result."""
    sys.stdout.write(text + "\n")


def say_json(value: Any) -> None:
    """A result as one strict JSON object."""
    from crowdveil.plain_data import to_json

    sys.stdout.write(to_json(value))


def say_table(header: list[str], rows: list[list[str]]) -> None:
    """A table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)],
        ]
        say("  ".join(cells).rstrip())


def warn(text: str) -> None:
    """Something the user should know, beside the result."""
    sys.stderr.write(f"crowdveil: {text}\n")


def warn_outside(
    outside: int, claims: int, what: str = "lie outside the range and count as its nearest end"
) -> None:
    """Tell whoever holds the raw claims, and nobody else, that the range does not fit them."""
    if outside:
        warn(
            f"FOR YOUR EYES ONLY: {outside:,} of {claims:,} claims ({outside / claims:.1%}) {what}. "
            "A range that is chosen after looking at this was read off the data: it is not public, and what "
            "is promised does not hold with it"
        )
