"""What noisy events cost together: numeric composition where it helps, closed forms elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from crowdveil.accounting.composition import composed_epsilon
from crowdveil.accounting.events import Event, NoiseEvent, PrivateEvent
from crowdveil.accounting.parameters import check_delta
from crowdveil.accounting.rounding import sum_up, up
from crowdveil.accounting.zcdp import zcdp_epsilon
from crowdveil.errors import ParameterError

_SMALLEST_PLD_DELTA = 1e-10  # below, the errors of the Fourier transform could matter
_PLD_ERROR = 1e-12
_MOST_TERMS = 10_000
# Beyond these its tables take minutes or do not fit into memory; closed forms do.
_LARGEST_PLD_EPSILON = 100.0
_LARGEST_PLD_SIGMA = 1e5  # of discrete Gaussian noise
_MOST_PLD_TIMES = 10**6


def events_epsilon(events: Sequence[Event], delta: float) -> float:
    """An epsilon at `delta` for all events together; infinite if there is none.

    Events of which only (epsilon, delta) is known add up with the rest (basic composition); what they leave
    of delta is for the noise. Noise: the best of numeric and closed-form composition. Numeric: privacy loss
    distributions, discretized pessimistically, by Google's dp-accounting (Koskela et al. 2020; Doroshenko et
    al. 2022, *Connect the Dots*), from delta = 1e-10 up. Closed form: epsilons add up, Gaussians' rhos do.
    """
    check_delta(delta)
    if not events:
        raise ParameterError("there is no event to account for")
    noises = [event for event in events if isinstance(event, NoiseEvent)]
    others = [event for event in events if isinstance(event, PrivateEvent)]
    left = Fraction(delta) - sum(Fraction(event.delta) for event in others)
    if left < 0:
        return inf
    known = sum((Fraction(event.epsilon) for event in others), Fraction(0))
    noise = _noise_epsilon(noises, _down(left)) if noises else 0.0
    if not any(event.gaussian for event in noises):
        pure = known + sum((event.times * event.ratio for event in noises), Fraction(0))
        return min(up(pure), up(known + Fraction(noise)))
    return inf if noise == inf else up(known + Fraction(noise))


def basic_composition(events: Sequence[Event], delta: float) -> Fraction:
    """The sum of what every event costs alone, exactly; the Gaussian ones at `delta` each."""
    costs = [
        Fraction(event.epsilon)
        if isinstance(event, PrivateEvent)
        else Fraction(events_epsilon([event], delta))
        if event.gaussian
        else event.times * event.ratio
        for event in events
    ]
    return sum(costs, Fraction(0))


def _noise_epsilon(noises: Sequence[NoiseEvent], delta: float) -> float:
    pure = up(sum((n.times * n.ratio for n in noises if not n.gaussian), Fraction(0)))
    # Pure epsilon means zCDP with rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4), one by one;
    # the rho of Gaussian noise is the same expression of its own ratio.
    rho, rhos = (
        up(sum((n.times * n.ratio**2 / 2 for n in noises if n.gaussian or every), Fraction(0)))
        for every in (False, True)
    )
    if delta == 0:
        return inf if rho else pure
    closed = [zcdp_epsilon(rhos, delta)]
    closed.append(sum_up([pure, zcdp_epsilon(rho, delta)]) if rho else pure)
    if len(noises) == 1 and not rho and noises[0].times <= _MOST_TERMS:
        closed.append(composed_epsilon(up(noises[0].ratio), 0.0, noises[0].times, delta))
    if delta < _SMALLEST_PLD_DELTA or min(closed) > _LARGEST_PLD_EPSILON or not all(map(_fits_pld, noises)):
        return min(closed)
    return min(_pld_epsilon(noises, delta - _PLD_ERROR), *closed)


def _down(exact: Fraction) -> float:
    """The nearest float that is not above."""
    near = float(exact)
    return near if Fraction(near) <= exact else nextafter(near, 0.0)


def _fits_pld(noise: NoiseEvent) -> bool:
    large = noise.kind == "discrete_gaussian" and noise.scale > _LARGEST_PLD_SIGMA
    return noise.times <= _MOST_PLD_TIMES and not large


def _pld_epsilon(noises: Sequence[NoiseEvent], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    steps = [float(noise.ratio) for noise in noises]
    interval = min(max(min(steps) / 200.0, max(steps) / 1e5, 1e-7), 1e-3)
    composed: Any = None
    for noise in noises:
        make = getattr(pld, f"from_{noise.kind}_mechanism")
        discrete = noise.kind.startswith("discrete")
        sensitivity = int(noise.sensitivity) if discrete else noise.sensitivity
        # Its discrete Laplace noise takes a rate instead of a scale; a higher rate is less noise.
        rate = noise.kind == "discrete_laplace"
        parameter = up(1 / Fraction(noise.scale)) if rate else _down(Fraction(noise.scale))
        one = make(parameter, sensitivity=sensitivity, value_discretization_interval=interval)
        several = one.self_compose(noise.times) if noise.times > 1 else one
        composed = several if composed is None else composed.compose(several)
    return max(0.0, float(composed.get_epsilon_for_delta(delta)))
