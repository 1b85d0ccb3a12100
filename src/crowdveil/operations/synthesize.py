"""Synthesize: from a file of records to a synthetic table, charged to the ledger.

Everything that can refuse does so before anything is charged: options, places to write, the schema, the
records, and a schema that the method cannot ask about.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.files import keep_apart, read_frame, read_schema, reserved_table, write_synthetic
from crowdveil.files.first_line import check_header
from crowdveil.files.reading import read_here
from crowdveil.files.records import read_records_for
from crowdveil.files.writing import is_parquet
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis.collection import check_people
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.result import Synthetic, rows_of

if TYPE_CHECKING:
    from crowdveil.engines.spark import SparkRecords

HOLDER = "This holds against whoever sees the synthetic table alone: whoever ran this had the records."


@dataclass(frozen=True, eq=False)
class Synthesized:
    """A synthetic table that was written: the result, where it is, and how many records reported."""

    synthetic: Synthetic
    out: str
    reported: int

    @property
    def private(self) -> bool:
        """Whether anything is promised."""
        return bool(self.synthetic.promise.to_dict()["kind"] != "none")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        schema = self.synthetic.records.schema
        return {
            "out": self.out,
            "method": self.synthetic.method,
            "parameters": dict(self.synthetic.parameters),
            "records": self.reported,
            "rows": len(self.synthetic.records),
            "columns": len(schema.columns),
            "bits_per_report": self.synthetic.report_bits,
            "private": self.private,
            "domains_declared": schema.declared,
            "promise": self.synthetic.promise.to_dict(),
            "against": HOLDER,
        }


def synthesize(
    source: str,
    out: str,
    account: Account,
    *,
    epsilon: float,
    schema: Path | None = None,
    domain_from_data: bool = False,
    method: str = "crowdveil",
    label: str | None = None,
    rows: int | None = None,
    clamp: bool = False,
    rng: Randomness | None = None,
    force: bool = False,
    engine: Engine | None = None,
) -> Synthesized:
    """Make a synthetic table of one simulated report of each record: check, charge, draw, write, complete.

    Parameters
    ----------
    source:
        CSV or Parquet file with records; "-" is standard input. Spark reads Parquet and tables.
    out:
        Where the synthetic records go: CSV or .parquet; "-" is standard output.
    account:
        Where the reports are charged.
    epsilon:
        For one record.
    schema:
        File with the public domains of the columns.
    domain_from_data:
        Read domains off the records instead; then nothing is promised.
    method:
        A name in `synthesis.registry`.
    label:
        A column that matters more than others, for methods that take one.
    rows:
        How many synthetic records; by default as many as there are records.
    clamp:
        Numbers beyond the edges count for the bins at the ends.
    rng:
        Where draws come from; by default secure.
    force:
        Replace a file that is there.
    engine:
        Where records are read, and where their reports are drawn and counted; by default here, on threads.
        A table follows from the counts here, whatever the engine.

    """
    rng, chosen = rng or secure(), METHODS[method]
    if label is not None and not chosen.takes("label"):
        takers = " and ".join(name for name in METHODS if METHODS[name].takes("label"))
        raise ParameterError(f"--label goes with --method {takers}")
    _check_domains(schema, domain_from_data=domain_from_data)
    keep_apart([out], {"the real records": source, "the schema": schema}, ledger=account.ledger.path)
    parameters = chosen.parameters(epsilon, **({} if label is None else {"label": label}))
    with reserved_table(out, force=force) as place:
        records = _read(source, schema, engine, clamp=clamp)
        if not is_parquet(out):
            check_header(records.schema.names)
        check_people(len(records))
        rows_of(records, rows)  # refuses a number of rows that cannot be made
        cost = Cost(
            promise=parameters.promise(records.schema),  # refuses what cannot be asked
            method=f"synthesize {method}",
            parameters=asdict(parameters),
            seeded=not rng.private,
        )
        key = account.key(seeded=not rng.private)  # refuses one that cannot be used
        synthetic = spend(
            account,
            cost,
            draw=lambda: chosen.synthesize(records, parameters, rows=rows, rng=rng, engine=engine),
            write=lambda synthetic: write_synthetic(synthetic, place, key),
        )
    return Synthesized(synthetic, out, len(records))


def _check_domains(schema: Path | None, *, domain_from_data: bool) -> None:
    """Refuse domains that come from nowhere, or from two places."""
    if schema is None and not domain_from_data:
        raise ParameterError(
            "which values can there be? Declare them with --schema PATH; --domain-from-data reads them off "
            "the records, and then nothing is promised"
        )
    if schema is not None and domain_from_data:
        raise ParameterError("--schema and --domain-from-data exclude each other")


def _read(source: str, schema: Path | None, engine: Engine | None, *, clamp: bool) -> Records | SparkRecords:
    """Records over declared domains, or over those that the data show."""
    if schema is not None:
        return read_records_for(source, read_schema(schema), engine, clamp=clamp)
    if not read_here(source, engine):
        raise ParameterError("--engine spark needs declared domains: --schema PATH")
    frame = read_frame(source)
    return Records.from_frame(frame, Schema.of_data(frame, source=source), source=source)
