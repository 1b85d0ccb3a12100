"""Ours in this process: reports about every cell, and truths from them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from benchmarks.stopwatch import Arrays, Steps
from crowdveil.answers import Answers, CellReports, Domain
from crowdveil.engines import LocalEngine
from crowdveil.local import CellResponse, LaplaceCells, SlotResponse, SoundFactorization, TwoLayer, report
from crowdveil.local.inverse_deviation import on_symbols
from crowdveil.truth import randomized

LIBRARY = f"crowdveil {version('crowdveil')}"
EPSILON = 2.0
MECHANISMS: dict[str, Callable[[Domain, int], Any]] = {
    "cell-response": lambda domain, levels: CellResponse(EPSILON, domain, levels),
    "lp": lambda domain, _: LaplaceCells(EPSILON, domain),
    "two-layer": lambda domain, _: TwoLayer(EPSILON / 2, domain),
    "mf-sound": lambda domain, _: SoundFactorization(EPSILON, domain),
    "slots": lambda domain, levels: SlotResponse(EPSILON, domain, 1, 8, levels),
}


def _answers(inputs: Arrays) -> Answers:
    low, high = (int(end) for end in inputs["domain"])
    return Answers(
        pl.Series("object", np.arange(int(inputs["objects"]))),
        pl.Series("user", np.arange(inputs["offsets"].size - 1)),
        Domain(low, high),
        *(inputs["offsets"], inputs["about"], inputs["codes"]),
        moved=0,
    )


def reports(inputs: Arrays, mechanism: str) -> Steps:
    """What all devices send; secure, exact randomness."""
    answers = _answers(inputs)
    made = MECHANISMS[mechanism](answers.domain, int(inputs["levels"]))
    yield
    sent = report(answers, made)
    yield
    told = sent.rows.ravel() if mechanism == "cell-response" else np.zeros(1, dtype=np.int64)
    return {"shares": np.bincount(told) / told.size, "bytes": np.array(sent.rows.nbytes)}


def truths(inputs: Arrays, method: str) -> Steps:
    """Truths from reports of cell response."""
    answers = _answers(inputs)
    law = MECHANISMS["cell-response"](answers.domain, int(inputs["levels"]))
    sent: CellReports = law.received(answers.objects, answers.users, inputs["symbols"])
    yield
    found = randomized.discover(sent, engine=LocalEngine()) if method == "randomized" else on_symbols(sent)
    yield
    return {"truths": found.estimates, "sweeps": np.array(found.sweeps)}
