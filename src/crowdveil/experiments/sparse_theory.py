"""The sparse paper's bounds on the error of inferred truths, and corrected ones.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018,
theorems 2 (LP), 3 (RR) and 5 (MF).
Notation: m users, n objects; mu_j the truth of object j; sigma_i, s_i and q_i a user's standard deviation,
share of objects answered about, and weight (weights sum to 1); Gamma the domain; d the rank of MF.

All three bounds assume given weights. Inference estimates them from the same reports, which no theorem
covers. Other errors, all confirmed by simulation:
- LP: the bound uses the distance of mu from the *mean* replacement of NULL in place of the mean distance, and
  it ignores the clipping of answers: no crowd can reach a truth outside the domain.
- RR: the bound counts reports of NULL as reports of 0, but inference omits them. So it bounds a mean that
  includes zeros, and the paper's own example refutes it: it gives 3.551, while inference has an error of
  4.43. The density N(x; mu, sigma) is summed over Gamma as if the sum were 1: for mu at an end of Gamma it is
  about a half (0.70 at sigma = 1).
- MF: the first term lacks sigma. The distance of truths from the span of d random profiles is also missing;
  it is most of the error if truths differ. The noise term holds for users who answer about everything under
  profiles with a single 1. With dense profiles it is several times larger, and it grows as 1/s: the effect of
  a user's noise does depend on sparsity, and only averaging over many users reduces it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, pi, sqrt

import numpy as np

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.answer_law import answer_law
from crowdveil.answers import Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError

HALF_NORMAL = sqrt(2.0 / pi)  # the mean distance of a standard normal from 0


@dataclass(frozen=True, eq=False)
class Crowd:
    """Users and objects of the theorems; weights are equal by default."""

    domain: Domain
    truths: Floats  # (n,)
    sigmas: Floats  # (m,)
    shares: Floats  # (m,)
    weights: Floats | None = None  # (m,)

    def __post_init__(self) -> None:
        sizes = {self.sigmas.shape, self.shares.shape, self.normal_weights().shape}
        if len(sizes) != 1 or not self.sigmas.size or not self.truths.size:
            raise ParameterError("a crowd has truths, and a sigma, a share and a weight for each user")
        if not (self.sigmas.min() > 0 and self.shares.min() >= 0 and self.shares.max() <= 1):
            raise ParameterError("users' sigmas must be above 0 and their shares in [0, 1]")

    def normal_weights(self) -> Floats:
        """The weights q, which sum to 1."""
        weights = np.ones(self.sigmas.size) if self.weights is None else self.weights
        if not (weights.size and weights.min() >= 0 and weights.sum() > 0):
            raise ParameterError("users' weights must be at least 0, and some above")
        normal: Floats = weights / weights.sum()
        return normal

    def kinds(self) -> Iterator[Kind]:
        """Groups of users with the same sigma and share, so that sums over users have few terms."""
        weights = self.normal_weights()
        pairs, kind_of = np.unique(np.column_stack([self.sigmas, self.shares]), axis=0, return_inverse=True)
        for kind, (sigma, share) in enumerate(pairs.tolist()):
            own = weights[kind_of.ravel() == kind]
            yield Kind(sigma, share, float(own.sum()), float(np.square(own).sum()))


@dataclass(frozen=True)
class Kind:
    """Users with equal sigma and share: the sums of their weights and of their squared weights."""

    sigma: float
    share: float
    weight: float
    square: float


def _check(epsilon: float) -> None:
    check_positive(epsilon, "epsilon")


# --- LP -----------------------------------------------------------------------------------------------------


def paper_laplace_bound(crowd: Crowd, epsilon: float, *, fill: float | None = None) -> float:
    """Theorem 2 as printed: the mean over objects of sum_i q_i e_ij.

    Notation: e_ij = (1 - s_i)(phi_j + |Gamma|/eps) + s_i (sigma_i sqrt(2/pi) + |Gamma|/eps), phi_j the
    distance between mu_j and the mean replacement of NULL: `fill`, or by default uniform on Gamma.
    """
    _check(epsilon)
    middle = 0.5 * (crowd.domain.low + crowd.domain.high) if fill is None else fill
    phi, noise = np.abs(crowd.truths - middle), crowd.domain.size / epsilon
    bound = sum(
        kind.weight * ((1 - kind.share) * phi + kind.share * kind.sigma * HALF_NORMAL)
        for kind in crowd.kinds()
    )
    return float(np.mean(bound)) + noise


def laplace_bound(crowd: Crowd, epsilon: float, *, fill: float | None = None) -> float:
    """The corrected bound: sum_i q_i E|report - mu_j|, with the distribution of clipped answers.

    For an answer at distance u from the truth, Laplace noise of scale b gives a mean distance of
    |u| + b e^(-|u|/b).
    """
    _check(epsilon)
    scale = crowd.domain.size / epsilon
    fills, fill_chances = _replacements(crowd.domain, fill)
    total = np.zeros(crowd.truths.size)
    for kind in crowd.kinds():
        law = answer_law(crowd.truths, kind.sigma, crowd.domain)
        for chances, values, share in (
            (law, crowd.domain.values(), kind.share),
            (np.broadcast_to(fill_chances, (crowd.truths.size, fill_chances.size)), fills, 1 - kind.share),
        ):
            distances = np.abs(values - crowd.truths[:, None])
            total += (
                kind.weight
                * share
                * np.sum(chances * (distances + scale * np.exp(-distances / scale)), axis=1)
            )
    return float(total.mean())


def laplace_error(crowd: Crowd, epsilon: float, *, fill: float | None = None) -> float:
    """The root mean squared error of the weighted mean of LP's reports, averaged over objects.

    Unlike the bounds, it decreases with the number of users, down to the bias. E|error| is at most this.
    """
    _check(epsilon)
    noise = 2.0 * (crowd.domain.size / epsilon) ** 2
    fills, fill_chances = _replacements(crowd.domain, fill)
    values = crowd.domain.values()
    mean, variance = np.zeros(crowd.truths.size), np.zeros(crowd.truths.size)
    for kind in crowd.kinds():
        law = answer_law(crowd.truths, kind.sigma, crowd.domain)
        first = kind.share * law @ values + (1 - kind.share) * float(fill_chances @ fills)
        second = kind.share * law @ np.square(values) + (1 - kind.share) * float(
            fill_chances @ np.square(fills)
        )
        mean += kind.weight * first
        variance += kind.square * (second - np.square(first) + noise)
    return float(np.mean(np.sqrt(np.square(mean - crowd.truths) + variance)))


def _replacements(domain: Domain, fill: float | None) -> tuple[Floats, Floats]:
    """The possible replacements of NULL, and their probabilities."""
    if fill is not None:
        return np.array([fill]), np.ones(1)
    return domain.values(), np.full(domain.size, 1.0 / domain.size)


# --- RR -----------------------------------------------------------------------------------------------------


def paper_response_bound(crowd: Crowd, epsilon: float) -> float:
    """Theorem 3 as printed (refuted): the mean over objects of sum_i q_i e_ij.

    Notation: e_ij = (1 - s_i) |mu_j - sum_y y f| + s_i sum_x N(x; mu_j, sigma_i) |mu_j - sum_y y P_xy|, x and
    y in Gamma, P_xy the probability that x is reported as y, f = 1/(e^eps + |Gamma|) that of another symbol.
    """
    _check(epsilon)
    values, truths = crowd.domain.values(), crowd.truths[:, None]
    keep, other = _chances(crowd.domain, epsilon)
    of_null = np.abs(crowd.truths - other * values.sum())
    of_answers = np.abs(truths - other * values.sum() - (keep - other) * values)
    total = np.zeros(crowd.truths.size)
    for kind in crowd.kinds():
        density = np.exp(-0.5 * np.square((values - truths) / kind.sigma)) / (sqrt(2 * pi) * kind.sigma)
        of_users = kind.share * np.sum(density * of_answers, axis=1)
        total += kind.weight * ((1 - kind.share) * of_null + of_users)
    return float(total.mean())


def response_bound(crowd: Crowd, epsilon: float) -> float:
    """The corrected bound: sum_i q_i r_i E[|y - mu_j| given that y is not NULL] over sum_i q_i r_i.

    Notation: r_i the probability that a report is not NULL. A user's part in the mean is random, as NULLs
    are. This is exact for equal weights and shares, and otherwise off by about one part in m.
    """
    _check(epsilon)
    distances = np.abs(crowd.domain.values() - crowd.truths[:, None])
    total, reported = np.zeros(crowd.truths.size), 0.0
    for kind, law in _reported(crowd, epsilon):
        total += kind.weight * np.sum(law * distances, axis=1)
        reported += kind.weight * float(law[0].sum())
    return float(total.mean() / reported)


def response_error(crowd: Crowd, epsilon: float) -> float:
    """The root mean squared error of the weighted mean of RR's raw reports, averaged over objects.

    Bias and variance of this ratio are by the delta method, for many users. E|error| is at most this.
    """
    _check(epsilon)
    values = crowd.domain.values()
    kinds = list(_reported(crowd, epsilon))
    reported = sum(kind.weight * float(law[0].sum()) for kind, law in kinds)
    mean = np.sum([kind.weight * (law @ values) for kind, law in kinds], axis=0) / reported
    deviations, variance = values - mean[:, None], np.zeros(mean.size)
    for kind, law in kinds:
        first, second = np.sum(law * deviations, axis=1), np.sum(law * np.square(deviations), axis=1)
        variance += kind.square * (second - np.square(first))
    return float(np.mean(np.sqrt(np.square(mean - crowd.truths) + variance / reported**2)))


def _chances(domain: Domain, epsilon: float) -> tuple[float, float]:
    """The probabilities of keeping a symbol, and of reporting each other symbol."""
    other = exp(-epsilon) / (1.0 + domain.size * exp(-epsilon))
    return 1.0 - domain.size * other, other


def _reported(crowd: Crowd, epsilon: float) -> Iterator[tuple[Kind, Floats]]:
    """For each kind of users (n, |Gamma|) the probabilities of reported values; the rest to 1 is NULL."""
    keep, other = _chances(crowd.domain, epsilon)
    for kind in crowd.kinds():
        law = answer_law(crowd.truths, kind.sigma, crowd.domain)
        yield kind, other + kind.share * (keep - other) * law


# --- MF -----------------------------------------------------------------------------------------------------


def paper_factorization_bound(
    domain: Domain, objects: int, rank: int, epsilon: float, *, largest_weight: float = 1.0
) -> float:
    """Theorem 5 as printed (refuted): q m (sqrt(2/pi) + d |Gamma| / (n eps)).

    Notation: q m = `largest_weight`, the largest weight over the mean weight, at least 1.
    """
    _check(epsilon)
    check_whole(objects, "the number of objects")
    check_whole(rank, "the rank")
    if not largest_weight >= 1:
        raise ParameterError("the largest weight over the mean one is at least 1")
    return largest_weight * (HALF_NORMAL + rank * domain.size / (objects * epsilon))


def factorization_error(crowd: Crowd, profiles: Floats, epsilon: float) -> float:
    """The root mean squared error of the weighted mean of MF's predictions, averaged over objects.

    Notation: V `profiles` (d, n), G = V V'. A user's vector is (V_T V_T')^-1 (V_T a - eta), where T are the
    objects answered about, close to a share s of all; n s must be well above d. So the mean prediction is the
    projection of the mean answers onto the rows of V, whatever the crowd. Errors, the choice of T and the
    noise add a variance, which averaging over users reduces.
    """
    _check(epsilon)
    if profiles.ndim != 2 or profiles.shape[1] != crowd.truths.size:
        raise ParameterError("profiles have a column for each object")
    if crowd.shares.min() * crowd.truths.size <= profiles.shape[0]:
        raise ParameterError("a user who answers about no more objects than the rank has no solution")
    lever = np.linalg.solve(profiles @ profiles.T, profiles)  # (d, n): G^-1 V
    values, noise = crowd.domain.values(), 2.0 * (crowd.domain.size / epsilon) ** 2
    mean, variance = np.zeros(crowd.truths.size), np.zeros(crowd.truths.size)
    for kind in crowd.kinds():
        law = answer_law(crowd.truths, kind.sigma, crowd.domain)
        answers = law @ values
        spread = law @ np.square(values) - np.square(answers)
        predicted = profiles.T @ (lever @ answers)
        chosen = spread + (1 - kind.share) * np.square(answers - predicted)
        of_answers = np.square(profiles.T @ lever) @ chosen / kind.share
        of_noise = noise * np.sum(np.square(lever), axis=0) / kind.share**2
        mean += kind.weight * predicted
        variance += kind.square * (of_answers + of_noise)
    return float(np.mean(np.sqrt(np.square(mean - crowd.truths) + variance)))
