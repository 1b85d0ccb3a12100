"""What several mechanisms cost together when only their epsilons and deltas are known.

Different ones add up (`add`). The same one several times costs less, and what is least is known exactly
(`composed_epsilon`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, expm1, inf, log, log1p, nextafter, sqrt, tanh

import numpy as np
from scipy.special import gammaln

from crowdveil.accounting.parameters import check_delta, check_epsilon, check_whole
from crowdveil.accounting.rounding import TINY, slack, sum_up, up
from crowdveil.accounting.search import smallest_epsilon
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

_MOST_TIMES = 10**7


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
    delta = sum_up(guarantee.delta for guarantee in guarantees)
    if delta >= 1:
        raise ParameterError("the deltas add up to 1 or more: together these releases promise nothing")
    return replace(
        first,
        epsilon=sum_up(guarantee.epsilon for guarantee in guarantees),
        delta=delta,
        assumptions=tuple(dict.fromkeys(text for one in guarantees for text in one.assumptions)),
    )


def composed_delta(epsilon: float, delta: float, times: int, total_epsilon: float) -> float:
    """The exact delta at `total_epsilon` of `times` mechanisms, each (epsilon, delta), in the worst case.

    The worst mechanism fails with probability delta and is randomized response otherwise; l of T responses
    against the truth give a loss of (T - 2 l) epsilon. Reference: Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, theorem 3.3 and its proof.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    _check_times(times)
    check_epsilon(total_epsilon)
    fails = _any_fails(delta, times)
    # Losses beyond the total: l = 0, 1, ..., last. By how much the last one is beyond is taken exactly.
    last = ceil((times - Fraction(total_epsilon) / Fraction(epsilon)) / 2) - 1 if epsilon else -1
    if last < 0:
        return fails
    least = up((times - 2 * last) * Fraction(epsilon) - Fraction(total_epsilon))
    against = np.arange(last + 1, dtype=np.float64)
    log_mass = (
        gammaln(times + 1)
        - gammaln(against + 1)
        - gammaln(times - against + 1)
        - (times - against) * log1p(exp(-epsilon))
        - against * (epsilon + log1p(exp(-epsilon)))
    )
    log_mass += slack(1.0) * (4.0 * (1 + times + gammaln(times + 1)) + against * epsilon)
    terms = np.exp(log_mass) * -np.expm1(-least - 2 * epsilon * (last - against)) + TINY
    lost = min(1.0, float(terms.sum()) * (1.0 + slack(2.0)))
    return min(1.0, (fails + (1.0 - fails) * lost) * (1.0 + slack(2.0)))


def composed_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """The smallest epsilon of `times` mechanisms, each (epsilon, delta), at `total_delta`; infinite if none.

    Exact for the worst case: no other bound that knows only (epsilon, delta) is better. Reference: as
    `composed_delta`.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_delta(total_delta)
    _check_times(times)
    if _any_fails(delta, times) > total_delta:
        return inf
    most = up(Fraction(epsilon) * times)
    return smallest_epsilon(lambda at: composed_delta(epsilon, delta, times, at), total_delta, most=most)


def advanced_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """Advanced composition, for reference: valid, and never better than `composed_epsilon`.

    epsilon sqrt(2 T log(1/s)) + T epsilon (e^epsilon - 1)/(e^epsilon + 1) at delta T delta + s. Reference:
    Dwork, Rothblum, Vadhan 2010; in this form Kairouz, Oh, Viswanath 2015.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_delta(total_delta)
    check_whole(times, "the number of mechanisms")
    left = nextafter(float(Fraction(total_delta) - times * Fraction(delta)), 0.0)
    if left <= 0:
        return inf
    drift = times * epsilon * tanh(epsilon / 2)
    return (epsilon * sqrt(-2.0 * times * log(left)) + drift) * (1.0 + slack(8.0))


def _check_times(times: int) -> None:
    check_whole(times, "the number of mechanisms")
    if times > _MOST_TIMES:
        raise ParameterError(f"at most {_MOST_TIMES} mechanisms are composed, not {times}")


def _any_fails(delta: float, times: int) -> float:
    """1 - (1 - delta)^times."""
    if times == 1 or delta == 0:
        return delta
    return min(1.0, -expm1(times * log1p(-delta)) * (1.0 + slack(2.0)))
