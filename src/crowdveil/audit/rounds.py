"""Audits of records that are collected in rounds: all reports of a person, in whichever round, count.

The code of collections runs as a whole: it assigns questions, takes reports and plans the next round. One
person's record differs between the worlds. What is asked in a round follows from public coins and earlier
reports, and the reports of all others have the same law in both worlds. So the log-likelihood ratio of
everything that the server hears is that of the person's own reports, exact: of one, if all is well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Ints
from crowdveil.audit.case import Audit, Draws, Outputs, at_least, column, output, separate
from crowdveil.audit.oracles import UNIT
from crowdveil.audit.records import TRIPLE, promised
from crowdveil.engines import LocalEngine, RecordBlock
from crowdveil.errors import ParameterError
from crowdveil.local.krr import KRR
from crowdveil.local.oracle import Oracle
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import Randomness
from crowdveil.records import Records
from crowdveil.synthesis import simulated
from crowdveil.synthesis.collection import Collection, Reports
from crowdveil.synthesis.counting import answers
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.questions import Question
from crowdveil.synthesis.samprivsyn import SamPrivSyn

PEOPLE = 6
PLACE = 0  # of the attacked person: asked in the first round
_USUAL = 400
BATCHES = SamPrivSyn(1.0, batch=2)
ROUNDS = LatentClassSynthesis(1.0)


class Listening(LocalEngine):
    """An engine that also keeps every report of every round together with its place."""

    def __init__(self) -> None:
        super().__init__(1)
        self.heard: list[Reports] = []

    def sum(self, stage: str, table: Any, size: int, add: Any, shared: Any, *parts: Any, **more: Any) -> Ints:
        """The counts of a round, whose devices draw the same whenever they are asked."""
        sent = answers(RecordBlock(0, table.codes), shared)
        self.heard.append({shared.questions[which][0]: (places, reports) for which, places, reports in sent})
        return super().sum(stage, table, size, add, shared, *parts, **more)


def log_chance(oracle: Oracle, report: NDArray[Any], code: int) -> float:
    """The exact log-probability of a report about a code."""
    if isinstance(oracle, SplitKRR):
        codes = np.unravel_index(code, oracle.sizes)
        parts = zip(oracle.responses, report, codes, strict=True)
        return sum(log_chance(response, told, int(own)) for response, told, own in parts)
    if isinstance(oracle, KRR):
        return log(oracle.keep if int(report) == code else oracle.other)
    raise ParameterError(f"the law of reports of {oracle.name} is not known here")


def whole_collections(design: Design) -> Draws:
    """Draws of the log-ratio of all reports of the person at `PLACE`: a record of zeros over one of ones."""
    codes = np.zeros((PEOPLE, len(TRIPLE.sizes)), dtype=np.int32)

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        own = codes.copy()
        own[PLACE] = world
        out = np.empty((count, 1))
        for i, key in enumerate(separate(rng, count)):
            empty, engine = Collection(TRIPLE, design, seed=i, people=PEOPLE), Listening()
            simulated.simulated(Records(TRIPLE, own), empty, rng=key, engine=engine)
            out[i] = _log_ratio(engine.heard, empty.questions)
        return out

    return draws


def _log_ratio(heard: Sequence[Reports], questions: Sequence[Question]) -> float:
    total = 0.0
    for reports in heard:
        for number, (places, sent) in reports.items():
            question = questions[number]
            zero, one = (question.code([value] * len(TRIPLE.sizes)) for value in (0, 1))
            for report in sent[places == PLACE]:
                total += log_chance(question.oracle, report, zero) - log_chance(question.oracle, report, one)
    return total


def _audit(name: str, design: Design, epsilon: float, usual: int) -> Audit:
    return Audit(
        name=name,
        epsilon=epsilon,
        delta=0.0,
        unit=f"{UNIT}, all rounds",
        whose="ours",
        worlds=f"a record of zeros or of ones, in three columns of 3; {PEOPLE} people in rounds",
        draws=whole_collections(design),
        events=(
            *at_least((0.25, 0.5, 0.9, 1.0), "log ratio", column(0)),
            *at_least((0.25, 0.5, 0.9, 1.0), "-log ratio", lambda out: -out[:, 0]),
        ),
        usual=usual,
        log_ratios=output,
    )


SAMPRIVSYN_ROUNDS = _audit("whole-samprivsyn", BATCHES, promised(BATCHES.promise(TRIPLE)), _USUAL)
LATENT_ROUNDS = _audit("whole-crowdveil", ROUNDS, promised(ROUNDS.promise(TRIPLE)), _USUAL // 4)
