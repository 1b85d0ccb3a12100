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

from typing import cast

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.engines import Block, ByObject, ByUser, Engine, LocalEngine
from crowdveil.kernels import votes
from crowdveil.labels import Labels
from crowdveil.truth.crh import by_share
from crowdveil.truth.sweeps import Weigh, judged_claims
from crowdveil.truths import Voted

TOLERANCE = 1e-6  # mean change of the posteriors
CAP = 100
PSEUDO_CLAIMS = 2.0  # added to each user's claims, at the error rate of all users


def majority(labels: Labels, *, engine: Engine | None = None) -> Voted:
    """The label that most users claimed; the first of several."""
    return _hard(labels, None, "majority", engine=engine)


def weighted(labels: Labels, *, engine: Engine | None = None) -> Voted:
    """The label with the largest total weight of users, with weights by CRH."""

    def weigh(losses: Floats, counts: Ints) -> Floats:
        mean_loss = losses.sum() / max(1, counts.sum())
        return by_share((losses + mean_loss) / (counts + 1))

    return _hard(labels, weigh, "crh", engine=engine)


def one_coin(labels: Labels, *, engine: Engine | None = None) -> Voted:
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
    engine: Engine | None,
) -> Voted:
    """Alternate votes and weights until no label changes; without `weigh`, vote once with equal weights."""
    engine, claims = engine or LocalEngine(), labels.claims
    judged = _judged(labels, engine)
    weights = np.ones(claims.user_count)
    winners = np.full(claims.object_count, -1, dtype=np.int32)
    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before = winners
        losses, (winners,) = engine.judge(
            "votes", claims, _disagreements, None, ByUser(weights), operations=float(len(claims))
        )
        converged = weigh is None or np.array_equal(winners, before)
        if weigh is not None and not converged:
            weights = _for_all(weigh, losses.astype(np.float64), judged)
    posterior = _coins(labels, engine)
    chances = _chances(labels, posterior.weights, winners, engine)
    return _voted(labels, winners, chances, weights, method, sweeps, converged)


def _coins(labels: Labels, engine: Engine) -> Voted:
    """The one-coin model, fitted by EM from equal weights."""
    claims, choices = labels.claims, len(labels.choices)
    counts = _judged(labels, engine)
    others = max(1, choices - 1)
    unit = 2.0 ** (62 - int(np.ceil(np.log2(max(2, int(counts.max(initial=1)))))))
    chances = np.full(claims.object_count, np.nan)
    weights = np.ones(claims.user_count)

    def weigh(losses: Floats, counts: Ints) -> Floats:
        error_rate = (losses.sum() + 1.0) / (counts.sum() + 2.0)
        wrong = (losses + PSEUDO_CLAIMS * error_rate) / (counts + PSEUDO_CLAIMS)
        odds: Floats = np.log((1.0 - wrong) * others / wrong)
        return odds

    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before = chances
        totals, (likeliest, chances) = engine.judge(
            *("votes", claims, _doubts, (choices, unit), ByUser(weights)),
            operations=float(len(claims)),
        )
        doubts = totals / unit
        converged = sweeps > 1 and bool(np.nanmean(np.abs(chances - before)) < TOLERANCE)
        if not converged:
            weights = _for_all(weigh, doubts, counts)
    return _voted(labels, likeliest, chances, weights, "one-coin", sweeps, converged)


def _disagreements(block: Block, _: None, weights: Floats, totals: Ints) -> tuple[Codes]:
    winners = np.empty(block.size, dtype=np.int32)
    votes.add_disagreements(
        *(block.offsets, block.user_codes, block.values, weights, 0, block.size),
        *(winners, totals),
    )
    return (winners,)


def _doubts(block: Block, shared: tuple[int, float], weights: Floats, totals: Ints) -> tuple[Codes, Floats]:
    choices, unit = shared
    likeliest, chances = np.empty(block.size, dtype=np.int32), np.empty(block.size)
    votes.add_doubts(
        *(block.offsets, block.user_codes, block.values, weights, np.int64(choices), unit),
        *(0, block.size, likeliest, chances, totals),
    )
    return likeliest, chances


def _for_all(weigh: Weigh, losses: Floats, counts: Ints) -> Floats:
    """Weights from losses; users without informative claims get the mean weight."""
    judged = counts > 0
    if not judged.any():
        return np.ones(counts.size)
    weights = np.empty(counts.size)
    weights[judged] = weigh(losses[judged], counts[judged])
    weights[~judged] = weights[judged].mean()
    return weights


def _judged(labels: Labels, engine: Engine) -> Ints:
    """Number of claims of each user about objects with at least two claims."""
    return judged_claims(labels.claims, (labels.claims.counts() > 1).astype(np.float64), engine)


def _chances(labels: Labels, weights: Floats, picked: Codes, engine: Engine) -> Floats:
    (kept,) = engine.map(
        *("chances", labels.claims, _chances_of, len(labels.choices), ByUser(weights), ByObject(picked)),
        operations=float(len(labels.claims)),
    )
    return cast("Floats", engine.collect(kept))


def _chances_of(block: Block, choices: int, weights: Floats, picked: Codes) -> tuple[Floats]:
    chances = np.empty(block.size)
    votes.chances_of(
        *(block.offsets, block.user_codes, block.values, weights, np.int64(choices)),
        *(picked, 0, block.size, chances),
    )
    return (chances,)


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
