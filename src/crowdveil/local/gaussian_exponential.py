"""Gaussian noise whose variance is itself drawn from an exponential law, on the device.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018.
Notation: lambda2 = `rate` of the variances, so that their mean is 1 / rate and the average size of the noise
1/sqrt(2 rate). lambda1, b, eta, gamma_s, c as in the paper, for `paper_bound` only.

With a fresh variance for each claim the noise *is* Laplace noise (`fresh_variances`). With one variance for
all claims of a user (`VariancePerUser`) the promise is weak, because the variance may be tiny; a floor under
it mends that. The proofs are in docs/guarantees/sensing.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import ceil, expm1, log1p, pi, sqrt
from typing import ClassVar

from scipy.special import erfcx

from crowdveil.accounting import (
    floored_variance_delta,
    gaussian_rho,
    shared_variance_delta,
    smallest_epsilon,
    zcdp_epsilon,
)
from crowdveil.accounting.parameters import check_delta, check_positive, check_whole
from crowdveil.accounting.rounding import slack, up
from crowdveil.arrays import Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee, Promise, Unit, rounded_up
from crowdveil.kernels import device_noise
from crowdveil.local.description import Description
from crowdveil.local.grid import Grid
from crowdveil.local.laplace import ASSUMPTIONS, most_claims, so_many
from crowdveil.local.perturbed import ClaimMechanism
from crowdveil.local.request import MechanismRequest
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Words
from crowdveil.randomness.samplers import INTEGER_LIMIT

EPSILON = 1.0  # at which the delta of a variance without a floor is stated
LEAST_DELTA = 1e-3  # without a floor none below is printed, though it may be true
MOST_DELTA = 0.999  # a promise that fails more often is none
ALWAYS = 4  # variance, in squared steps, that makes up for the grid
STEPS_TO_MEAN = 2**12  # of the variance
CAP = 64 * STEPS_TO_MEAN  # no more steps; one chance in e^64 to get there
MOST_CLAIMS = 10**6
SMALLEST_DELTA = 1e-20  # that can be asked for
_LOST = 1e-27  # what grid and cap can add to a delta, for up to MOST_CLAIMS claims


def check_rate(rate: float) -> None:
    """Refuse what is no rate of variances."""
    check_positive(rate, "the rate of the variances (lambda2)")


def _check_delta(delta: float) -> None:
    check_delta(delta, least=0.0)
    if delta < SMALLEST_DELTA:
        raise ParameterError(f"delta must be at least {SMALLEST_DELTA:g}, not {delta:g}")


@dataclass(frozen=True)
class WeakGuarantee(Guarantee):
    """A guarantee with a large delta, which says so."""

    def sentence(self) -> str:
        """The promise in words, and how little it is."""
        return (
            f"{super().sentence()} This is weak: at epsilon = {self.epsilon:g} it may fail in up to "
            f"{ceil(1000 * self.delta)} of 1,000 cases, because the variance that was drawn may be too small "
            "to hide anything. Only a floor under the variance makes delta small."
        )


@dataclass(frozen=True)
class VariancePerUser(ClaimMechanism):
    """Gaussian noise with one variance for all claims of a user: floor + an exponential one of that rate.

    With a floor the promise is an epsilon at `delta`, without one the (large) delta at epsilon = 1.

    Parameters
    ----------
    rate:
        Of the exponential law of variances: lambda2 in the paper.
    range, resolution:
        The public range that claims are clamped to, and the step of the public grid.
    floor:
        The least variance.
    delta:
        Of the guarantee, if there is a floor.

    >>> round(VariancePerUser(rate=0.005, range=Range(0, 10)).promise().delta, 2)
    0.19

    """

    name: ClassVar[str] = "gaussian-exponential-per-user"
    method: ClassVar[str] = "local gauss-exp"
    options: ClassVar[tuple[str, ...]] = ("resolution", "lambda2", "floor", "delta")

    rate: float
    range: Range
    resolution: float | None = None
    floor: float = 0.0
    delta: float = 1e-6

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.floor:
            check_positive(self.floor, "the floor under the variance")
        _check_delta(self.delta)
        if self.variance(CAP)[0] >= INTEGER_LIMIT:
            raise ParameterError("the resolution is too fine for so much noise: use a coarser one")
        self.grid.check_noise(self.largest_deviation)

    @classmethod
    def describe(cls, request: MechanismRequest) -> Description:
        """The rate of variances is asked for as lambda2, and in place of epsilon."""
        asked = request.given("lambda2", "floor", "delta")
        if "lambda2" not in asked or request.epsilon is not None:
            raise ParameterError("--variance-per-user needs --lambda2 (crowdveil plan sensing finds it)")
        if "delta" in asked and "floor" not in asked:
            raise ParameterError("--delta goes with --floor: without one the promise is told at epsilon = 1")
        parameters = {"rate": asked.pop("lambda2"), "range": list(cls.ends(request))}
        return Description(cls.name, parameters | request.given("resolution") | asked)

    @cached_property
    def grid(self) -> Grid:
        """The public grid that claims are rounded to."""
        return Grid.of(self.range, self.resolution)

    @cached_property
    def floor_in_steps(self) -> int:
        """The floor in squared steps, rounded up."""
        return ceil(Fraction(self.floor) / Fraction(self.grid.step) ** 2)

    @cached_property
    def _parts(self) -> int:
        """Variances are multiples of 1 / parts squared steps: the finest that the sampler takes."""
        per_step = self._mean_asked_for / STEPS_TO_MEAN
        parts = 1
        while 2 * parts * per_step <= 2**21 - 1 and 2 * parts * (ALWAYS + self.floor_in_steps) < 2**39:
            parts *= 2
        return parts

    @cached_property
    def _mean_asked_for(self) -> Fraction:
        return 1 / (Fraction(self.rate) * Fraction(self.grid.step) ** 2)

    @cached_property
    def _step(self) -> int:
        """A step of the variance in these parts, rounded up."""
        return ceil(self._mean_asked_for * self._parts / STEPS_TO_MEAN)

    @property
    def mean(self) -> Fraction:
        """The mean of the exponential law in squared steps of the grid, never below 1 / rate."""
        return Fraction(STEPS_TO_MEAN * self._step, self._parts)

    def variance(self, steps: int) -> tuple[int, int]:
        """The variance after that many steps, as a fraction num/den of squared steps of the grid."""
        return (ALWAYS + self.floor_in_steps) * self._parts + steps * self._step, self._parts

    @property
    def largest_deviation(self) -> float:
        """The standard deviation of the noise at the largest variance that can be drawn, in steps."""
        num, den = self.variance(CAP)
        return sqrt(num / den)

    @property
    def noise_variance(self) -> float:
        """The mean variance of a noisy claim around the rounded one; that of each user is not sent."""
        steps = expm1(-CAP / STEPS_TO_MEAN) / expm1(-1 / STEPS_TO_MEAN)
        return (ALWAYS + self.floor_in_steps + steps * self._step / self._parts) * self.grid.step**2

    @property
    def average_noise(self) -> float:
        """Mean absolute noise of a claim: sqrt(2/pi) E[standard deviation]."""
        extra = 0.5 * sqrt(pi / self.rate) * float(erfcx(sqrt(self.rate * self.floor)))
        return sqrt(2 / pi) * (sqrt(self.floor) + extra)

    @property
    def law(self) -> NoiseLaw:
        """What is publicly known about the noise."""
        return NoiseLaw(self.grid.low, self.grid.high, user_variance=self.noise_variance)

    def fill_noise(self, key: Words, nonces: Words, offsets: Ints, out: Ints) -> None:
        """Fill `out` with users' noise, in steps: for each a variance first, then noise of that variance."""
        least, parts = self.variance(0)
        law = least, self._step, parts, STEPS_TO_MEAN, CAP, 1
        device_noise.fill_gaussian(key, nonces, offsets, *law, out)

    def delta_at(self, epsilon: float, claims: int = 1) -> float:
        """A delta at `epsilon` for that many claims of a user together; proved for the law that is drawn."""
        return min(1.0, self._delta_on_paper(epsilon, self._shift(claims)) + _LOST)

    def epsilon_at(self, delta: float, claims: int = 1) -> float:
        """The epsilon at a small `delta`, which takes a floor."""
        if not self.floor:
            raise ParameterError("without a floor under the variance there is no epsilon for a small delta")
        _check_delta(delta)
        return _floored_epsilon(self, delta, self._shift(claims))

    def promise(self, unit: Unit | None = None, count: int = 1) -> Promise:
        """With a floor an epsilon at `delta`, else a large delta at epsilon = 1, or nothing."""
        unit = self._unit(unit, count)
        claims = count if unit == "user" else 1
        assumptions = (*ASSUMPTIONS, most_claims(count)) if unit == "user" else ASSUMPTIONS
        if self.floor:
            epsilon = self.epsilon_at(self.delta, claims)
            return Guarantee(epsilon, self.delta, unit, "replace-one", "local", assumptions)
        delta = max(LEAST_DELTA, self.delta_at(EPSILON, claims))
        if delta > MOST_DELTA:
            return NoGuarantee(
                f"the variance is so often too small for {so_many(claims)} that no delta below "
                f"{MOST_DELTA:g} is proved at epsilon = {EPSILON:g}."
            )
        return WeakGuarantee(EPSILON, delta, unit, "replace-one", "local", assumptions)

    def _shift(self, claims: int) -> float:
        """How far so many claims can move together, in steps (L2), rounded up."""
        check_whole(claims, "the number of claims")
        if claims > MOST_CLAIMS:
            raise ParameterError(f"a user has at most {MOST_CLAIMS} claims, not {claims}")
        return self.grid.steps * sqrt(claims) * (1.0 + slack(1.0))

    def _delta_on_paper(self, epsilon: float, shift: float) -> float:
        """The delta of the continuous law, with the variance revealed."""
        rate = up(1 / self.mean)
        if self.floor:
            return floored_variance_delta(rate, shift, self.floor_in_steps, epsilon)
        return shared_variance_delta(rate, shift, epsilon)


@cache
def _floored_epsilon(parameters: VariancePerUser, delta: float, shift: float) -> float:
    # More variance than the floor does not hurt; half of delta leaves room for what may be lost.
    most = zcdp_epsilon(gaussian_rho(sqrt(parameters.floor_in_steps) * (1.0 - slack(1.0)), shift), delta / 2)
    return smallest_epsilon(lambda at: parameters._delta_on_paper(at, shift) + _LOST, delta, most=most)


@dataclass(frozen=True)
class PaperBound:
    """What the paper's theorem claims about a user's claims, beside what is true of them.

    `claim_at_most` and `user_at_most` are proved deltas at that epsilon. None below `user_at_least` is true:
    the average of the user's noisy claims alone shows that much.
    """

    epsilon: float
    delta: float  # the paper's, however many claims a user makes
    noise_ratio: float  # c, the least that the theorem asks for
    rate: float  # lambda2 = lambda1 / c
    claims: int
    claim_at_most: float
    user_at_most: float
    user_at_least: float

    @property
    def refuted(self) -> bool:
        """Whether the paper's delta is false for a user."""
        return self.user_at_least > self.delta

    @property
    def verdict(self) -> str:
        """What is known of the paper's delta for a user."""
        if self.refuted:
            return "refuted"
        return "not proved" if self.user_at_most > self.delta else "true if claims are kept in a public range"

    def sentence(self) -> str:
        """Both in words."""
        return (
            f"Paper's claim, {self.verdict}: epsilon = {self.epsilon:g}, delta = {self.delta:g} at a noise "
            f"ratio of {self.noise_ratio:g}. What holds: delta = {rounded_up(self.claim_at_most)} for one "
            f"claim, and for a user of {so_many(self.claims)} a delta between {self.user_at_least:.6f} and "
            f"{rounded_up(self.user_at_most)}."
        )


def paper_bound(
    lambda1: float,
    epsilon: float,
    delta: float,
    *,
    b: float,
    eta: float,
    claims: int,
    width: float | None = None,
) -> PaperBound:
    """The paper's privacy theorem beside the truth, for users with so many claims in a range of that width.

    The theorem: (epsilon, delta) if c = lambda1 / lambda2 is at least
    gamma_s^2 / (2 lambda1 epsilon ln(1/(1 - delta))), gamma_s = b sqrt(2 ln(1/(1 - eta))). It takes
    gamma_s / lambda1 for the width, which is the default here.
    """
    for number, what in ((lambda1, "lambda1"), (epsilon, "epsilon"), (b, "b")):
        check_positive(number, what)
    check_delta(delta, least=0.0)
    if not 0 < eta < 1:
        raise ParameterError(f"eta must lie between 0 and 1, not {eta:g}")
    check_whole(claims, "the number of claims")
    gamma = b * sqrt(-2.0 * log1p(-eta))
    noise_ratio = gamma * gamma / (-2.0 * lambda1 * epsilon * log1p(-delta))
    rate = lambda1 / noise_ratio
    width = gamma / lambda1 if width is None else width
    check_positive(width, "the width")
    return PaperBound(
        epsilon=epsilon,
        delta=delta,
        noise_ratio=noise_ratio,
        rate=rate,
        claims=claims,
        claim_at_most=shared_variance_delta(rate, width, epsilon),
        user_at_most=shared_variance_delta(rate, width * sqrt(claims), epsilon),
        user_at_least=-expm1(min(0.0, (epsilon - width * sqrt(2.0 * rate * claims)) / 2)),
    )


def paper_delta(rate: float, width: float, epsilon: float) -> float:
    """What the paper's theorem makes of a rate, refuted for users: 1 - exp(-rate width^2 / (2 epsilon))."""
    return -expm1(-rate * width * width / (2 * epsilon))
