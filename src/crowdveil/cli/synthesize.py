"""`crowdveil synthesize`: a synthetic table from one randomized report of each record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile, account_of
from crowdveil.cli.options import EngineName, Force, Json, Master, Seed, Threads
from crowdveil.errors import ParameterError
from crowdveil.synthesis.registry import METHODS

if TYPE_CHECKING:
    from crowdveil.operations.synthesize import Synthesized

    Synthesizer = str
else:
    Synthesizer = Literal[tuple(METHODS)]  # Typer shows these in --help and refuses others


def synthesize(
    records: Annotated[str, typer.Argument(help="CSV or Parquet; - is standard input.")],
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", help="Synthetic records: CSV or .parquet; - is standard output.", metavar="PATH"
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Differential privacy: how strong, for each record.")],
    schema: Annotated[
        Path | None, typer.Option(help="Public domains of the columns, JSON or YAML.", metavar="PATH")
    ] = None,
    domain_from_data: Annotated[
        bool,
        typer.Option("--domain-from-data", help="Read domains off the records. The result is NOT PRIVATE."),
    ] = False,
    method: Annotated[Synthesizer, typer.Option(help="How.")] = "crowdveil",
    label: Annotated[
        str | None, typer.Option(help="crowdveil: a column that matters more than others.", metavar="COLUMN")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Records to make (default: as many as came in).")] = None,
    clamp: Annotated[
        bool, typer.Option("--clamp", help="Numbers beyond the edges count for the bins at the ends.")
    ] = False,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    budget: Budget = None,
    seed: Seed = None,
    engine: EngineName = "local",
    master: Master = None,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic table of records that each sent one randomized report about a few of their columns.

    Each record is reported about once, as its owner's own device would: what it is asked never depends on it.
    Domains are public and declared in a schema; a file of domains is
    {"columns": {"age": {"edges": [0, 30, 60]}, "job": {"values": ["a", "b"]}}}.

    Example: crowdveil synthesize records.csv -o made.csv --schema schema.json --epsilon 4
    """
    from crowdveil.cli.console import announce_compiling, randomness, say, say_json, warn, working_on
    from crowdveil.files.writing import STDOUT
    from crowdveil.operations import synthesize as operation

    if as_json and out == STDOUT:
        raise ParameterError("--json and records on standard output exclude each other: add -o PATH")
    announce_compiling()
    account = account_of(ledger, dataset, records, budget)
    with working_on(engine, master, threads, bar=not (out == STDOUT and sys.stdout.isatty())) as chosen:
        result = operation.synthesize(
            records,
            out,
            account,
            epsilon=epsilon,
            schema=schema,
            domain_from_data=domain_from_data,
            method=method,
            label=label,
            rows=rows,
            clamp=clamp,
            rng=randomness(seed),
            force=force,
            engine=chosen,
        )
    if as_json:
        say_json(result.to_dict())
    elif out == STDOUT:
        for line in _promised(result):
            warn(line)
    else:
        for line in _lines(result):
            say(line)


def _lines(result: Synthesized) -> list[str]:
    synthetic = result.synthetic
    rows, columns = synthetic.records.codes.shape
    lines = [
        f"{rows} synthetic records of {columns} columns in {result.out} ({synthetic.method})",
        f"one report of {synthetic.report_bits:.3g} bits on average from each of {result.reported} records",
        *_promised(result),
    ]
    return lines if result.private else ["NOT PRIVATE", *lines]


def _promised(result: Synthesized) -> list[str]:
    """The promise, its assumptions, and against whom it holds; or all reasons why there is none."""
    from crowdveil.synthesis.promises import UNDECLARED

    shown: dict[str, Any] = result.to_dict()
    promise = shown["promise"]
    if result.private:
        assumed = "; ".join(promise["assumptions"])
        return [promise["sentence"], f"It rests on this: {assumed}.", shown["against"]]
    lines = [promise["sentence"]]
    if not shown["domains_declared"] and promise["reason"] != UNDECLARED.reason:
        lines.append(UNDECLARED.sentence())
    return lines
