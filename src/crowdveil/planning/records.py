"""Before anybody is asked anything: what a synthetic table will be worth, for these columns and people.

Nothing private is looked at: a population with the schema's columns is simulated, of hidden classes with a
stated dependence, reports are made and tables synthesized by the very methods, and compared with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.errors import ParameterError
from crowdveil.evaluation.marginals import distances
from crowdveil.randomness import seeded
from crowdveil.records import Records, Schema
from crowdveil.simulation.records import population
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.methods import METHODS

MOST_RECORDS = 100_000  # that are simulated
COMPARED = ("crowdveil", "calm", "independent")
PAIRS_ONLY = "calm"
SEEDS = (1, 2)
CLASSES = 4  # of simulated people


@dataclass(frozen=True)
class RecordsPlan:
    """What the operator expects, and what she wishes."""

    schema: Schema
    people: int
    epsilon: float
    label: str | None = None
    dependence: float = 0.5

    def __post_init__(self) -> None:
        check_whole(self.people, "the number of people")
        if not 0 <= self.dependence <= 1:
            raise ParameterError(f"dependence lies between 0 and 1, not {self.dependence:g}")
        self.promise()

    def promise(self) -> Any:
        """What the project's method promises: refuses what cannot be asked."""
        return METHODS["crowdveil"].parameters(self.epsilon, label=self.label).promise(self.schema)


def plan_records(wish: RecordsPlan) -> dict[str, Any]:
    """What is asked of people, and how far synthetic tables will be from real ones."""
    design = METHODS["crowdveil"].parameters(wish.epsilon, label=wish.label)
    asked = Collection(wish.schema, design)
    kinds = Counter(len(question.columns) for question in asked.questions)
    share = {
        columns: float(
            sum(
                chance
                for chance, question in zip(asked.chances, asked.questions, strict=True)
                if len(question.columns) == columns
            )
        )
        for columns in kinds
    }
    alone = len(wish.schema.columns) == 1
    rows = [_row(name, wish) for name in COMPARED if not (alone and name == PAIRS_ONLY)]
    best = min(rows, key=lambda row: row["distance"])
    return {
        "advice": best["method"],
        "distance": best["distance"],
        "epsilon": wish.promise().epsilon,
        "questions": [
            {"columns": columns, "questions": kinds[columns], "people": share[columns]}
            for columns in sorted(kinds)
        ],
        "methods": rows,
        "resampled": _resampled(wish),
        "fewer_people_simulated": wish.people > MOST_RECORDS,
    }


def _people(wish: RecordsPlan, seed: int) -> Records:
    """People of a few classes."""
    model = population(wish.schema.sizes, wish.dependence, CLASSES)
    return Records(wish.schema, model.sample(min(wish.people, MOST_RECORDS), rng=seeded(seed).part("people")))


def _row(name: str, wish: RecordsPlan) -> dict[str, Any]:
    method, found, bits = METHODS[name], [], 0.0
    given = {"label": wish.label} if method.takes("label") else {}
    for seed in SEEDS:
        records = _people(wish, seed)
        made = method.synthesize(records, method.parameters(wish.epsilon, **given), rng=seeded(seed))
        found.append(distances(records, made.records, _way(wish)).mean)
        bits = made.report_bits
    return {"method": name, "distance": float(np.mean(found)), "bits": bits}


def _resampled(wish: RecordsPlan) -> float:
    """How far two samples of the same people are from each other: no method can be nearer by skill."""
    records = _people(wish, SEEDS[0])
    drawn = seeded(0).stream("rows", purpose="resampled").uniforms(len(records))
    again = records.take((drawn * len(records)).astype(np.int64))
    return distances(records, again, _way(wish)).mean


def _way(wish: RecordsPlan) -> int:
    """Columns of the tables that are compared: two, if there are two."""
    return min(2, len(wish.schema.columns))
