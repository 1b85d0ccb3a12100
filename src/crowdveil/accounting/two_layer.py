"""What randomized response costs at an epsilon that each user draws (the 2-Layer mechanism)."""

from __future__ import annotations

from math import ceil, expm1, log, log1p

import numpy as np

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.accounting.rounding import slack

_NODES = 32


def two_layer_epsilon(mean: float, answers: int, cells: int) -> float:
    """The epsilon for one cell of the 2-Layer mechanism: randomized response at an own epsilon of each user.

    Notation: K = `answers` possible answers, NULL included; the user's epsilon is uniform in [0, 2 mean] and
    shared over N = `cells`; k = e^eps/(K - 1 + e^eps), f = 1/(K - 1 + e^eps). log(E[k^N] / E[k^(N-1) f]): the
    ratio is the mean of e^eps under weights k^(N-1) f, the tilt to large eps being strongest when all other
    cells were kept. Tends to 2 mean; print that (docs of the mechanism). Reference: Sun et al. 2018.
    """
    check_positive(mean, "the mean epsilon")
    check_whole(answers, "the number of answers")
    check_whole(answers - 1, "the number of answers besides NULL")
    check_whole(cells, "the number of cells")
    others, most = float(answers - 1), 2 * mean
    # k' = k (1 - k) = (K - 1) k f, so that E[k^(N-1) f] is a difference of powers of k (of logarithms if N
    # is 1). Both integrals are divided by the N-th power of the largest k.
    log_k = -np.logaddexp(0.0, log(others) - most)
    gain = log1p(others * np.exp(log_k) * -expm1(-most))  # log k from one end to the other
    powers = gain if cells == 1 else -expm1(-(cells - 1) * gain) / (cells - 1)
    terms = (log(others), float(log_k), log(_kept(most, others, cells)), -log(powers))
    return min(most, sum(terms) + slack(64.0 + sum(map(abs, terms))))


def _kept(most: float, others: float, cells: int) -> float:
    """The integral of (k / largest k)^N, up to rounding or above it.

    With own epsilon `top` - y instead of eps it is one of (1 + q (e^y - 1))^-N, q = 1 - k(top), at most 1.
    Where eps is so large that this is nearly 1, it is taken for 1. What is left falls on the scale of 1 / N
    near y = 0 and of 1 elsewhere: there Gauss's formula on pieces of that size is exact but for rounding.
    """
    top = min(most, log(others) + log(cells) + 45.0)
    log_q = -np.logaddexp(0.0, top - log(others))
    count = ceil(top)
    shrinking = 2.0 ** -np.arange(cells.bit_length(), 0, -1)
    ends = top / count * np.concatenate([[0.0], shrinking, np.arange(1, count + 1)])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    halves = 0.5 * np.diff(ends)[:, None]
    y = ends[:-1, None] + halves * (nodes + 1)
    falls = np.exp(-cells * np.logaddexp(0.0, log_q + y + np.log(-np.expm1(-y))))
    return (most - top) + float((halves * weights * falls).sum())
