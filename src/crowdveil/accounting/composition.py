"""Composition of mechanisms of which only epsilon and delta are known.

The costs of different mechanisms add up (`add`). The same guarantee several times costs less, and the
optimal bound is known exactly (`composed_epsilon`).
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
    """The guarantee of several releases together (basic composition): epsilons and deltas add up.

    All must protect the same unit under the same adjacency and trust; the result has the assumptions of all.
    Reference: Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014, theorem 3.16,
    doi:10.1561/0400000042.
    """
    if not guarantees:
        raise ParameterError("there is no guarantee to add up")
    first = guarantees[0]
    for part in ("unit", "adjacency", "trust"):
        values = {getattr(guarantee, part) for guarantee in guarantees}
        if len(values) > 1:
            raise ParameterError(
                f"guarantees of different {part} ({', '.join(sorted(values))}) do not add up: "
                "bring them to the same one first"
            )
    delta = sum_up(guarantee.delta for guarantee in guarantees)
    if delta >= 1:
        raise ParameterError("the deltas add up to 1 or more: together these releases promise nothing")
    return replace(
        first,
        epsilon=sum_up(guarantee.epsilon for guarantee in guarantees),
        delta=delta,
        assumptions=tuple(dict.fromkeys(text for guarantee in guarantees for text in guarantee.assumptions)),
    )


def composed_delta(epsilon: float, delta: float, times: int, total_epsilon: float) -> float:
    """The delta at `total_epsilon` of `times` mechanisms, each (epsilon, delta); exact in the worst case.

    The worst mechanism fails with probability delta and is binary randomized response otherwise. If l of
    T = `times` responses are false, the privacy loss is (T - 2 l) epsilon. Reference: Kairouz, Oh and
    Viswanath, *The Composition Theorem for Differential Privacy*, ICML 2015, theorem 3.3 and its proof.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    _check_times(times)
    check_epsilon(total_epsilon)
    failure = _any_fails(delta, times)
    # Losses above total_epsilon: l = 0, 1, ..., last. The excess of the last one is computed exactly.
    last = ceil((times - Fraction(total_epsilon) / Fraction(epsilon)) / 2) - 1 if epsilon else -1
    if last < 0:
        return failure
    smallest_excess = up((times - 2 * last) * Fraction(epsilon) - Fraction(total_epsilon))
    false_responses = np.arange(last + 1, dtype=np.float64)
    log_mass = (
        gammaln(times + 1)
        - gammaln(false_responses + 1)
        - gammaln(times - false_responses + 1)
        - (times - false_responses) * log1p(exp(-epsilon))
        - false_responses * (epsilon + log1p(exp(-epsilon)))
    )
    log_mass += slack(1.0) * (4.0 * (1 + times + gammaln(times + 1)) + false_responses * epsilon)
    terms = np.exp(log_mass) * -np.expm1(-smallest_excess - 2 * epsilon * (last - false_responses)) + TINY
    response_delta = min(1.0, float(terms.sum()) * (1.0 + slack(2.0)))
    return min(1.0, (failure + (1.0 - failure) * response_delta) * (1.0 + slack(2.0)))


def composed_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """The smallest epsilon of `times` mechanisms, each (epsilon, delta), at `total_delta`; infinite if none.

    Optimal: no bound that uses only (epsilon, delta) is smaller. Reference: as for `composed_delta`.
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
    """The epsilon of advanced composition, for comparison: valid, and never below `composed_epsilon`.

    It is epsilon sqrt(2 T log(1/s)) + T epsilon (e^epsilon - 1)/(e^epsilon + 1), where `total_delta` is
    T delta + s. Reference: Dwork, Rothblum and Vadhan, *Boosting and Differential Privacy*, 2010,
    doi:10.1109/FOCS.2010.12; in this form Kairouz, Oh and Viswanath 2015.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_delta(total_delta)
    check_whole(times, "the number of mechanisms")
    slack_delta = nextafter(float(Fraction(total_delta) - times * Fraction(delta)), 0.0)
    if slack_delta <= 0:
        return inf
    drift = times * epsilon * tanh(epsilon / 2)
    return (epsilon * sqrt(-2.0 * times * log(slack_delta)) + drift) * (1.0 + slack(8.0))


def _check_times(times: int) -> None:
    check_whole(times, "the number of mechanisms")
    if times > _MOST_TIMES:
        raise ParameterError(f"at most {_MOST_TIMES} mechanisms are composed, not {times}")


def _any_fails(delta: float, times: int) -> float:
    """1 - (1 - delta)^times."""
    if times == 1 or delta == 0:
        return delta
    return min(1.0, -expm1(times * log1p(-delta)) * (1.0 + slack(2.0)))
