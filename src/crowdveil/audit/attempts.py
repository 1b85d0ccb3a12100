"""Audits of fixed attempts, one for each of the three quantities that the proof bounds.

A claim far from all others: values drawn from it must rarely pass (delta). A crowd of exactly k claims that
loses one: the noise of the threshold must hide the loss (epsilon0). A crowd that nearly always passes and
loses one: only forced failures bound the privacy loss of an empty release (eta).

Attempts are independent, so the log-likelihood ratio of all that is published, the number of values included,
is a sum over attempts, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, equal
from crowdveil.audit.releases import repeated, rows
from crowdveil.engines import LocalEngine
from crowdveil.kernels.attempts import seeds_between
from crowdveil.kernels.smoothed import fold
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases.attempts import Attempts, cut_bins, pass_chances
from crowdveil.releases.method import release
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import cell_of, gaussian_weights

_TEN = Range(0.0, 10.0)
_PLACES = (5.0, 9.0)  # of one claim; all others are at 5, farther away than the kernel reaches
_BANDWIDTH = 0.3
ISOLATED = Attempts(
    _TEN, _BANDWIDTH, attempts=3, k=2, gamma=1.1, epsilon0=1.0, eta=0.1, delta=0.18, resolution=0.1
)
CROWD = Attempts(
    _TEN, _BANDWIDTH, attempts=3, k=30, gamma=1.1, epsilon0=0.3, eta=0.1, delta=1e-3, resolution=0.1
)
NOTHING = Attempts(
    _TEN, _BANDWIDTH, attempts=1, k=5, gamma=1.1, epsilon0=1.5, eta=0.02, delta=1e-3, resolution=0.1
)

NOTHING_CLAIMS = 8


def released(parameters: Attempts, claims: int) -> Draws:
    """Draws of the values that passed, one object per row: `claims` claims at 5, or one of them at 9."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        passed = release(
            repeated(_PLACES[world], _PLACES[:1] * (claims - 1), count),
            parameters,
            rng=rng,
            engine=LocalEngine(1),
        )
        return rows(passed.offsets, passed.values, parameters.attempts)

    return draws


def attempt_law(parameters: Attempts, values: Sequence[float]) -> Floats:
    """The exact probability that an attempt publishes each cell and, last, that it publishes nothing.

    The slow twin of the release's loop: over all claims and all offsets of the kernel.
    """
    kernel = gaussian_weights(parameters.kernel_width)
    bins, reach = cut_bins(kernel, parameters.gamma), kernel.size // 2
    places = np.sort(cell_of(np.array(values), parameters.range, parameters.cells))
    chances = np.zeros(parameters.cells + 1)
    for place in places:
        for offset, weight in zip(range(-reach, reach + 1), kernel, strict=True):
            b = int(np.searchsorted(bins, abs(offset), side="right")) - 1
            near = seeds_between(places, place + offset, bins[b], bins[b + 1])
            passes = pass_chances(np.array([near]), parameters.k, parameters.epsilon0)[0]
            drawn = (1 - parameters.eta) * weight / kernel.sum() / places.size
            chances[fold(place + offset, parameters.cells)] += drawn * passes
    chances[-1] = 1 - chances[:-1].sum()
    return chances


def log_odds(parameters: Attempts, claims: int) -> Callable[[Outputs], Floats]:
    """The exact log-likelihood ratio of what an object publishes: all claims at 5 over one of them at 9."""
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = [np.log(attempt_law(parameters, [place, *_PLACES[:1] * (claims - 1)])) for place in _PLACES]
        gains = np.where(laws[0] == laws[1], 0.0, laws[0] - laws[1])

    def odds(out: Outputs) -> Floats:
        published = np.isfinite(out)
        cells = cell_of(np.where(published, out, 0.0), parameters.range, parameters.cells)
        total: Floats = np.where(published, gains[cells], gains[-1]).sum(axis=1)
        return total

    return odds


def _passed(out: Outputs) -> Outputs:
    number: Outputs = np.isfinite(out).sum(axis=1)
    return number


def _events(most: int) -> tuple[Event, ...]:
    return (
        *at_least((7.0,), "the largest released value", lambda out: out.max(axis=1)),
        *at_least(range(1, most + 1), "released", _passed),
        *equal((0,), "released", _passed),
    )


def _audit(name: str, parameters: Attempts, claims: int) -> Audit:
    return Audit(
        name=name,
        epsilon=parameters.promise(Pattern.even(1, claims)).epsilon,
        delta=parameters.delta,
        unit="a claim, replace-one",
        whose="ours",
        worlds=f"{claims} claims at 5, or one of them at 9; k {parameters.k}, {parameters.attempts} attempts",
        draws=released(parameters, claims),
        events=_events(parameters.attempts),
        log_ratios=log_odds(parameters, claims),
    )


ATTEMPTS_ISOLATED = _audit("attempts-isolated", ISOLATED, 3)
ATTEMPTS_CROWD = _audit("attempts-crowd", CROWD, CROWD.k)
ATTEMPTS_NOTHING = _audit("attempts-nothing", NOTHING, NOTHING_CLAIMS)
