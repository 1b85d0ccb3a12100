"""`crowdveil synthesize`: a synthetic table from one randomized report of each record."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile
from crowdveil.cli.options import Force, Json, Seed
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.guarantee import Promise
    from crowdveil.records import Records
    from crowdveil.synthesis.result import Synthetic

HOLDER = "This holds against whoever sees the synthetic table alone: whoever ran this had the records."


class Synthesizer(StrEnum):
    """Names of methods."""

    crowdveil = "crowdveil"
    samprivsyn = "samprivsyn"
    calm = "calm"
    lopub = "lopub"
    krr = "krr"
    independent = "independent"


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
    method: Annotated[Synthesizer, typer.Option(help="How.")] = Synthesizer.crowdveil,
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
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic table of records that each sent one randomized report about a few of their columns.

    Each record is reported about once, as its owner's own device would: what it is asked never depends on it.
    Domains are public and declared in a schema; a file of domains is
    {"columns": {"age": {"edges": [0, 30, 60]}, "job": {"values": ["a", "b"]}}}.

    Example: crowdveil synthesize records.csv -o made.csv --schema schema.json --epsilon 4
    """
    from crowdveil.cli.console import announce_compiling, randomness, say, say_json, warn, working
    from crowdveil.files import check_synthetic, write_synthetic
    from crowdveil.files.writing import STDOUT
    from crowdveil.ledger import Ledger, dataset_key, default_path
    from crowdveil.synthesis.methods import METHODS
    from crowdveil.synthesis.result import rows_of

    if as_json and out == STDOUT:
        raise ParameterError("--json and records on standard output exclude each other: add -o PATH")
    if label is not None and method is not Synthesizer.crowdveil:
        raise ParameterError("--label goes with --method crowdveil")
    if (schema is None) != domain_from_data:
        raise ParameterError(
            "which values can there be? Declare them with --schema PATH; --domain-from-data reads them off "
            "the records, and then nothing is promised"
            if schema is None
            else "--schema and --domain-from-data exclude each other"
        )
    if out != STDOUT:
        if Path(out).resolve() == Path(records).resolve():
            raise ParameterError("the synthetic records would replace the real ones: choose another -o PATH")
        check_synthetic(out, force=force)
    announce_compiling()
    chosen = METHODS[method]
    parameters = chosen.parameters(epsilon) if label is None else chosen.parameters(epsilon, label=label)
    table = _read(records, schema, clamp=clamp)
    promise: Promise = parameters.promise(table.schema)  # refuses what cannot be asked
    rows_of(table, rows)
    book = Ledger(ledger or default_path())
    charge = book.charge(
        dataset_key(dataset, records),
        promise,
        method=f"synthesize {method}",
        seeded=seed is not None,
        budget=budget,
    )
    with working(None):
        made = chosen.synthesize(table, parameters, rows=rows, rng=randomness(seed))
    write_synthetic(made, out, force=force)
    book.completed(charge)
    told = _told(made, table, out)
    if as_json:
        say_json(told)
    elif out == STDOUT:
        for line in _promised(told):
            warn(line)
    else:
        for line in _lines(told):
            say(line)


def _read(path: str, schema: Path | None, *, clamp: bool) -> Records:
    from crowdveil.files import read_frame, read_records, read_schema
    from crowdveil.records import Records, Schema

    if schema is not None:
        return read_records(path, read_schema(schema), clamp=clamp)
    frame = read_frame(path)
    return Records.from_frame(frame, Schema.of_data(frame, source=path), source=path)


def _told(made: Synthetic, table: Records, out: str) -> dict[str, Any]:
    return {
        "out": out,
        "method": made.method,
        "parameters": dict(made.parameters),
        "records": len(table),
        "rows": len(made.records),
        "columns": len(table.schema.columns),
        "bits_per_report": made.report_bits,
        "private": made.promise.to_dict()["kind"] != "none",
        "domains_declared": table.schema.declared,
        "promise": made.promise.to_dict(),
        "against": HOLDER,
    }


def _lines(told: dict[str, Any]) -> list[str]:
    lines = [
        f"{told['rows']} synthetic records of {told['columns']} columns in {told['out']} ({told['method']})",
        f"one report of {told['bits_per_report']:.3g} bits on average from each of {told['records']} records",
        *_promised(told),
    ]
    return lines if told["private"] else ["NOT PRIVATE", *lines]


def _promised(told: dict[str, Any]) -> list[str]:
    """The promise, what it rests on, and against whom it holds; or all reasons why there is none."""
    from crowdveil.synthesis.promises import UNDECLARED

    promise = told["promise"]
    if told["private"]:
        assumed = "; ".join(promise["assumptions"])
        return [promise["sentence"], f"It rests on this: {assumed}.", HOLDER]
    lines = [promise["sentence"]]
    if not told["domains_declared"] and promise["reason"] != UNDECLARED.reason:
        lines.append(UNDECLARED.sentence())
    return lines
