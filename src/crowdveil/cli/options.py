"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.public_range import Range

Unit = Literal["claim", "user"]  # who is protected
ObjectColumn = Annotated[str | None, typer.Option("--object", help="Column of objects.", metavar="COLUMN")]
UserColumn = Annotated[str | None, typer.Option("--user", help="Column of users.", metavar="COLUMN")]
ValueColumn = Annotated[str | None, typer.Option("--value", help="Column of values.", metavar="COLUMN")]
Seed = Annotated[
    int | None, typer.Option(help="Repeatable draws. The result is marked NOT PRIVATE.", show_default=False)
]
Threads = Annotated[int | None, typer.Option(help="Threads to use (default: all cores).")]
EngineName = Annotated[
    Literal["local", "spark"], typer.Option("--engine", help="Where the work is done; see docs/scaling.md.")
]
Master = Annotated[
    str | None,
    typer.Option(help="--engine spark: Spark's master [local[*]].", metavar="URL", show_default=False),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="--engine local: how much to use, like 4GiB [most of what is free].",
        metavar="SIZE",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Where to write.", metavar="PATH")]


_UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for ending, base in (("", 1024), ("b", 1000), ("ib", 1024))
}


def parse_memory(text: str | None) -> int | None:
    """A size like 4GiB, 500MB or 2g, in bytes."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([a-z]*)", text.strip().lower())
    size = 0 if found is None else int(float(found[1]) * _UNITS.get(found[2], 0))
    from crowdveil.engines.memory import LEAST

    if size < LEAST:
        raise ParameterError(f"--memory takes a size of at least 64MiB, like 4GiB or 500MB, not {text!r}")
    return size


def parse_range(text: str | None) -> Range | None:
    """LOW:HIGH as a Range."""
    from crowdveil.public_range import Range

    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return Range(float(low), float(high))
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError(f"--range takes LOW:HIGH, like 0:10, not {text!r}") from None
