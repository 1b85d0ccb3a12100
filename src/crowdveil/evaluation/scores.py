"""How good scores of a label are: accuracy, and the area under the curve (AUC)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from crowdveil.arrays import Codes, Flags, Floats


@dataclass(frozen=True)
class Score:
    """What a model reaches on rows that it has not seen."""

    accuracy: float
    auc: float | None  # none where all rows have the same label

    def to_dict(self) -> dict[str, float | None]:
        """For machines."""
        return {"accuracy": self.accuracy, "auc": self.auc}


def auc(labels: Flags, scores: Floats) -> float | None:
    """The chance that a row whose label is true has a higher score than one whose label is false.

    Equal scores count half.
    """
    true = int(np.count_nonzero(labels))
    false = labels.size - true
    if not true or not false:
        return None
    ranks = rankdata(scores)[labels].sum()
    return float((ranks - true * (true + 1) / 2) / (true * false))


def score(labels: Codes, scores: Floats) -> Score:
    """Of (n, k) scores for k labels: how often the highest is right, and the mean AUC of one against others.

    Labels that no row has, or all rows have, are left out of that mean.
    """
    right = float(np.mean(scores.argmax(axis=1) == labels))
    areas = [auc(labels == label, scores[:, label]) for label in range(scores.shape[1])]
    known = [area for area in areas if area is not None]
    return Score(right, float(np.mean(known)) if known else None)
