"""What guarantees add up to: pure functions from the costs of mechanisms to the cost of all of them.

Every function errs on one side: an epsilon or delta that comes out is never below the true one. Sums of
probabilities are made of positive terms in log space, and what rounding could hide is added (`_slack`).

Notation: epsilon, delta as in `Guarantee`; delta(epsilon), the *hockey-stick divergence*, is the smallest
delta that goes with an epsilon; rho of zero-concentrated differential privacy (zCDP); sigma the standard
deviation and mu = sensitivity / sigma of Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp, expm1, floor, inf, isfinite, log, log1p, nextafter, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

_ROUNDING = 2.0**-50  # eight units in the last place of 1
_HALVINGS = 200
_LARGEST_SIGMA = 1e6
_SMALLEST_PLD_DELTA = 1e-10  # below, the errors of the Fourier transform could matter
_PLD_ERROR = 1e-12
_MOST_TERMS = 10_000


# --- adding up guarantees -----------------------------------------------------------------------------------


def add(*guarantees: Guarantee) -> Guarantee:
    """The guarantee of publishing all of it (basic composition): epsilons and deltas add up.

    All must protect the same unit under the same adjacency and trust; assumptions are united. Reference:
    Dwork, McSherry, Nissim, Smith 2006; Dwork and Roth 2014, theorem 3.16.
    """
    if not guarantees:
        raise ParameterError("there is no guarantee to add up")
    first = guarantees[0]
    for part in ("unit", "adjacency", "trust"):
        found = {getattr(guarantee, part) for guarantee in guarantees}
        if len(found) > 1:
            raise ParameterError(
                f"guarantees of different {part} ({', '.join(sorted(found))}) do not add up: "
                "bring them to the same one first"
            )
    delta = _sum_up(guarantee.delta for guarantee in guarantees)
    if delta >= 1:
        raise ParameterError("the deltas add up to 1 or more: together these releases promise nothing")
    return replace(
        first,
        epsilon=_sum_up(guarantee.epsilon for guarantee in guarantees),
        delta=delta,
        assumptions=tuple(dict.fromkeys(text for one in guarantees for text in one.assumptions)),
    )


def user_level(guarantee: Guarantee, cap: int) -> Guarantee:
    """What a guarantee for claims means for users of whom at most `cap` claims each are used (group privacy).

    Changing c claims costs c epsilon and delta (1 + e^epsilon + ... + e^((c - 1) epsilon)), however the
    mechanism uses them. Reference: Dwork and Roth 2014, theorem 2.2; Vadhan 2017, lemma 2.2.
    """
    _check_unit(guarantee, "claim")
    _check_whole(cap, "the cap on claims per user")
    epsilon, delta = _of_group(guarantee, cap)
    if delta >= 1:
        raise ParameterError(
            f"with up to {cap} claims a user the delta for users is 1 or more: nothing is promised to users; "
            "lower the cap, epsilon or delta"
        )
    return _for_users(guarantee, epsilon, delta, cap)


def user_level_by_parts(guarantee: Guarantee, cap: int, delta: float) -> Guarantee:
    """What a guarantee for claims means for users if each claim reaches only one part of the release.

    Assumed: the parts (one for each object, say) are made independently of each other, a user has at most one
    claim in a part and at most `cap` in all, and `guarantee` holds for each part. Then the parts that a user
    reaches compose like `cap` releases: `composed_epsilon`, at the total `delta` that is asked for.
    """
    _check_unit(guarantee, "claim")
    epsilon = composed_epsilon(guarantee.epsilon, guarantee.delta, cap, delta)
    if not isfinite(epsilon):
        raise ParameterError(
            f"{cap} claims a user, each with delta {guarantee.delta:g}, exceed the total delta {delta:g}"
        )
    return _for_users(guarantee, epsilon, delta, cap)


def claim_level(guarantee: Guarantee) -> Guarantee:
    """A guarantee for users, read for claims.

    Replacing a claim replaces a user's data: the same numbers. Under add-remove a claim appears when a user
    disappears and comes back with one more, which is two steps.
    """
    _check_unit(guarantee, "user")
    if guarantee.adjacency == "replace-one":
        return replace(guarantee, unit="claim")
    epsilon, delta = _of_group(guarantee, 2)
    if delta >= 1:
        raise ParameterError("the delta for claims is 1 or more: nothing is promised to claims")
    return replace(guarantee, unit="claim", epsilon=epsilon, delta=delta)


def claim_epsilon(user_epsilon: float, cap: int) -> float:
    """The pure epsilon for claims at which users with at most `cap` claims each have `user_epsilon`."""
    _check_epsilon(user_epsilon)
    _check_whole(cap, "the cap on claims per user")
    quotient = user_epsilon / cap
    return quotient if Fraction(quotient) * cap <= Fraction(user_epsilon) else nextafter(quotient, 0.0)


def _of_group(guarantee: Guarantee, size: int) -> tuple[float, float]:
    """Epsilon and delta of that many changes one after the other."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if delta:
        # In logarithms, so that e^(size epsilon) cannot overflow.
        steps = epsilon * np.arange(size, dtype=np.float64)
        delta = _exp_up(log(delta) + float(np.logaddexp.reduce(steps)), size * (1.0 + epsilon))
    return _up(Fraction(epsilon) * size), delta


def _for_users(guarantee: Guarantee, epsilon: float, delta: float, cap: int) -> Guarantee:
    kept = f"at most {cap} claims of each user were used, chosen without looking at values"
    assumptions = (*guarantee.assumptions, kept)
    return replace(guarantee, unit="user", epsilon=epsilon, delta=delta, assumptions=assumptions)


# --- the same mechanism several times -----------------------------------------------------------------------


def composed_delta(epsilon: float, delta: float, times: int, total_epsilon: float) -> float:
    """The exact delta at `total_epsilon` of `times` mechanisms, each (epsilon, delta), in the worst case.

    The worst mechanism fails with probability delta and is randomized response otherwise; l of T responses
    against the truth give a loss of (T - 2 l) epsilon. Reference: Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, theorem 3.3 and its proof.
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_whole(times, "the number of mechanisms")
    _check_epsilon(total_epsilon)
    fails = _any_fails(delta, times)
    against = np.arange(times + 1, dtype=np.float64)
    loss = (times - 2 * against) * epsilon
    log_mass = (
        gammaln(times + 1)
        - gammaln(against + 1)
        - gammaln(times - against + 1)
        - (times - against) * log1p(exp(-epsilon))
        - against * (epsilon + log1p(exp(-epsilon)))
    )
    beyond = loss > total_epsilon
    terms = np.exp(log_mass[beyond]) * -np.expm1(total_epsilon - loss[beyond])
    steps = 4.0 * float(gammaln(times + 1)) + times * (4.0 + epsilon)
    return min(1.0, fails + (1.0 - fails) * float(terms.sum()) * (1.0 + _slack(steps)))


def composed_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """The smallest epsilon of `times` mechanisms, each (epsilon, delta), at `total_delta`; infinite if none.

    Exact for the worst case: no other bound that knows only (epsilon, delta) is better. Reference: as
    `composed_delta`.
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_delta(total_delta)
    _check_whole(times, "the number of mechanisms")
    if _any_fails(delta, times) > total_delta:
        return inf
    most = _up(Fraction(epsilon) * times)
    return smallest_epsilon(lambda at: composed_delta(epsilon, delta, times, at), total_delta, most=most)


def advanced_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """Advanced composition, for reference: valid, and never better than `composed_epsilon`.

    epsilon sqrt(2 T log(1/s)) + T epsilon (e^epsilon - 1)/(e^epsilon + 1) at delta T delta + s. Reference:
    Dwork, Rothblum, Vadhan 2010; in this form Kairouz, Oh, Viswanath 2015.
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_delta(total_delta)
    _check_whole(times, "the number of mechanisms")
    slack = total_delta - times * delta
    if slack <= 0:
        return inf
    drift = times * epsilon * expm1(epsilon) / (exp(epsilon) + 1.0) if epsilon < 700 else times * epsilon
    return (epsilon * sqrt(2.0 * times * log(1.0 / slack)) + drift) * (1.0 + _slack(8.0))


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, *, most: float) -> float:
    """The smallest epsilon with delta_at(epsilon) <= delta, from above.

    `delta_at` falls in epsilon, and `most` is an epsilon that is known to be enough.
    """
    if most == 0 or delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if high - low <= _ROUNDING * high or not low < middle < high:
            break
        if delta_at(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


# --- Gaussian noise -----------------------------------------------------------------------------------------


def gaussian_rho(sigma: float, sensitivity: float) -> float:
    """The rho (zCDP) of Gaussian noise, continuous or discrete, on a vector of that L2 sensitivity.

    rho = sensitivity^2 / (2 sigma^2); rhos add up. Reference: Bun and Steinke 2016, proposition 1.6 and lemma
    2.3; Canonne, Kamath, Steinke 2020, theorem 14 (integer vectors).
    """
    _check_positive(sigma, "sigma")
    _check_positive(sensitivity, "the sensitivity")
    return _up(Fraction(sensitivity) ** 2 / (2 * Fraction(sigma) ** 2))


def add_rhos(rhos: Iterable[float]) -> float:
    """The rho of publishing all of it. Reference: Bun and Steinke 2016, lemma 2.3."""
    return _sum_up(rhos)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """A delta at `epsilon` for every mechanism that is rho-zCDP.

    The least over a > 1 of exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a; each a gives a valid delta.
    Reference: Canonne, Kamath, Steinke 2020, corollary 13.
    """
    _check_epsilon(rho, "rho")
    _check_epsilon(epsilon)
    if rho == 0:
        return 0.0
    # The logarithm is convex in a, its derivative (2a - 1) rho - epsilon + log(1 - 1/a).
    low, high = 1.0 + 1e-12, min((epsilon + 1.0) / (2.0 * rho) + 2.0, 1e12)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if (2 * middle - 1) * rho - epsilon + log1p(-1 / middle) < 0:
            low = middle
        else:
            high = middle
    a = high
    terms = ((a - 1) * a * rho, -(a - 1) * epsilon, -log(a - 1), a * log1p(-1 / a))
    return min(1.0, _exp_up(sum(terms), sum(map(abs, terms))))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """An epsilon at `delta` > 0 for every mechanism that is rho-zCDP. Reference: as `zcdp_delta`."""
    _check_epsilon(rho, "rho")
    _check_delta(delta, least=0.0)
    most = (rho + 2.0 * sqrt(rho * log(1.0 / delta))) * (1.0 + _slack(8.0))  # Bun and Steinke, prop. 1.3
    return smallest_epsilon(lambda at: zcdp_delta(rho, at), delta, most=most)


def gaussian_delta(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The exact delta of continuous Gaussian noise on a vector of that L2 sensitivity.

    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). T releases are one with sqrt(T) times the
    sensitivity. Reference: Balle and Wang, *Improving the Gaussian Mechanism*, 2018, theorem 8.
    """
    _check_positive(sigma, "sigma")
    _check_positive(sensitivity, "the sensitivity")
    _check_epsilon(epsilon)
    return float(_gaussian_deltas(np.array([sensitivity / sigma]), epsilon)[0])


def gaussian_epsilon(sigma: float, sensitivity: float, delta: float) -> float:
    """The smallest epsilon at `delta` > 0 of continuous Gaussian noise. Reference: as `gaussian_delta`."""
    _check_delta(delta, least=0.0)
    most = zcdp_epsilon(gaussian_rho(sigma, sensitivity), delta)
    return smallest_epsilon(lambda at: gaussian_delta(sigma, sensitivity, at), delta, most=most)


def _gaussian_deltas(mu: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    here = log_ndtr(mu / 2 - epsilon / mu)
    there = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    lost = _slack(1.0) * (4.0 + np.abs(here) + np.abs(there) + 2 * epsilon)
    deltas: NDArray[np.float64] = np.exp(here) * (-np.expm1(np.minimum(there - here, 0.0)) + lost)
    return np.clip(deltas, nextafter(0.0, 1.0), 1.0)


def discrete_gaussian_delta(sigma: float, sensitivity: int, epsilon: float) -> float:
    """The exact delta of discrete Gaussian noise on *one* whole number that can move by `sensitivity`.

    The sum over y of Pr[y] (1 - e^(epsilon - loss(y))) where loss(y) = (2 y s + s^2) / (2 sigma^2) > epsilon.
    For vectors use `gaussian_rho`. Reference: Canonne, Kamath, Steinke 2020, theorem 7.
    """
    _check_positive(sigma, "sigma")
    _check_whole(sensitivity, "the sensitivity")
    _check_epsilon(epsilon)
    if not 1e-2 <= sigma <= _LARGEST_SIGMA:
        raise ParameterError(f"sigma must lie between 0.01 and {_LARGEST_SIGMA:g}, not {sigma:g}")
    variance = sigma * sigma
    edge = epsilon * variance / sensitivity - sensitivity / 2
    if edge > 2.0**50:
        return 5e-324
    # Past `far` the masses add up to less than e^-60 of the largest one that counts, times 1 + 1.3 sigma.
    nearest = max(floor(edge), 0)
    far = ceil(sqrt(nearest**2 + 120.0 * variance)) + 1
    first, last = max(floor(edge), -far), far  # the term at the edge itself may be zero
    total = 0.0
    for start in range(first, last + 1, 1_000_000):
        y = np.arange(start, min(start + 1_000_000, last + 1), dtype=np.float64)
        loss = (2 * y * sensitivity + float(sensitivity) ** 2) / (2 * variance)
        gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
        total += float((np.exp((nearest**2 - y * y) / (2 * variance)) * gain).sum())
    total = total * (1.0 + _slack(16.0)) + exp(-60.0) * (sigma + 1.0) * 3.0
    log_largest = -(nearest**2) / (2 * variance) - log(_theta(sigma))
    return min(1.0, _exp_up(log_largest + log(total), 8.0 + 2 * abs(log_largest)))


def _theta(sigma: float) -> float:
    """The sum over all integers y of exp(-y^2 / 2 sigma^2), by itself or by Poisson's summation formula."""
    y = np.arange(1, 40)
    if sigma < 1:
        return 1.0 + 2.0 * float(np.exp(-(y**2) / (2 * sigma * sigma)).sum())
    return sqrt(2 * pi) * sigma * (1.0 + 2.0 * float(np.exp(-2 * (pi * y * sigma) ** 2).sum()))


# --- numeric composition ------------------------------------------------------------------------------------


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
        _check_positive(self.scale, "the scale")
        _check_positive(self.sensitivity, "the sensitivity")
        _check_whole(self.times, "times")
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
    _check_delta(delta)
    if not noises:
        raise ParameterError("there is no noise to add up")
    pure = _sum_up(_up(_pure(noise)) for noise in noises if not noise.gaussian)
    rho = _sum_up(
        noise.times * gaussian_rho(noise.scale, noise.sensitivity) for noise in noises if noise.gaussian
    )
    if delta == 0:
        return inf if rho else pure
    # Pure epsilon means zCDP with rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4), one by one.
    halves = [
        noise.times * float(_pure(noise) / noise.times) ** 2 / 2 for noise in noises if not noise.gaussian
    ]
    closed = [zcdp_epsilon(_sum_up([rho, *halves]) * (1.0 + _slack(8.0)), delta)]
    closed.append(_sum_up([pure, zcdp_epsilon(rho, delta)]) if rho else pure)
    if len(noises) == 1 and not rho and noises[0].times <= _MOST_TERMS:
        closed.append(composed_epsilon(_up(_pure(noises[0]) / noises[0].times), 0.0, noises[0].times, delta))
    if delta < _SMALLEST_PLD_DELTA:
        return min(closed)
    return min(_pld_epsilon(noises, delta - _PLD_ERROR), *closed)


def _pure(noise: Noise) -> Fraction:
    """The pure epsilon of Laplace noise."""
    return noise.times * Fraction(noise.sensitivity) / Fraction(noise.scale)


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
        parameter = _up(1 / Fraction(noise.scale)) if noise.kind == "discrete_laplace" else noise.scale
        one = make(parameter, sensitivity=sensitivity, value_discretization_interval=interval)
        several = one.self_compose(noise.times) if noise.times > 1 else one
        whole = several if whole is None else whole.compose(several)
    return max(0.0, float(whole.get_epsilon_for_delta(delta)))


# --- formulas of single mechanisms --------------------------------------------------------------------------


def fresh_variance_epsilon(rate: float, width: float) -> float:
    """The pure epsilon of Gaussian noise with a fresh Exp(rate) variance, on values in a range of that width.

    Such noise *is* Laplace noise of scale 1/sqrt(2 rate): width sqrt(2 rate).
    """
    _check_positive(rate, "the rate")
    _check_positive(width, "the width")
    return width * sqrt(2.0 * rate) * (1.0 + _slack(1.0))


def shared_variance_delta(rate: float, shift: float, epsilon: float) -> float:
    """The delta of Gaussian noise whose variance v ~ Exp(rate) is shared by all claims of a user.

    1 - exp(-(sqrt(epsilon^2 + 2 rate s^2) - epsilon)/2), s = `shift` the L2 distance that the claims can
    move: the width of the range for one claim, sqrt(N) widths for a user with N claims. Exact if v is
    revealed, the limit for many claims, an upper bound for every number of claims.
    """
    _check_positive(rate, "the rate")
    _check_positive(shift, "the shift")
    _check_epsilon(epsilon)
    square = 2.0 * rate * shift * shift
    return min(
        1.0, -expm1(-0.5 * square / (sqrt(epsilon * epsilon + square) + epsilon)) * (1.0 + _slack(4.0))
    )


def floored_variance_delta(rate: float, shift: float, smallest: float, epsilon: float) -> float:
    """The delta as `shared_variance_delta` has it, for a variance v = smallest + Exp(rate).

    The mean of `gaussian_delta` over v. It falls in v, so that a sum with v at the lower end of each of many
    small steps is an upper bound, high by less than one part in a thousand.
    """
    _check_positive(rate, "the rate")
    _check_positive(shift, "the shift")
    _check_positive(smallest, "the smallest variance")
    _check_epsilon(epsilon)
    extra = np.concatenate([[0.0], np.geomspace(1e-12, 60.0, 200_000)])  # in units of 1 / rate
    mass = -np.exp(-extra) * np.expm1(-np.diff(extra, append=inf))
    deltas = _gaussian_deltas(shift / np.sqrt(smallest + extra / rate), epsilon)
    return min(1.0, float((mass * deltas).sum()) * (1.0 + _slack(64.0)))


def two_layer_epsilon(mean: float, answers: int, cells: int) -> float:
    """The epsilon for one cell of the 2-Layer mechanism: randomized response at an own epsilon of each user.

    Notation: K = `answers` possible answers, NULL included; the user's epsilon is uniform in [0, 2 mean] and
    shared over N = `cells`; k = e^eps/(K - 1 + e^eps), f = 1/(K - 1 + e^eps). log(E[k^N] / E[k^(N-1) f]): the
    ratio is the mean of e^eps under weights k^(N-1) f, the tilt to large eps being strongest when all other
    cells were kept. Tends to 2 mean; print that (docs of the mechanism). Reference: Sun et al. 2018.
    """
    _check_positive(mean, "the mean epsilon")
    _check_whole(answers - 1, "the number of answers besides NULL")
    _check_whole(cells, "the number of cells")
    nodes, weights = np.polynomial.legendre.leggauss(64)
    # Pieces that halve towards the upper end, where many cells put all the weight.
    ends = 2 * mean * np.concatenate([1.0 - 2.0 ** -np.arange(40), [1.0]])
    halves = 0.5 * np.diff(ends)[:, None]
    own = (ends[:-1, None] + halves * (nodes + 1)).ravel()
    each = np.log(halves * weights).ravel()
    log_sum = np.logaddexp(log(answers - 1), own)
    kept = np.logaddexp.reduce(each + cells * (own - log_sum))
    other = np.logaddexp.reduce(each + (cells - 1) * (own - log_sum) - log_sum)
    return min(2 * mean, float(kept - other) + _slack(4096.0 + cells))


# --- numbers ------------------------------------------------------------------------------------------------


def _slack(steps: float) -> float:
    """A relative error above what `steps` roundings of numbers around 1 can add up to."""
    return _ROUNDING * (1.0 + steps)


def _exp_up(exponent: float, steps: float) -> float:
    """exp(exponent), not rounded down; `steps` is the size of the terms that the exponent was made of."""
    if exponent > 700:
        return inf
    return max(nextafter(0.0, 1.0), exp(exponent) * (1.0 + _slack(steps + abs(exponent))))


def _up(exact: Fraction) -> float:
    """The nearest float that is not below."""
    near = float(exact)
    return near if Fraction(near) >= exact else nextafter(near, inf)


def _sum_up(numbers: Iterable[float]) -> float:
    return _up(sum((Fraction(number) for number in numbers), Fraction(0)))


def _any_fails(delta: float, times: int) -> float:
    """1 - (1 - delta)^times."""
    if times == 1 or delta == 0:
        return delta
    return -expm1(times * log1p(-delta)) * (1.0 + _slack(2.0))


def _check_unit(guarantee: Guarantee, unit: str) -> None:
    if guarantee.unit != unit:
        raise ParameterError(f"this guarantee protects a {guarantee.unit}, not a {unit}")


def _check_epsilon(number: float, what: str = "epsilon") -> None:
    if not (isfinite(number) and number >= 0):
        raise ParameterError(f"{what} must be a number of at least 0, not {number}")


def _check_delta(delta: float, *, least: float | None = None) -> None:
    if not 0 <= delta < 1 or delta == least:
        raise ParameterError(f"delta must be in {'[' if least is None else '('}0, 1), not {delta}")


def _check_positive(number: float, what: str) -> None:
    if not (isfinite(number) and number > 0):
        raise ParameterError(f"{what} must be a number above 0, not {number}")


def _check_whole(number: int, what: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ParameterError(f"{what} must be a whole number of at least 1, not {number}")
