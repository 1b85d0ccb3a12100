"""The real datasets of the experiments, read from a folder that the user names.

`{name}_claims.parquet` has columns object, user, value; `{name}_truths.parquet` has object, value.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdveil.claims import Claims
from crowdveil.errors import InputError
from crowdveil.files import read_claims, read_truths
from crowdveil.public_range import Range

FOLDER_VARIABLE = "CROWDVEIL_DATA"


@dataclass(frozen=True)
class Dataset:
    """A dataset and public facts about it."""

    name: str
    title: str
    stands_for: str  # the paper's dataset that it replaces
    range: Range
    unit: float  # the smallest difference that matters, absolute ...
    relative_unit: float = 0.0  # ... or as a share of the truth
    logarithmic: bool = False  # whether errors of centres are measured in log10

    def load(self, folder: Path) -> tuple[Claims, NDArray[np.float64]]:
        """The claims, and the truth of each object (NaN if it is unknown)."""
        claims = read_claims(str(folder / f"{self.name}_claims.parquet"))
        truths = read_truths(str(folder / f"{self.name}_truths.parquet"))
        truth_of = dict(truths.iter_rows())
        return claims, np.array([truth_of.get(name, np.nan) for name in claims.objects])

    def smallest(self, truth: float) -> float:
        """The smallest difference that matters around a truth."""
        return max(self.unit, self.relative_unit * abs(truth))


DATASETS = (
    Dataset(
        "population",
        "Population (Wikipedia edits)",
        "Population",
        Range(0.0, 1e8),
        unit=1.0,
        relative_unit=0.01,
        logarithmic=True,
    ),
    Dataset(
        "flight_20111208",
        "Flight times, in place of Stock",
        "Stock",
        Range(0.0, 1440.0),  # minutes after midnight
        unit=5.0,
    ),
    Dataset(
        "n_emotion",
        "Emotion scores, in place of Indoor Floorplan",
        "Indoor",
        Range(-100.0, 100.0),
        unit=5.0,
    ),
)


def data_folder(given: Path | None) -> Path:
    """The folder of the datasets: `given`, or the one that the environment variable names."""
    named = given or (Path(os.environ[FOLDER_VARIABLE]) if os.environ.get(FOLDER_VARIABLE) else None)
    if named is None or not named.is_dir():
        raise InputError(
            f"this experiment reads real datasets: name their folder with --data or {FOLDER_VARIABLE}"
        )
    return named
