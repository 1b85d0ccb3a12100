"""The options of `crowdveil release`; each has the name of the parameter that it sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crowdveil.cli import options
from crowdveil.releases.registry import RELEASES

if TYPE_CHECKING:
    _MethodName = str
else:
    _MethodName = Literal[tuple(RELEASES)]  # Typer shows these in --help and refuses others

ClaimsFile = Annotated[str, typer.Argument(help="CSV (also gzipped) or Parquet; - is standard input.")]
Method = Annotated[
    _MethodName | None,
    typer.Option(help="Default with --epsilon: certified. priscrowd and uniform promise no epsilon."),
]
Range = Annotated[
    str | None, typer.Option(help="Public range of values; claims are clamped to it.", metavar="LOW:HIGH")
]
Resolution = Annotated[
    float | None, typer.Option(help="Smallest step that matters [range / 1000; certified: range / 2000].")
]
Epsilon = Annotated[float | None, typer.Option(help="Differential privacy: how strong.")]
Unit = Annotated[
    options.Unit | None, typer.Option(help="certified: who is protected, each person or each claim [user].")
]
Cap = Annotated[
    int | None,
    typer.Option(
        help="certified, unit user: claims used of each [chosen from who claimed what; add-remove: needed]."
    ),
]
Adjacency = Annotated[
    Literal["replace-one", "add-remove"] | None,
    typer.Option(help="certified: what neighbours differ in [replace-one]."),
]
Objects = Annotated[
    Path | None,
    typer.Option(help="certified, add-remove: file with the names of all objects, one in a line."),
]
Pooled = Annotated[
    bool | None, typer.Option("--pooled", help="certified: one distribution of all objects together.")
]
Estimator = Annotated[
    Literal["bayes", "histogram"] | None, typer.Option(help="certified: how densities are estimated [bayes].")
]
Background = Annotated[
    bool | None,
    typer.Option("--background", help="certified: keep claims that look like an even background."),
]
Reliability = Annotated[
    float | None,
    typer.Option(help="certified, histogram: share spent on weighing users [0, or 0.7 if it pays]."),
]
Insist = Annotated[
    bool,
    typer.Option("--insist", help="Go on where claims and epsilon are too few (certified), or delta large."),
]
Spread = Annotated[
    float | None,
    typer.Option(help="Spread of an object's claims, for the error to expect [a tenth of the range]."),
]
PerObject = Annotated[int | None, typer.Option(help="Claims to release for each object [30].")]
K = Annotated[int | None, typer.Option("--k", help="Plausible seeds a claim needs [5].")]
Gamma = Annotated[float | None, typer.Option(help="How alike plausible seeds are [4].")]
Epsilon0 = Annotated[float | None, typer.Option(help="Rate of the test's noise [1].")]
RequireK = Annotated[bool | None, typer.Option("--require-k", help="Require k seeds without noise as well.")]
Bandwidth = Annotated[float | None, typer.Option(help="smoothed, attempts: public width of the kernel.")]
Delta = Annotated[float | None, typer.Option(help="smoothed, attempts [1e-6]; certified for users [0].")]
Lam = Annotated[float | None, typer.Option(help="smoothed: share of draws from no claim [0.2].")]
Attempts = Annotated[int | None, typer.Option(help="attempts: tries for each object [5].")]
Eta = Annotated[float | None, typer.Option(help="attempts: share of tries made to fail [0.1].")]
Csv = Annotated[
    bool | None,
    typer.Option(
        "--csv/--no-csv", help="Write claims.csv [up to 10 million released claims].", show_default=False
    ),
]
Loss = Annotated[Literal["mean", "sum"] | None, typer.Option(help="A user's loss over its claims [mean].")]
Normaliser = Annotated[Literal["sum", "max"] | None, typer.Option(help="What losses are divided by [sum].")]
