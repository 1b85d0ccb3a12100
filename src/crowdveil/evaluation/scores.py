"""Quality of predicted scores: accuracy, and the area under the ROC curve (AUC)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from crowdveil.arrays import Codes, Flags, Floats


@dataclass(frozen=True)
class Score:
    """Accuracy and AUC of a model on test rows."""

    accuracy: float
    auc: float | None  # None if all rows have the same label

    def to_dict(self) -> dict[str, float | None]:
        """The score as a dictionary that JSON can hold."""
        return {"accuracy": self.accuracy, "auc": self.auc}


def auc(labels: Flags, scores: Floats) -> float | None:
    """The probability that a random row with a true label scores higher than one with a false label.

    Equal scores count one half.
    """
    true = int(np.count_nonzero(labels))
    false = labels.size - true
    if not true or not false:
        return None
    ranks = rankdata(scores)[labels].sum()
    return float((ranks - true * (true + 1) / 2) / (true * false))


def score(labels: Codes, scores: Floats) -> Score:
    """Accuracy of the highest of (n, k) scores for k labels, and the mean AUC of one label against the rest.

    Labels that no row or every row has are left out of the mean.
    """
    accuracy = float(np.mean(scores.argmax(axis=1) == labels))
    areas = [auc(labels == label, scores[:, label]) for label in range(scores.shape[1])]
    defined = [area for area in areas if area is not None]
    return Score(accuracy, float(np.mean(defined)) if defined else None)
