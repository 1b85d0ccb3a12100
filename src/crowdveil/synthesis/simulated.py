"""A collection whose devices are simulated: whoever has all records has no need of reports.

It goes through the same assignment, reports and rounds as a collection from real devices.
"""

from __future__ import annotations

from crowdveil.engines import Engine, LocalEngine
from crowdveil.randomness import Randomness, secure
from crowdveil.records import RecordTable
from crowdveil.synthesis.choices import in_random_order
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.counting import counted
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.result import Synthetic, rows_of, synthetic

SEEDS = 2**32


def simulated(
    records: RecordTable, collection: Collection, *, rng: Randomness, engine: Engine | None = None
) -> Collection:
    """The collection after all rounds, with record i at place i."""
    engine, done = engine or LocalEngine(), 0
    for number, end in enumerate(collection.design.round_ends(len(records))):
        if number > 0:
            collection = collection.advance(engine=engine)
        first, last = done, min(end, len(records))
        halves = counted(records, collection, first, last, rng=rng, engine=engine)
        collection = collection.with_counts(first, last, halves)
        done = last
    return collection


def collected(
    records: RecordTable, design: Design, *, rng: Randomness, engine: Engine | None = None
) -> Collection:
    """The collection after all rounds, with the records at places in random order."""
    seed = int(rng.stream("seed", purpose="questions").uniforms(1)[0] * SEEDS)
    empty = Collection(records.schema, design, seed, len(records))
    return simulated(in_random_order(records, rng=rng), empty, rng=rng, engine=engine)


def synthesize(
    records: RecordTable,
    design: Design,
    *,
    rows: int | None = None,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Synthetic:
    """Synthetic records from one simulated report of each record, drawn where the engine has the records."""
    rng, rows = rng or secure(), rows_of(records, rows)
    collection = collected(records, design, rng=rng, engine=engine)
    bits = sum(table.question.oracle.report_bits * table.asked for table in collection.tables)
    codes = collection.records(rows, rng=rng, engine=engine).codes
    return synthetic(codes, records.schema, design, report_bits=bits / len(records), rng=rng)
