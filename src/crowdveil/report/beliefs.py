"""A guarantee in numbers: bounds on the beliefs and guesses of a reader of the release.

Under pure epsilon, a prior belief p becomes a posterior belief of at most p / (p + (1 - p) e^-epsilon). With
a delta no such bound holds for every outcome; then a guess between two equally likely cases is right with
probability at most (1 + delta e^-epsilon) / (1 + e^-epsilon) (Kairouz, Oh, Viswanath, *The Composition
Theorem for Differential Privacy*, ICML 2015). n claims together have n epsilon and
delta (1 + e^epsilon + ... + e^((n-1) epsilon)) (group privacy).
"""

from __future__ import annotations

from math import exp, isfinite
from typing import Any

from crowdveil.guarantee import Guarantee

PRIORS = (0.5, 0.1, 0.01)
TOGETHER = (2, 5, 20)


def belief_after(prior: float, epsilon: float) -> float:
    """The largest posterior belief of a reader with this prior belief, under pure epsilon."""
    return prior / (prior + (1 - prior) * exp(-epsilon))


def right_guesses(epsilon: float, delta: float) -> float:
    """The largest probability that a guess between two equally likely cases is right."""
    return min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon)))


def together(promise: Guarantee, count: int) -> tuple[float, float, float]:
    """Epsilon and delta of `count` units together, and the bound on guesses about all of them."""
    epsilon = count * promise.epsilon
    if promise.delta == 0:
        delta = 0.0
    elif epsilon > 700:
        delta = 1.0
    else:
        delta = min(1.0, promise.delta * sum(exp(i * promise.epsilon) for i in range(count)))
    return epsilon, delta, right_guesses(epsilon, delta)


def level(promise: Guarantee) -> str:
    """The strength of a guarantee in words, by the bound on guesses between two equal cases."""
    right = right_guesses(promise.epsilon, promise.delta)
    levels = [(0.75, "strong"), (0.95, "moderate"), (0.99, "weak")]
    return next((word for bound, word in levels if right <= bound), "hardly any")


def figures(promise: Guarantee) -> dict[str, Any]:
    """All bounds of a guarantee, as plain JSON data."""
    several = [] if promise.unit == "user" else [(count, *together(promise, count)) for count in TOGETHER]
    return {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "unit": promise.unit,
        "adjacency": promise.adjacency,
        "trust": promise.trust,
        "level": level(promise),
        "factor": exp(promise.epsilon) if promise.epsilon < 700 else None,
        "guess_right_at_most": right_guesses(promise.epsilon, promise.delta),
        "examples": [
            {"before": prior, "after_at_most": belief_after(prior, promise.epsilon)}
            for prior in (() if promise.delta else PRIORS)
        ],
        "together": [
            {
                "count": count,
                "epsilon": epsilon if isfinite(epsilon) else None,
                "delta": delta,
                "guess_right_at_most": right,
            }
            for count, epsilon, delta, right in several
        ],
    }
