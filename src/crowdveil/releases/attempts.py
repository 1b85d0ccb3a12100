"""Fixed attempts: PrisCrowd's privacy test in a form that is differentially private.

Every object has the same number T of attempts, whatever its claims are. An attempt samples one of the n
claims uniformly, adds Gaussian kernel noise of public bandwidth and publishes the result if the privacy test
passes: plausible seeds >= k + Laplace noise of rate eps0. With probability eta the attempt fails regardless,
which bounds the privacy loss of publishing nothing. The number of attempts that pass is part of the output,
and epsilon accounts for it.

Values are cells of a public grid, kernels have integer weights and every draw is exact. The bins of the test
follow the kernel weights: within a bin they differ by at most a factor gamma, which the proof uses.

Notation: pi(c) = Pr[Laplace noise of rate eps0 >= k - c], the probability to pass with c plausible seeds.
Reference: Bindschaedler, Shokri, Gunter, *Plausible Deniability for Privacy-Preserving Data Synthesis*,
PVLDB 10(5), 2017, doi:10.14778/3055540.3055542, corrected. Proof and figures: docs/guarantees/attempts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, inf, isfinite, log1p
from typing import Any, ClassVar

import numpy as np

from crowdveil.accounting import composed_epsilon
from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, rational
from crowdveil.kernels.attempts import attempt
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Streams
from crowdveil.releases.deniability import PrivacyTest
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release
from crowdveil.releases.smoothed import DrawnOnGrid, cell_of, centre_of, check_grid, gaussian_weights

LARGEST_ATTEMPTS = 10_000
LARGEST_RATE = 100.0
_ROUNDING = 2.0**-50
_GOLDEN = 0.5 * (5**0.5 - 1)


@dataclass(frozen=True)
class Attempts(DrawnOnGrid):
    """Parameters of fixed attempts; epsilon follows from them and from the numbers of claims.

    Parameters
    ----------
    range, resolution, bandwidth:
        The public range of values, the width of a grid cell, and the kernel's standard deviation.
    attempts:
        T, the number of attempts for each object.
    k, gamma, epsilon0:
        The privacy test: see `PrivacyTest`.
    eta:
        The probability that an attempt fails regardless of the test.
    delta:
        The delta at which epsilon is computed.

    """

    range: Range
    bandwidth: float
    attempts: int = 5
    k: int = 50
    gamma: float = 2.0
    epsilon0: float = 0.3
    eta: float = 0.1
    delta: float = 1e-6
    resolution: float | None = None

    name: ClassVar[str] = "attempts"

    def __post_init__(self) -> None:
        PrivacyTest(self.k, self.gamma, self.epsilon0)  # raises an error for invalid parameters of the test
        if self.epsilon0 > LARGEST_RATE:
            raise ParameterError(f"epsilon0 is at most {LARGEST_RATE:g}, not {self.epsilon0:g}")
        if not isinstance(self.attempts, int) or not 1 <= self.attempts <= LARGEST_ATTEMPTS:
            raise ParameterError(f"attempts must be from 1 to {LARGEST_ATTEMPTS}, not {self.attempts}")
        if not 0 < self.eta < 1:
            raise ParameterError(f"eta must lie between 0 and 1, not {self.eta:g}")
        rational(self.eta, what="eta")
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta must lie between 0 and 1, not {self.delta:g}: no test is pure")
        check_grid(self.range, self.bandwidth, self.resolution)

    def promise(self, pattern: Pattern) -> Guarantee:
        """The guarantee of a release for objects with these (public) numbers of claims."""
        epsilon = self.epsilon(pattern.per_object.tolist())
        if not isfinite(epsilon):
            raise ParameterError(
                f"no epsilon goes with delta {self.delta:g}: with k = {self.k} and epsilon0 = "
                f"{self.epsilon0:g} a lone claim passes too often in {self.attempts} attempts; raise "
                "k, epsilon0 or delta, or make fewer attempts"
            )
        return self.guarantee(epsilon)

    def epsilon(self, counts: Iterable[int]) -> float:
        """The epsilon at `delta` for one claim, for objects with these numbers of claims; inf if none exists.

        It is minimised over the epsilon of a single attempt: a larger one has a smaller delta, which leaves
        more of `delta` to composition.
        """
        sizes = np.unique(np.fromiter(counts, dtype=np.int64))
        if sizes.size == 0 or sizes[0] < 1:
            raise ParameterError("every object has at least one claim")
        # Epsilon does not depend on range, resolution and bandwidth.
        test = (self.attempts, self.k, self.gamma, self.epsilon0, self.eta, self.delta)
        return _least_epsilon(tuple(sizes.tolist()), *test)

    def public(self, pattern: Pattern) -> dict[str, Any]:
        """The distinct numbers of claims per object, and the largest of a user."""
        return {"claims_per_object": np.unique(pattern.per_object).tolist(), **super().public(pattern)}

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        names = ("attempts", "k", "gamma", "epsilon0", "eta", "delta", "bandwidth")
        return {name: getattr(self, name) for name in names} | self._public_grid()

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """The values that passed in `attempts` attempts for every object; values are centres of cells.

        Objects without a passing attempt stay in the release, with no values: the guarantee covers that too.
        """
        drawn, passing = engine.map(
            *("attempts", claims, _attempted, (self, rng.all_streams(purpose=self.name))),
            per=("object", "object"),
            operations=10.0 * claims.object_count * self.attempts,
        )
        passed = engine.collect(passing)
        return self.published(claims, passed, engine.flat(drawn, passed), seeded=not rng.private)


def _attempted(block: Block, shared: tuple[Attempts, Streams]) -> tuple[Floats, Ints]:
    """For each object the values that passed, and how many they are."""
    parameters, streams = shared
    kernel = gaussian_weights(parameters.kernel_width)
    bins, cumulative = cut_bins(kernel, parameters.gamma), np.cumsum(kernel)
    cells = cell_of(block.values, parameters.range, parameters.cells)
    rate = rational(parameters.epsilon0, what="epsilon0")
    failure = rational(parameters.eta, what="eta")
    drawn = np.zeros((block.size, parameters.attempts), dtype=np.int64)
    passed = np.zeros(block.size, dtype=np.int64)
    attempt(
        *(block.offsets, cells, cumulative, bins, parameters.cells, parameters.attempts, parameters.k),
        *(rate.numerator, rate.denominator, failure.numerator, failure.denominator),
        *(streams.key, streams.nonces(block.names, block.first), 0, block.size, drawn, passed),
    )
    return centre_of(drawn, parameters.range, parameters.cells), passed


@lru_cache(maxsize=256)
def _least_epsilon(
    counts: tuple[int, ...], attempts: int, k: int, gamma: float, epsilon0: float, eta: float, delta: float
) -> float:
    """`Attempts.epsilon` for distinct numbers of claims in ascending order, cached."""
    sizes = np.array(counts, dtype=np.int64)
    rate, failure = (float(rational(number, what="")) for number in (epsilon0, eta))
    least = nothing_epsilon(counts[0], rate, failure)

    def composed(single: float) -> float:
        return composed_epsilon(
            max(single, least), attempt_delta(sizes, k, gamma, rate, single), attempts, delta
        )

    def finite(single: float) -> bool:
        delta_of_one = attempt_delta(sizes, k, gamma, rate, single)
        return delta_of_one < 1 and composed_epsilon(0.0, delta_of_one, attempts, delta) < inf

    largest = rate + log1p(gamma) + 1e-9  # from here on the maximum is at c = 0: a claim without other seeds
    if not finite(largest):
        return inf
    return _minimum(composed, _first_finite(finite, rate, largest), largest)


def pass_chances(counts: Ints, k: int, rate: float) -> Floats:
    """pi(c) for each c."""
    missing = (k - counts).astype(np.float64)
    below = 0.5 * np.exp(-rate * np.maximum(missing, 0.0))
    return np.where(missing > 0, below, 1.0 - 0.5 * np.exp(rate * np.minimum(missing, 0.0)))


def attempt_delta(sizes: Ints, k: int, gamma: float, rate: float, epsilon: float) -> float:
    """The delta of one attempt at `epsilon` >= rate, the largest over objects with these numbers of claims.

    For n claims: (1/n) max over 0 <= c < n of [pi(c + 1) - (c/gamma) (e^epsilon pi(c) - pi(c + 1))]_+, where
    c is the number of plausible seeds besides the replaced claim. Rounding errors are added on top.
    """
    if epsilon < rate:
        raise ParameterError("the epsilon of one attempt is at least epsilon0")
    c = np.arange(int(sizes.max()), dtype=np.int64)
    after = pass_chances(c + 1, k, rate)
    failing = 0.5 * np.exp(-rate * np.maximum(c - k, 0))  # 1 - pi(c) where c >= k
    growth = np.where(
        c < k,
        after * expm1(epsilon - rate),
        expm1(epsilon) * (1.0 - failing) + failing * expm1(-rate),
    )
    offset = c / gamma * growth
    rounding = _ROUNDING * (after + np.abs(offset) + np.where(c < k, 0.0, c / gamma * (1.0 + expm1(epsilon))))
    brackets = np.maximum.accumulate(np.maximum(after - offset + rounding, 0.0))
    return float((brackets[sizes - 1] / sizes).max()) * (1.0 + _ROUNDING)


def nothing_epsilon(smallest: int, rate: float, eta: float) -> float:
    """The largest log-ratio of the probability that an attempt fails, for an object with the fewest claims.

    It is log max(e^eps0, 1 + (1 - eta)/(eta n)).
    """
    return max(rate, log1p((1.0 - eta) / (eta * smallest))) * (1.0 + _ROUNDING)


def _first_finite(finite: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest x in [low, high] with finite(x), by bisection from above; finite(high) must hold."""
    if finite(low):
        return low
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if finite(middle) else (middle, high)
    return high


def _minimum(composed: Callable[[float], float], least: float, most: float) -> float:
    """Nearly the minimum of `composed` on [least, most]; each of its values is a valid epsilon.

    A grid search is refined by a golden-section search.
    """
    grid = np.concatenate([[least], least + (most - least) * np.geomspace(1e-7, 1.0, 25)])
    epsilons = [composed(float(one)) for one in grid]
    best = int(np.argmin(epsilons))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    smallest = epsilons[best]
    for _ in range(12):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = composed(left), composed(right)
        smallest = min(smallest, at_left, at_right)
        low, high = (low, right) if at_left <= at_right else (left, high)
    return smallest


def cut_bins(kernel: Ints, gamma: float) -> Ints:
    """Distances at which bins begin, then r + 1: within a bin weights differ by at most a factor gamma."""
    side = kernel[kernel.size // 2 :]
    falling = -side
    starts = [0]
    while starts[-1] < side.size:
        smallest = ceil(Fraction(int(side[starts[-1]])) / Fraction(gamma))
        starts.append(int(np.searchsorted(falling, -smallest, side="right")))
    return np.array(starts, dtype=np.int64)
