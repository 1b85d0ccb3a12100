"""Labels: by majority, by CRH's weighted vote, or by what each user's odds of being right make likeliest.

- `majority`: every user counts the same.
- `weighted`: CRH with 0/1 losses (Li et al., SIGMOD 2014); a user weighs -log of their share in all losses. A
  loss is the mean over a user's claims and one more at the mean of all: a single lucky pick is no proof.
- `one_coin`: a user is right with a probability of their own and otherwise picks any other label (Dawid and
  Skene's model with one coin each, 1979); expectation and maximization in turn. The default.

How sure a label is, is always told by the last: its posterior chance. It is calibrated as far as users err
independently of each other.
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

TOLERANCE = 1e-6  # of a chance, on average
CAP = 100
PSEUDO_CLAIMS = 2.0  # at everybody's rate, that each user's own claims are taken together with


def majority(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The label that most users picked; of several the first."""
    return _hard(labels, None, "majority", engine=engine)


def weighted(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The label with the most weight behind it, users weighed by CRH."""

    def weigh(losses: Floats, made: Ints) -> Floats:
        everybody = losses.sum() / max(1, made.sum())
        return by_share((losses + everybody) / (made + 1))

    return _hard(labels, weigh, "crh", engine=engine)


def one_coin(labels: Labels, *, engine: LocalEngine | None = None) -> Voted:
    """The likeliest label when each user is right with a probability of their own."""
    return _coins(labels, engine or LocalEngine())


def _hard(
    labels: Labels,
    weigh: Weigh | None,
    method: str,
    *,
    engine: LocalEngine | None,
) -> Voted:
    """Votes and weights in turn until no label changes; without a way to weigh, one vote."""
    engine, claims = engine or LocalEngine(), labels.claims
    made = _judged(labels, engine)
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
            weights = _for_all(weigh, losses.astype(np.float64), made)
    sure = _coins(labels, engine)
    chances = _chances(labels, sure.weights, winners, engine)
    return _voted(labels, winners, chances, weights, method, sweeps, converged)


def _coins(labels: Labels, engine: LocalEngine) -> Voted:
    """One coin for each user, by expectation and maximization from a plain vote on."""
    claims, choices = labels.claims, len(labels.choices)
    made = _judged(labels, engine)
    others = max(1, choices - 1)
    unit = 2.0 ** (62 - int(np.ceil(np.log2(max(2, int(made.max(initial=1)))))))
    likeliest = np.empty(len(claims.objects), dtype=np.int32)
    chances, before = np.full(likeliest.size, np.nan), np.empty(likeliest.size)
    weights = np.ones(len(claims.users))

    def weigh(losses: Floats, made: Ints) -> Floats:
        everybody = (losses.sum() + 1.0) / (made.sum() + 2.0)
        wrong = (losses + PSEUDO_CLAIMS * everybody) / (made + PSEUDO_CLAIMS)
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
            weights = _for_all(weigh, doubts, made)
    return _voted(labels, likeliest, chances, weights, "one-coin", sweeps, converged)


def _for_all(weigh: Weigh, losses: Floats, made: Ints) -> Floats:
    """Weights by losses; users of whom nothing can be learnt get the mean weight."""
    judged = made > 0
    if not judged.any():
        return np.ones(made.size)
    weights = np.empty(made.size)
    weights[judged] = weigh(losses[judged], made[judged])
    weights[~judged] = weights[judged].mean()
    return weights


def _judged(labels: Labels, engine: LocalEngine) -> Ints:
    """How many claims each user made about objects that others made claims about, too."""
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
