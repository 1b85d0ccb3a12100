"""Whether models learn the same from synthetic records as from real ones.

A model is trained on synthetic records and tested on real rows that it has not seen. Beside it stand the same
model trained on real rows, and the answer that is always the most frequent label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdveil.errors import InputError, ParameterError
from crowdveil.evaluation.scores import Score, score
from crowdveil.randomness import Randomness
from crowdveil.records import Records

MOST_LABELS = 20


@dataclass(frozen=True)
class Learned:
    """Scores on held-out real rows, by model."""

    label: str
    tested: int  # rows
    majority: Score
    real: dict[str, Score]
    synthetic: dict[str, Score]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        models = {
            name: {"real": self.real[name].to_dict(), "synthetic": self.synthetic[name].to_dict()}
            for name in self.real
        }
        return {
            "label": self.label,
            "tested": self.tested,
            "majority": self.majority.to_dict(),
            "models": models,
        }


def split(records: Records, *, rng: Randomness, held_out: float = 0.2) -> tuple[Records, Records]:
    """Rows to train on, and rows held out, at random."""
    if not 0 < held_out < 1:
        raise ParameterError(f"the share of rows that are held out lies in (0, 1), not {held_out:g}")
    order = np.argsort(rng.stream("split", purpose="evaluation").uniforms(len(records)), kind="stable")
    many = round(held_out * len(records))
    if not 0 < many < len(records):
        raise InputError("there are too few records to hold some of them out")
    return records.take(np.sort(order[many:])), records.take(np.sort(order[:many]))


def learned(train: Records, test: Records, synthetic: Records, label: str) -> Learned:
    """What models reach that were trained on real rows, and on synthetic ones, tested on real rows.

    Needs scikit-learn (`MissingExtra` without it).
    """
    from crowdveil.evaluation.models import MODELS, chances

    place = test.schema.index(label)
    if len(test.schema.columns) < 2:
        raise ParameterError("learning needs a column beside the label")
    if test.schema.sizes[place] > MOST_LABELS:
        raise ParameterError(f"a label has at most {MOST_LABELS} values; {label!r} has more")

    def reached(rows: Records) -> dict[str, Score]:
        return {model: score(test.column(place), chances(model, rows, test, place)) for model in MODELS}

    majority = _majority(train, test, place)
    return Learned(test.schema.names[place], len(test), majority, reached(train), reached(synthetic))


def _majority(train: Records, test: Records, place: int) -> Score:
    often = train.counts(place).astype(np.float64)
    return score(test.column(place), np.tile(often, (len(test), 1)))
