"""The cost of randomized response with an epsilon that each user draws (the 2-Layer mechanism)."""

from __future__ import annotations

from math import ceil, expm1, log, log1p

import numpy as np

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.accounting.rounding import slack

_NODES = 32


def two_layer_epsilon(mean: float, answers: int, cells: int) -> float:
    """The epsilon of one cell under the 2-Layer mechanism: randomized response with each user's own epsilon.

    Notation: K = `answers` is the number of answers including NULL; the user's epsilon, eps, is uniform on
    [0, 2 mean] and shared by N = `cells` cells; k = e^eps/(K - 1 + e^eps) and f = 1/(K - 1 + e^eps).

    The result is log(E[k^N] / E[k^(N-1) f]). The ratio is the mean of e^eps under weights k^(N-1) f, which
    favour large eps most when all other cells were reported truthfully. It tends to 2 mean as N grows; that
    limit is the epsilon to state (see the mechanism's page). Reference: Sun et al., *Truth Inference on
    Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.
    """
    check_positive(mean, "the mean epsilon")
    check_whole(answers, "the number of answers")
    check_whole(answers - 1, "the number of answers besides NULL")
    check_whole(cells, "the number of cells")
    others, most = float(answers - 1), 2 * mean
    # The derivative of k is k (1 - k) = (K - 1) k f, so E[k^(N-1) f] is a difference of powers of k (of
    # logarithms if N is 1). Both integrals are divided by the N-th power of the largest k.
    log_k = -np.logaddexp(0.0, log(others) - most)
    gain = log1p(others * np.exp(log_k) * -expm1(-most))  # increase of log k over [0, 2 mean]
    powers = gain if cells == 1 else -expm1(-(cells - 1) * gain) / (cells - 1)
    terms = (log(others), float(log_k), log(_truthful_integral(most, others, cells)), -log(powers))
    return min(most, sum(terms) + slack(64.0 + sum(map(abs, terms))))


def _truthful_integral(most: float, others: float, cells: int) -> float:
    """The integral of (k / largest k)^N over eps in [0, most], exact up to rounding, or too large.

    With eps = top - y the integrand is (1 + q (e^y - 1))^-N, where q = 1 - k(top). For eps > top it is nearly
    1 and bounded by 1. The rest decreases on the scale 1 / N near y = 0 and on the scale 1 elsewhere:
    Gauss-Legendre quadrature on intervals of these lengths is exact up to rounding.
    """
    top = min(most, log(others) + log(cells) + 45.0)
    log_q = -np.logaddexp(0.0, top - log(others))
    pieces = ceil(top)
    shrinking = 2.0 ** -np.arange(cells.bit_length(), 0, -1)
    ends = top / pieces * np.concatenate([[0.0], shrinking, np.arange(1, pieces + 1)])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    halves = 0.5 * np.diff(ends)[:, None]
    y = ends[:-1, None] + halves * (nodes + 1)
    integrand = np.exp(-cells * np.logaddexp(0.0, log_q + y + np.log(-np.expm1(-y))))
    return (most - top) + float((halves * weights * integrand).sum())
