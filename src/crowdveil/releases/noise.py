"""The noise of released counts: exact discrete Laplace or, with a delta, discrete Gaussian.

`changed` is the L1 sensitivity of the counts. Laplace noise of scale changed / epsilon is pure epsilon.
Gaussian noise assumes that a protected unit changes `changed` counts by one each. Its cost is the composition
of that many mechanisms of sensitivity one, which needs less noise than Laplace if a unit changes many counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, log, nextafter, sqrt

from crowdveil.accounting import NoiseEvent, events_epsilon
from crowdveil.errors import ParameterError
from crowdveil.randomness import scales
from crowdveil.randomness.samplers import INTEGER_LIMIT

_FINE = 1000  # small variances are multiples of 1 / _FINE, large ones whole numbers


@dataclass(frozen=True)
class CountNoise:
    """A distribution of integers: discrete Laplace with a scale, or discrete Gaussian with a variance.

    `parameter` is the scale or the variance parameter, `changed` the L1 sensitivity of the counts.
    """

    gaussian: bool
    parameter: Fraction
    changed: int

    @property
    def variance(self) -> float:
        """The variance of a draw; for Gaussian noise the parameter, which is an upper bound of it."""
        if self.gaussian:
            return float(self.parameter)
        return scales.discrete_laplace_variance(float(self.parameter))

    @property
    def event(self) -> NoiseEvent:
        """This noise on the counts that one protected unit can change, as an event for the accountant."""
        if not self.gaussian:
            return NoiseEvent("discrete_laplace", self.parameter, self.changed)
        sigma = nextafter(sqrt(self.parameter), 0.0)  # never more noise than there is
        return NoiseEvent("discrete_gaussian", sigma, 1, self.changed)


@cache
def count_noise(changed: int, epsilon: Fraction, delta: float = 0.0) -> CountNoise:
    """The smallest noise that makes counts (epsilon, delta)-differentially private."""
    if not delta:
        scale = scales.at_least(changed / epsilon, refusal="epsilon is too small")
        return CountNoise(gaussian=False, parameter=scale, changed=changed)
    # Enough is rho + 2 sqrt(rho log(1/delta)) <= epsilon (Bun and Steinke), rho = changed / (2 variance).
    cautious = -log(delta)
    enough = changed / (2 * (sqrt(cautious + float(epsilon)) - sqrt(cautious)) ** 2)
    step = _FINE if enough < _FINE**2 else 1
    high = ceil(enough * step) + 1
    low = 0
    if high >= INTEGER_LIMIT:
        raise ParameterError("epsilon is too small for Gaussian noise")
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        if gaussian_cost(changed, Fraction(middle, step), delta) <= epsilon:
            high = middle
        else:
            low = middle
    noise = CountNoise(gaussian=True, parameter=Fraction(high, step), changed=changed)
    if gaussian_cost(changed, noise.parameter, delta) > epsilon:
        raise ParameterError("epsilon is too small for Gaussian noise")
    return noise


def gaussian_cost(changed: int, variance: Fraction, delta: float) -> float:
    """The epsilon at `delta` of discrete Gaussian noise, if `changed` counts change by one each."""
    return events_epsilon([CountNoise(gaussian=True, parameter=variance, changed=changed).event], delta)
