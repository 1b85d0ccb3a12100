"""A collection whose devices are simulated: whoever has all records has no need of reports.

It goes through the same assignment, reports and rounds as a collection from real devices.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records
from crowdveil.synthesis.choices import in_random_order
from crowdveil.synthesis.collection import Collection, Reports
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.questions import answered
from crowdveil.synthesis.result import Synthetic, rows_of, synthetic

SEEDS = 2**32


def reports_of(records: Records, collection: Collection, places: Ints, *, rng: Randomness) -> Reports:
    """What devices send in the round that is open: record i is at `places[i]`."""
    part = rng.part(f"round {collection.number}")
    answers = answered(records.codes, collection.questions, collection.assign(places), rng=part)
    return {number: (places[rows], sent) for number, (rows, sent) in answers.items()}


def simulated(records: Records, collection: Collection, *, rng: Randomness) -> Collection:
    """The collection after all rounds, with record i at place i."""
    first = 0
    for number, end in enumerate(collection.design.round_ends(len(records))):
        if number > 0:
            collection = collection.advance()
        places = np.arange(first, min(end, len(records)))
        collection = collection.ingest(reports_of(records.take(places), collection, places, rng=rng))
        first = end
    return collection


def collected(records: Records, design: Design, *, rng: Randomness) -> Collection:
    """The collection after all rounds, with the records at places in random order."""
    seed = int(rng.stream("seed", purpose="questions").uniforms(1)[0] * SEEDS)
    empty = Collection(records.schema, design, seed, len(records))
    return simulated(in_random_order(records, rng=rng), empty, rng=rng)


def synthesize(
    records: Records, design: Design, *, rows: int | None = None, rng: Randomness | None = None
) -> Synthetic:
    """Synthetic records from one simulated report of each record."""
    rng, rows = rng or secure(), rows_of(records, rows)
    collection = collected(records, design, rng=rng)
    bits = sum(table.question.oracle.report_bits * table.asked for table in collection.tables)
    codes = collection.records(rows, rng=rng).codes
    return synthetic(codes, records, design, report_bits=bits / len(records), rng=rng)
