"""Ours in this process: shares of cells from randomized reports, and synthetic records."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from benchmarks.stopwatch import Arrays, Steps
from crowdveil.arrays import Codes
from crowdveil.local.best_oracle import best_oracle
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import PureOracle
from crowdveil.local.oue import OUE
from crowdveil.randomness import secure
from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis.model_choice import fitted_to
from crowdveil.synthesis.questions import Question, Table
from crowdveil.synthesis.registry import METHODS

LIBRARY = f"crowdveil {version('crowdveil')}"
ORACLES: dict[str, Callable[[float, int], PureOracle]] = {"krr": KRR, "oue": OUE, "olh": OLH}


def as_records(arrays: Arrays) -> Records:
    """Rows of codes, with as many values in each column as were declared."""
    columns = (
        Column(f"column-{place}", tuple(f"v{value}" for value in range(size)))
        for place, size in enumerate(arrays["sizes"].tolist())
    )
    return Records(Schema(tuple(columns)), arrays["codes"])


def shares(inputs: Arrays, oracle: str, epsilon: float) -> Steps:
    """Reports of all codes, and the shares of cells from them; secure, exact randomness."""
    codes, made = inputs["codes"], ORACLES[oracle](epsilon, int(inputs["cells"]))
    yield
    found = made.frequencies(made.support(made.perturb(codes)), codes.size)
    yield
    return {"shares": found}


def records(inputs: Arrays, method: str, epsilon: float) -> Steps:
    """Reports of all records, what they tell, and as many synthetic records."""
    real = as_records(inputs)
    yield
    chosen = METHODS[method]
    made = chosen.synthesize(real, chosen.parameters(epsilon))
    yield
    return {"codes": made.records.codes}


def from_tables(inputs: Arrays, used: bool) -> Steps:
    """Classes fitted to given tables, and records drawn from them; `used`: once before the clock starts."""
    even, sizes = tables_of(inputs, "even_support", "even_asked"), tuple(inputs["sizes"].tolist())
    odd = [
        Table(half.question, whole.support - half.support, whole.asked - half.asked)
        for whole, half in zip(tables_of(inputs, "support", "asked"), even, strict=True)
    ]

    def work() -> Codes:
        return fitted_to((even, odd), sizes).sample(int(inputs["rows"]), rng=secure())

    if used:
        work()
    yield
    codes = work()
    yield
    return {"codes": codes}


def tables_of(inputs: Arrays, support: str, asked: str) -> list[Table]:
    """Tables of counted reports; columns beyond a table's own are -1."""
    sizes, epsilon = inputs["sizes"], float(inputs["epsilon"])
    counts = np.split(inputs[support], inputs["ends"][:-1])
    found = []
    for places, counted, people in zip(inputs["columns"], counts, inputs[asked].tolist(), strict=True):
        columns = tuple(places[places >= 0].tolist())
        question = Question(
            columns, tuple(int(sizes[c]) for c in columns), best_oracle(epsilon, counted.size)
        )
        found.append(Table(question, counted, people))
    return found
