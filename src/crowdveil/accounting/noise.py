"""What noise of several kinds costs together: numeric composition where it helps, closed forms elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Literal

from crowdveil.accounting.composition import composed_epsilon
from crowdveil.accounting.parameters import check_delta, check_positive, check_whole
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


@dataclass(frozen=True)
class Noise:
    """Noise that was added `times` times: `scale` is Laplace's b or Gauss's sigma.

    The sensitivity is of one number; for continuous Gaussian noise it may be the L2 sensitivity of a vector.
    Discrete noise takes whole sensitivities.
    """

    kind: Literal["laplace", "gaussian", "discrete_laplace", "discrete_gaussian"]
    scale: float
    sensitivity: float = 1.0
    times: int = 1

    def __post_init__(self) -> None:
        if self.kind not in ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian"):
            raise ParameterError(f"there is no noise called {self.kind!r}")
        check_positive(self.scale, "the scale")
        check_positive(self.sensitivity, "the sensitivity")
        check_whole(self.times, "times")
        if self.kind.startswith("discrete") and self.sensitivity != int(self.sensitivity):
            raise ParameterError(f"discrete noise takes a whole sensitivity, not {self.sensitivity:g}")

    @property
    def gaussian(self) -> bool:
        """Whether it has no pure epsilon."""
        return self.kind.endswith("gaussian")


def noise_epsilon(noises: Sequence[Noise], delta: float) -> float:
    """An epsilon at `delta` for all of `noises` together: the best of numeric and closed-form composition.

    Numeric: privacy loss distributions, discretized pessimistically, by Google's dp-accounting (Koskela et
    al. 2020; Doroshenko et al. 2022, *Connect the Dots*), from delta = 1e-10 up. Closed form: epsilons add
    up, Gaussians' rhos do.
    """
    check_delta(delta)
    if not noises:
        raise ParameterError("there is no noise to add up")
    pure = up(sum((n.times * _ratio(n) for n in noises if not n.gaussian), Fraction(0)))
    # Pure epsilon means zCDP with rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4), one by one;
    # the rho of Gaussian noise is the same expression of its own ratio.
    rho, rhos = (
        up(sum((n.times * _ratio(n) ** 2 / 2 for n in noises if n.gaussian or every), Fraction(0)))
        for every in (False, True)
    )
    if delta == 0:
        return inf if rho else pure
    closed = [zcdp_epsilon(rhos, delta)]
    closed.append(sum_up([pure, zcdp_epsilon(rho, delta)]) if rho else pure)
    if len(noises) == 1 and not rho and noises[0].times <= _MOST_TERMS:
        closed.append(composed_epsilon(up(_ratio(noises[0])), 0.0, noises[0].times, delta))
    if delta < _SMALLEST_PLD_DELTA or min(closed) > _LARGEST_PLD_EPSILON or not all(map(_fits_pld, noises)):
        return min(closed)
    return min(_pld_epsilon(noises, delta - _PLD_ERROR), *closed)


def _ratio(noise: Noise) -> Fraction:
    """The pure epsilon of Laplace noise, the mu of Gaussian noise, added once."""
    return Fraction(noise.sensitivity) / Fraction(noise.scale)


def _fits_pld(noise: Noise) -> bool:
    large = noise.kind == "discrete_gaussian" and noise.scale > _LARGEST_PLD_SIGMA
    return noise.times <= _MOST_PLD_TIMES and not large


def _pld_epsilon(noises: Sequence[Noise], delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    steps = [noise.sensitivity / noise.scale for noise in noises]
    interval = min(max(min(steps) / 200.0, max(steps) / 1e5, 1e-7), 1e-3)
    whole: Any = None
    for noise in noises:
        make = getattr(pld, f"from_{noise.kind}_mechanism")
        discrete = noise.kind.startswith("discrete")
        sensitivity = int(noise.sensitivity) if discrete else noise.sensitivity
        # Its discrete Laplace noise takes a rate instead of a scale; a higher rate is less noise.
        parameter = up(1 / Fraction(noise.scale)) if noise.kind == "discrete_laplace" else noise.scale
        one = make(parameter, sensitivity=sensitivity, value_discretization_interval=interval)
        several = one.self_compose(noise.times) if noise.times > 1 else one
        whole = several if whole is None else whole.compose(several)
    return max(0.0, float(whole.get_epsilon_for_delta(delta)))
