"""Audits of smoothed releases: one claim of an object is replaced, and all draws of the object are seen.

Draws are independent, so the log-likelihood ratio of all of them is a sum over cells, exact. If the kernel
covers a single cell the claimed delta is attained: the best event compares the numbers of draws in the two
places of the claim. A wider kernel has a slightly smaller delta. With a delta of 0 the most telling output is
the one whose draws all lie in the claim's cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.audit.case import Audit, Draws, Outputs, at_least, column, output
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
PURE = replace(CELL, delta=0.0)
MANY = 50  # claims about another object, whose draws tell less
EDGES = Smoothed(Range(0.0, 10.0), bandwidth=0.5, per_object=10, lam=0.5, delta=0.1, resolution=0.1)
_EDGES_PLACES = (0.0, 10.0)
_EDGES_OTHERS = (5.0,) * 9


def released(parameters: Smoothed, places: tuple[float, float], others: tuple[float, ...]) -> Draws:
    """Draws of all values of an object, one object per row: a claim in one of two places, and others."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        claims = repeated(places[world], others, count)
        drawn = release(claims, parameters, rng=rng, engine=LocalEngine(1))
        outputs: Outputs = drawn.values.reshape(count, -1)
        return outputs

    return draws


def _first_cell_over_second(out: Outputs) -> Outputs:
    difference: Outputs = (out < 1.0).sum(axis=1) - ((out >= 1.0) & (out < 2.0)).sum(axis=1)
    return difference


def density(parameters: Smoothed, values: Sequence[float]) -> Floats:
    """The exact probabilities of cells for an object with these claims."""
    weights, cells = law(parameters), parameters.cells
    kernels = sum(
        reflected(weights.kernel, cells, int(x)) for x in cell_of(np.array(values), parameters.range, cells)
    )
    base = weights.base / weights.base.sum()
    mixed: Floats = parameters.lam * base + (1 - parameters.lam) * kernels / np.sum(kernels)
    return mixed


def log_odds(
    parameters: Smoothed, places: tuple[float, float], others: tuple[float, ...]
) -> Callable[[Outputs], Floats]:
    """The exact log-likelihood ratio of all draws of an object: a claim at one place over the other."""
    first, second = (density(parameters, [place, *others]) for place in places)
    gains = np.log(first / second)

    def odds(out: Outputs) -> Floats:
        total: Floats = gains[cell_of(out, parameters.range, parameters.cells)].sum(axis=1)
        return total

    return odds


_PURE_ODDS = log_odds(PURE, CELL_PLACES, CELL_OTHERS)


def pure_odds(parameters: Smoothed) -> Draws:
    """Draws of the log-ratio and, beside it, that of a release with all values in the claim's own cell."""
    values = released(parameters, CELL_PLACES, CELL_OTHERS)

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        out = values(world, count, rng)
        telling = np.full_like(out[:1], CELL_PLACES[world])
        return np.column_stack([_PURE_ODDS(out), np.full(count, _PURE_ODDS(telling)[0])])

    return draws


def promised(parameters: Smoothed, others: tuple[float, ...]) -> float:
    """The epsilon of a release of the attacked object and of one with many claims."""
    return parameters.promise(Pattern(np.array([len(others) + 1, MANY]), 1)).epsilon


SMOOTHED = Audit(
    name="smoothed",
    epsilon=promised(CELL, CELL_OTHERS),
    delta=CELL.delta,
    unit="a claim, replace-one",
    whose="ours",
    worlds="a claim in cell 1 or 2 of four, four others in cell 3, 10 draws",
    draws=released(CELL, CELL_PLACES, CELL_OTHERS),
    events=at_least(range(1, 11), "draws in cell 1 - draws in cell 2", _first_cell_over_second),
    log_ratios=log_odds(CELL, CELL_PLACES, CELL_OTHERS),
)

SMOOTHED_PURE = replace(
    SMOOTHED,
    name="smoothed-pure",
    epsilon=promised(PURE, CELL_OTHERS),
    delta=0.0,
    draws=pure_odds(PURE),
    events=at_least((1.0, 2.0, 3.0, 4.0, 5.0), "log odds", column(0)),
    log_ratios=output,
)

SMOOTHED_KERNEL = Audit(
    name="smoothed-kernel",
    epsilon=promised(EDGES, _EDGES_OTHERS),
    delta=EDGES.delta,
    unit="a claim, replace-one",
    whose="ours",
    worlds="a claim at the low or the high end, 9 others in the middle, 10 draws",
    draws=released(EDGES, _EDGES_PLACES, _EDGES_OTHERS),
    events=at_least(
        (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0), "log odds", log_odds(EDGES, _EDGES_PLACES, _EDGES_OTHERS)
    ),
    log_ratios=log_odds(EDGES, _EDGES_PLACES, _EDGES_OTHERS),
)
