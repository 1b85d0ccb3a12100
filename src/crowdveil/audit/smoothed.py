"""Audits of smoothed releases: one claim of an object is replaced, and all draws of the object are seen.

If the kernel covers a single cell the claimed delta is attained: the best event compares the numbers of draws
in the two places of the claim. A wider kernel has a slightly smaller delta; there events use the likelihood
ratio.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.audit.case import Audit, Draws, Outputs, at_least
from crowdveil.audit.releases import repeated
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases.method import release
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import Smoothed, cell_of, law, reflected

CELL = Smoothed(Range(0.0, 4.0), bandwidth=0.01, per_object=10, lam=0.5, delta=0.1, resolution=1.0)
CELL_PLACES = (0.5, 1.5)
CELL_OTHERS = (2.5,) * 4
_EDGES = Smoothed(Range(0.0, 10.0), bandwidth=0.5, per_object=10, lam=0.5, delta=0.1, resolution=0.1)
_EDGES_PLACES = (0.0, 10.0)
_EDGES_OTHERS = (5.0,) * 9


def released(parameters: Smoothed, places: tuple[float, float], others: tuple[float, ...]) -> Draws:
    """Draws of all values of an object, one object per row: a claim in one of two places, and others."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        claims = repeated(places[world], others, count)
        drawn = release(claims, parameters, rng=rng, engine=LocalEngine(1))
        return drawn.values.reshape(count, -1)

    return draws


def _first_cell_over_second(out: Outputs) -> Outputs:
    difference: Outputs = (out < 1.0).sum(axis=1) - ((out >= 1.0) & (out < 2.0)).sum(axis=1)
    return difference


def _density(place: float) -> Floats:
    """The exact probabilities of cells, if the claim is at `place`."""
    weights, cells = law(_EDGES), _EDGES.cells
    values = np.array([place, *_EDGES_OTHERS])
    kernels = sum(reflected(weights.kernel, cells, int(x)) for x in cell_of(values, _EDGES.range, cells))
    base = weights.base / weights.base.sum()
    mixed: Floats = _EDGES.lam * base + (1 - _EDGES.lam) * kernels / np.sum(kernels)
    return mixed


_GAIN = np.log(_density(_EDGES_PLACES[0]) / _density(_EDGES_PLACES[1]))


def _log_odds(out: Outputs) -> Outputs:
    """The log-likelihood ratio of the draws: claim at the low end over claim at the high end."""
    odds: Outputs = _GAIN[cell_of(out, _EDGES.range, _EDGES.cells)].sum(axis=1)
    return odds


def _epsilon(parameters: Smoothed, others: tuple[float, ...]) -> float:
    return parameters.promise(Pattern.even(1, len(others) + 1)).epsilon


SMOOTHED = Audit(
    name="smoothed",
    epsilon=_epsilon(CELL, CELL_OTHERS),
    delta=CELL.delta,
    unit="a claim, replace-one",
    whose="ours",
    worlds="a claim in cell 1 or 2 of four, four others in cell 3, 10 draws",
    draws=released(CELL, CELL_PLACES, CELL_OTHERS),
    events=at_least(range(1, 11), "draws in cell 1 - draws in cell 2", _first_cell_over_second),
)

SMOOTHED_KERNEL = Audit(
    name="smoothed-kernel",
    epsilon=_epsilon(_EDGES, _EDGES_OTHERS),
    delta=_EDGES.delta,
    unit="a claim, replace-one",
    whose="ours",
    worlds="a claim at the low or the high end, 9 others in the middle, 10 draws",
    draws=released(_EDGES, _EDGES_PLACES, _EDGES_OTHERS),
    events=at_least((0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0), "log odds", _log_odds),
)
