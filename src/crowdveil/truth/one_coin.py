"""Truth discovery for labels: majority vote, CRH's weighted vote, or the one-coin model.

- `majority`: every user has the same weight.
- `weighted`: CRH with 0/1 losses (Li et al. 2014, doi:10.1145/2588555.2610509); a user's weight is -log of
  their share of the total loss. A loss is the mean over a user's claims and one pseudo-claim at the mean loss
  of all users, so that one lucky claim does not dominate.
- `one_coin`: each user is right with their own probability and otherwise picks another label uniformly. It is
  the one-coin form of Dawid and Skene, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM
  Algorithm*, 1979, doi:10.2307/2346806, fitted by EM. The default.

The probability of a label is always its posterior under the one-coin model. It is calibrated as far as users
err independently of each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.kernels import votes
from crowdveil.labels import Labels
from crowdveil.truth.crh import by_share
from crowdveil.truth.sweeps import Weigh, judged_claims
from crowdveil.truths import Voted

TOLERANCE = 1e-6  # mean change of the posteriors
CAP = 100
PSEUDO_CLAIMS = 2.0  # added to each user's claims, at the error rate of all users


def majority(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The label that most users claimed; the first of several."""
    return _hard(labels, None, "majority", engine=engine)


def weighted(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The label with the largest total weight of users, with weights by CRH."""

    def weigh(losses: Floats, counts: Ints) -> Floats:
        mean_loss = losses.sum() / max(1, counts.sum())
        return by_share((losses + mean_loss) / (counts + 1))

    return _hard(labels, weigh, "crh", engine=engine)


def one_coin(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The most probable label of each object if each user is right with their own probability.

    >>> from crowdveil import Labels
    >>> labels = Labels.from_columns(["a", "a", "a", "b", "b"], [1, 2, 3, 1, 2], ["x", "x", "y", "y", "y"])
    >>> one_coin(labels).estimates.to_list()
    ['x', 'y']
    """
    return _coins(labels, engine or LocalEngine())


def _hard(
    labels: Labels,
    weigh: Weigh | None,
    method: str,
    *,
    engine: LocalEngine | None,
) -> Voted:
    """Alternate votes and weights until no label changes; without `weigh`, vote once with equal weights."""
    engine, claims = engine or LocalEngine(), labels.claims
    judged = _judged(labels, engine)
    weights = np.ones(len(claims.users))
    winners = np.full(len(claims.objects), -1, dtype=np.int32)
    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before = winners.copy()

        def add(first: int, last: int, totals: NDArray[np.int64], weights: Floats = weights) -> None:
            votes.add_disagreements(
                *(claims.offsets, claims.user_codes, claims.values, weights, first, last),
                winners,
                totals,
            )

        losses = engine.sum("votes", claims, weights.size, add, operations=float(len(claims)))
        converged = weigh is None or np.array_equal(winners, before)
        if weigh is not None and not converged:
            weights = _for_all(weigh, losses.astype(np.float64), judged)
    posterior = _coins(labels, engine)
    chances = _chances(labels, posterior.weights, winners, engine)
    return _voted(labels, winners, chances, weights, method, sweeps, converged)


def _coins(labels: Labels, engine: LocalEngine) -> Voted:
    """The one-coin model, fitted by EM from equal weights."""
    claims, choices = labels.claims, len(labels.choices)
    counts = _judged(labels, engine)
    others = max(1, choices - 1)
    unit = 2.0 ** (62 - int(np.ceil(np.log2(max(2, int(counts.max(initial=1)))))))
    likeliest = np.empty(len(claims.objects), dtype=np.int32)
    chances, before = np.full(likeliest.size, np.nan), np.empty(likeliest.size)
    weights = np.ones(len(claims.users))

    def weigh(losses: Floats, counts: Ints) -> Floats:
        error_rate = (losses.sum() + 1.0) / (counts.sum() + 2.0)
        wrong = (losses + PSEUDO_CLAIMS * error_rate) / (counts + PSEUDO_CLAIMS)
        odds: Floats = np.log((1.0 - wrong) * others / wrong)
        return odds

    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before[:] = chances

        def add(first: int, last: int, totals: NDArray[np.int64], weights: Floats = weights) -> None:
            votes.add_doubts(
                *(claims.offsets, claims.user_codes, claims.values, weights, np.int64(choices), unit),
                *(first, last, likeliest, chances, totals),
            )

        doubts = engine.sum("votes", claims, weights.size, add, operations=float(len(claims))) / unit
        converged = sweeps > 1 and bool(np.nanmean(np.abs(chances - before)) < TOLERANCE)
        if not converged:
            weights = _for_all(weigh, doubts, counts)
    return _voted(labels, likeliest, chances, weights, "one-coin", sweeps, converged)


def _for_all(weigh: Weigh, losses: Floats, counts: Ints) -> Floats:
    """Weights from losses; users without informative claims get the mean weight."""
    judged = counts > 0
    if not judged.any():
        return np.ones(counts.size)
    weights = np.empty(counts.size)
    weights[judged] = weigh(losses[judged], counts[judged])
    weights[~judged] = weights[judged].mean()
    return weights


def _judged(labels: Labels, engine: LocalEngine) -> Ints:
    """Number of claims of each user about objects with at least two claims."""
    return judged_claims(labels.claims, (labels.claims.counts() > 1).astype(np.float64), engine)


def _chances(labels: Labels, weights: Floats, picked: Codes, engine: LocalEngine) -> Floats:
    claims, chances = labels.claims, np.empty(len(labels.claims.objects))
    engine.run(
        "chances",
        claims,
        lambda first, last: votes.chances_of(
            *(claims.offsets, claims.user_codes, claims.values, weights, np.int64(len(labels.choices))),
            *(picked, first, last, chances),
        ),
        operations=float(len(claims)),
    )
    return chances


def _voted(
    labels: Labels,
    picked: Codes,
    chances: Floats,
    weights: Floats,
    method: str,
    sweeps: int,
    converged: bool,
) -> Voted:
    claims = labels.claims
    return Voted(
        claims.objects,
        claims.users,
        labels.choices.gather(picked),
        chances,
        weights,
        method,
        sweeps,
        converged,
    )
