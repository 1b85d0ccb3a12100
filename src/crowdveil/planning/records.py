"""The expected quality of synthetic records for a schema and a number of people, before data are collected.

No private data are used: records with the schema's columns are simulated from latent classes with a stated
dependence, perturbed and synthesized by the actual methods, and compared with the simulated originals.
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
from crowdveil.synthesis.registry import METHODS

MOST_RECORDS = 100_000  # largest number of simulated records
COMPARED = ("crowdveil", "calm", "independent")
PAIRS_ONLY = "calm"
SEEDS = (1, 2)
CLASSES = 4  # of simulated people


@dataclass(frozen=True)
class RecordsPlan:
    """The expected collection and the privacy it shall have.

    `label` is the column that models will predict; `dependence`, in [0, 1], is that of the simulated columns.
    """

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
        """The promise of crowdveil's own method; raises an error if the plan is impossible."""
        return METHODS["crowdveil"].parameters(self.epsilon, label=self.label).promise(self.schema)


def plan_records(plan: RecordsPlan) -> dict[str, Any]:
    """The questions that people are asked, and the expected distance of synthetic from real records."""
    design = METHODS["crowdveil"].parameters(plan.epsilon, label=plan.label)
    collection = Collection(plan.schema, design)
    kinds = Counter(len(question.columns) for question in collection.questions)
    shares = {
        columns: float(
            sum(
                chance
                for chance, question in zip(collection.chances, collection.questions, strict=True)
                if len(question.columns) == columns
            )
        )
        for columns in kinds
    }
    single_column = len(plan.schema.columns) == 1
    rows = [_row(name, plan) for name in COMPARED if not (single_column and name == PAIRS_ONLY)]
    best = min(rows, key=lambda row: row["distance"])
    return {
        "advice": best["method"],
        "distance": best["distance"],
        "epsilon": plan.promise().epsilon,
        "questions": [
            {"columns": columns, "questions": kinds[columns], "people": shares[columns]}
            for columns in sorted(kinds)
        ],
        "methods": rows,
        "resampled": _resampled(plan),
        "fewer_people_simulated": plan.people > MOST_RECORDS,
    }


def _people(plan: RecordsPlan, seed: int) -> Records:
    """Simulated records of people in a few latent classes."""
    model = population(plan.schema.sizes, plan.dependence, CLASSES)
    return Records(plan.schema, model.sample(min(plan.people, MOST_RECORDS), rng=seeded(seed).part("people")))


def _row(name: str, plan: RecordsPlan) -> dict[str, Any]:
    method, measured, bits = METHODS[name], [], 0.0
    options = {"label": plan.label} if method.takes("label") else {}
    for seed in SEEDS:
        records = _people(plan, seed)
        release = method.synthesize(records, method.parameters(plan.epsilon, **options), rng=seeded(seed))
        measured.append(distances(records, release.records, _way(plan)).mean)
        bits = release.report_bits
    return {"method": name, "distance": float(np.mean(measured)), "bits": bits}


def _resampled(plan: RecordsPlan) -> float:
    """The distance of records from a resample of them: the error that sampling alone causes."""
    records = _people(plan, SEEDS[0])
    uniforms = seeded(0).stream("rows", purpose="resampled").uniforms(len(records))
    resample = records.take((uniforms * len(records)).astype(np.int64))
    return distances(records, resample, _way(plan)).mean


def _way(plan: RecordsPlan) -> int:
    """Number of columns of the marginals that are compared: two, or one if there is only one."""
    return min(2, len(plan.schema.columns))
