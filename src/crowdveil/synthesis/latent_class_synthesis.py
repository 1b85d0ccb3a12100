"""The project's own method: questions that are planned, reports in rounds, and classes that explain them all.

See `planning` for what is asked, `collection` for rounds, and `latent_classes` for the model of records.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdveil.accounting.parameters import check_whole
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis.choices import in_random_order
from crowdveil.synthesis.collection import MOST_PEOPLE, ROUNDS, Collection, simulated
from crowdveil.synthesis.result import Synthetic, bits_of, rows_of, synthetic
from crowdveil.synthesis.split_epsilon import check_epsilon

METHOD = "crowdveil"
SEEDS = 2**32


@dataclass(frozen=True)
class LatentClassSynthesis:
    """Parameters: epsilon for a record, perhaps a column that matters more than others, and rounds."""

    epsilon: float
    label: str | None = None
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.rounds, "the number of rounds")

    def collection(self, schema: Schema, *, seed: int = 0, people: int = MOST_PEOPLE) -> Collection:
        """A collection that nobody has reported to; its seed is public and decides who is asked what."""
        return Collection(schema, self.epsilon, self.label, self.rounds, seed, people)

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return self.collection(schema).promise()


def collected(records: Records, parameters: LatentClassSynthesis, *, rng: Randomness) -> Collection:
    """The collection after all rounds, one report for each record."""
    seed = int(rng.stream("seed", purpose="questions").uniforms(1)[0] * SEEDS)
    empty = parameters.collection(records.schema, seed=seed, people=len(records))
    return simulated(in_random_order(records, rng=rng), empty, rng=rng)


def synthesize(
    records: Records,
    parameters: LatentClassSynthesis,
    *,
    rows: int | None = None,
    rng: Randomness | None = None,
) -> Synthetic:
    """Synthetic records of the classes that explain all reports; running all devices is a simulation."""
    rng, rows = rng or secure(), rows_of(records, rows)
    tables = collected(records, parameters, rng=rng)
    codes = tables.fitted().sample(rows, rng=rng)
    bits = sum(bits_of(table.question.oracle) * table.asked for table in tables.tables) / len(records)
    return synthetic(codes, records, parameters, method=METHOD, report_bits=bits, rng=rng)
