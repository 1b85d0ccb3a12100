"""How many levels answers are best rounded to before randomized response, from public numbers alone."""

from __future__ import annotations

import math

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError

WEAK = 0.5  # epsilon below which two levels say most
WEAK_WHEN_SPARSE = 1.0  # the same where few answer
SPARSE = 0.8


def recommended_levels(epsilon: float, domain: Domain, sparsity: float) -> int:
    """The number of levels for `CellResponse`: 2 is three symbols, the domain's size is randomized response.

    More levels tell more about an answer that comes through, but fewer come through: a symbol is sent
    unchanged with chance e^epsilon / (e^epsilon + levels). So: two levels where epsilon is small, as many as
    half of e^epsilon where it is large, and the root of the domain's size between.

    Measured with `truth.randomized`: mean absolute error less that of inverse deviation on the original
    answers; domain 0..9, 2,000 users, 200 objects, a tenth of the cells answered, means over 3 to 5 seeds,
    truths from N(0, 1) | truths all over the domain:

        epsilon   2 levels       4              10             takes
        0.5       0.04 | 1.87    0.07 | 1.95    0.10 | 2.12     2
        1         0.05 | 1.18   -0.02 | 1.24   -0.03 | 1.80     4
        2        -0.03 | 0.47   -0.19 | 0.24   -0.17 | 0.52     4
        3        -0.11 | 0.24   -0.27 | 0.00   -0.29 | 0.00    10
        5        -0.23 | 0.11   -0.33 | -0.11  -0.36 | -0.14   10

    Where half of the cells are answered, at epsilon 0.5, 2 and 4 levels give 0.00 | 0.59 and -0.14 | 0.48: so
    two levels last longer (to epsilon 1) where few answer, the only use of the sparsity. On web_relevance
    (0..4, epsilon 1) 2, 3, 4 and 5 levels give 0.67, 0.62, 0.65 and 0.66.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")
    if not 0 <= sparsity <= 1:
        raise ParameterError(f"sparsity is a share of cells, between 0 and 1, not {sparsity}")
    if epsilon < (WEAK_WHEN_SPARSE if sparsity > SPARSE else WEAK):
        return 2
    most = math.floor(math.exp(min(epsilon, 20.0)) / 2)
    return min(domain.size, max(math.ceil(math.sqrt(domain.size)), most))
