"""Comparison of synthetic records with real ones by all measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.evaluation.association import associations, mean_difference
from crowdveil.evaluation.learning import Learned, learned, split
from crowdveil.evaluation.marginals import Distances, distances, independent, relative_error
from crowdveil.evaluation.queries import Queries, QueryErrors, query_errors
from crowdveil.randomness import Randomness, seeded
from crowdveil.records import Records

MOST_WAYS = 3


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of a comparison. They are computed from real records, so they are as private as these."""

    real: Records
    synthetic: Records
    marginals: dict[int, Distances]  # by the number of columns
    independent: dict[int, float]  # mean TVD of independent columns with the exact one-way marginals
    resampled: dict[int, float]  # mean TVD of real records drawn with replacement, as many as synthetic
    relative_error: float
    queries: Queries
    query_errors: QueryErrors
    associations: tuple[Floats, Floats]  # of real and of synthetic records
    learned: Learned | None

    def pair_distances(self) -> Floats:
        """Matrix (d, d) of the TVD of each pair of columns, with that of each column on the diagonal."""
        columns = len(self.real.schema.columns)
        matrix = np.zeros((columns, columns))
        matrix[np.diag_indices(columns)] = self.marginals[1].tvd
        for (a, b), distance in zip(*_pairs(self.marginals), strict=True):
            matrix[a, b] = matrix[b, a] = distance
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """The results as plain JSON data."""
        names = self.real.schema.names
        figures: dict[str, Any] = {
            "secret": True,  # these figures look at real records
            "rows": {"real": len(self.real), "synthetic": len(self.synthetic)},
            "columns": list(names),
            "marginals": {
                str(ways): marginal.to_dict()
                | {"mean_tvd_if_independent": self.independent[ways]}
                | {"mean_tvd_if_resampled": self.resampled[ways]}
                for ways, marginal in self.marginals.items()
            },
            "pairs": [
                {"columns": [names[a], names[b]], "tvd": distance}
                for (a, b), distance in zip(*_pairs(self.marginals), strict=True)
            ],
            "relative_error": self.relative_error,
            "queries": {
                "count": self.queries.count,
                "columns": min(self.queries.ways, len(names)),
                "floor": self.queries.floor,
                "mean_absolute_error": self.query_errors.mean_absolute,
                "mean_relative_error": self.query_errors.mean_relative,
            },
            "association": {
                "mean_absolute_difference": mean_difference(*self.associations),
                "real": self.associations[0].tolist(),
                "synthetic": self.associations[1].tolist(),
            },
        }
        return figures if self.learned is None else figures | {"learning": self.learned.to_dict()}


def compare(
    real: Records,
    synthetic: Records,
    *,
    label: str | None = None,
    held_out: Records | None = None,
    queries: Queries | None = None,
    rng: Randomness | None = None,
) -> Comparison:
    """Compare synthetic records with real ones; with a label, also models trained on them.

    Models are tested on `held_out`, real rows that were not used for the synthetic records; without such rows
    a fifth of the real ones is held out.
    """
    draws, questions = rng or seeded(0), queries or Queries()
    if held_out is not None and label is None:
        raise ParameterError("held-out rows are for learning: name the label")
    ways = range(1, min(MOST_WAYS, len(real.schema.columns)) + 1)
    places = draws.stream("resampled", purpose="evaluation").uniforms(len(synthetic)) * len(real)
    resampled = real.take(places.astype(np.int64))
    models = None
    if label is not None:
        train, test = (real, held_out) if held_out is not None else split(real, rng=draws)
        models = learned(train, test, synthetic, label)
    return Comparison(
        real,
        synthetic,
        {way: distances(real, synthetic, way, rng=draws) for way in ways},
        {way: independent(real, way, rng=draws) for way in ways},
        {way: distances(real, resampled, way, rng=draws).mean for way in ways},
        relative_error(real, synthetic),
        questions,
        query_errors(real, synthetic, questions, rng=draws),
        (associations(real), associations(synthetic)),
        models,
    )


def _pairs(marginals: dict[int, Distances]) -> tuple[tuple[tuple[int, ...], ...], tuple[float, ...]]:
    return (marginals[2].columns, marginals[2].tvd) if 2 in marginals else ((), ())
