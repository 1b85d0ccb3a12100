"""What a guarantee means in numbers: how sure somebody can get who reads the release.

With pure epsilon, somebody who holds something for likely with probability p holds it for likely with at
most p / (p + (1 - p) e^-epsilon) after seeing the release. With a delta no such bound holds for every
outcome; then guesses between two equally likely cases are right with probability at most
(1 + delta e^-epsilon) / (1 + e^-epsilon) (Kairouz, Oh and Viswanath, 2015). n claims together have n epsilon
and delta (1 + e^epsilon + ... + e^((n-1) epsilon)) (group privacy).
"""

from __future__ import annotations

from math import exp, isfinite
from typing import Any

from crowdveil.guarantee import Guarantee

PRIORS = (0.5, 0.1, 0.01)
TOGETHER = (2, 5, 20)


def belief_after(prior: float, epsilon: float) -> float:
    """The most that somebody can believe afterwards, under pure epsilon."""
    return prior / (prior + (1 - prior) * exp(-epsilon))


def right_guesses(epsilon: float, delta: float) -> float:
    """The most often that a guess between two equally likely cases can be right."""
    return min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon)))


def together(promise: Guarantee, count: int) -> tuple[float, float, float]:
    """Epsilon and delta of several units together, and how often a guess about all of them can be right."""
    epsilon = count * promise.epsilon
    if promise.delta == 0:
        delta = 0.0
    elif epsilon > 700:
        delta = 1.0
    else:
        delta = min(1.0, promise.delta * sum(exp(i * promise.epsilon) for i in range(count)))
    return epsilon, delta, right_guesses(epsilon, delta)


def level(promise: Guarantee) -> str:
    """A rule of thumb: how sure somebody with even odds can get."""
    right = right_guesses(promise.epsilon, promise.delta)
    levels = [(0.75, "strong"), (0.95, "moderate"), (0.99, "weak")]
    return next((word for bound, word in levels if right <= bound), "hardly any")


def figures(promise: Guarantee) -> dict[str, Any]:
    """All of it, for machines."""
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
