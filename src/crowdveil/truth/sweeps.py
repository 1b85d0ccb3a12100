"""What the methods share: truths by users' weights, users' weights by their losses, until all rests."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import bandwidths, residuals
from crowdveil.truths import Truths

Weigh = Callable[[Floats, Ints], Floats]
"""Users' weights from their losses and from how many claims these are the sums of (at least one)."""

TOLERANCE = 1e-6  # of an object's spread, on average
CAP = 100
LONGEST_STRIDE = 8.0


def spreads(claims: Claims, engine: LocalEngine) -> Floats:
    """The standard deviation of each object's claims; 0 where they are equal, or one."""
    out = np.empty(len(claims.objects))
    engine.run(
        "spreads",
        claims,
        lambda first, last: bandwidths.spreads(claims.offsets, claims.values, first, last, out),
        operations=float(len(claims)),
    )
    return out


def discover(
    claims: Claims,
    weigh: Weigh,
    *,
    method: str,
    prior: float = 0.0,
    squared: bool = True,
    start: Truths | None = None,
    tolerance: float = TOLERANCE,
    cap: int = CAP,
    engine: LocalEngine | None = None,
) -> Truths:
    """Sweep until truths move by less than `tolerance` on average, from equal weights or those of `start`.

    A user's loss is the sum of (x - truth)^2 / sd^2, or, not `squared`, of (x - truth)^2 / sd. `prior` is the
    weight of a claim at the object's median that is added to all. Users of whom nothing can be learnt (sole
    claimants, objects whose claims are equal) get the mean weight.
    """
    engine = engine or LocalEngine()
    if tolerance <= 0 or cap < 1:
        raise ParameterError("tolerance must be positive and cap at least 1")
    sd = spreads(claims, engine)
    made = judged_claims(claims, sd, engine)
    judged = made > 0
    # Residuals are at most sqrt(2 n) spreads: sums of whole multiples of 1/unit stay below 2^62.
    largest = float(sd.max(initial=0.0))
    scales = sd * sd if squared else sd * (largest if largest > 0 else 1.0)
    most = 2.0 * max(1, int(claims.counts().max(initial=1))) * max(1, int(made.max(initial=1)))
    unit = 2.0 ** (62 - math.ceil(math.log2(most)))
    weights = _start(claims, start)
    truths, before = np.empty(sd.size), np.empty(sd.size)

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        residuals.add_squared_residuals(
            claims.offsets,
            claims.user_codes,
            claims.values,
            weights,
            prior,
            scales,
            unit,
            first,
            last,
            truths,
            totals,
        )

    sweeps, converged = 0, False
    path: list[Floats] = []
    while not converged and sweeps < cap:
        sweeps += 1
        before[:] = truths
        losses = engine.sum("truths", claims, weights.size, add, operations=float(len(claims))) / unit
        still = sweeps > 1 and residuals.mean_step(truths, before, sd) < tolerance
        if still or not judged.any():
            converged = True
            break
        new = np.empty(weights.size)
        new[judged] = weigh(losses[judged] if squared else losses[judged] * largest, made[judged])
        new[~judged] = new[judged].mean()
        path.append(new)
        weights = new if len(path) < 3 else _leap(path)
    return finished(claims, truths, weights, method=method, sweeps=sweeps, converged=converged, engine=engine)


def _leap(path: list[Floats]) -> Floats:
    """Where three weights in a row are heading, in logs; the path begins anew.

    Reference: Varadhan and Roland 2008, scheme S3 of SQUAREM. Sparse claims take almost half as many sweeps.
    """
    weights = list(path)
    path.clear()
    if min(float(each.min()) for each in weights) <= 0.0:
        return weights[-1]
    first, second, third = (np.log(each) for each in weights)
    step, bend = second - first, third - 2.0 * second + first
    curved = float(np.square(bend).sum())
    stride = math.sqrt(float(np.square(step).sum()) / curved) if curved > 0.0 else 1.0
    stride = min(max(stride, 1.0), LONGEST_STRIDE)
    leapt: Floats = np.exp(first + 2.0 * stride * step + stride * stride * bend)
    return leapt


def judged_claims(claims: Claims, scales: Floats, engine: LocalEngine) -> Ints:
    """How many claims each user made about objects with a scale: the others tell nothing about users."""
    return engine.sum(
        "claims",
        claims,
        len(claims.users),
        lambda first, last, totals: residuals.add_claims(
            claims.offsets, claims.user_codes, scales, first, last, totals
        ),
        operations=float(len(claims)),
    )


def _start(claims: Claims, start: Truths | None) -> Floats:
    """Equal weights, or those that users had before; new users get the mean of these."""
    weights = np.ones(len(claims.users))
    if start is not None:
        places = start.users.search_sorted(claims.users).to_numpy()
        places = np.minimum(places, len(start.users) - 1)
        known = (start.users.gather(places) == claims.users).to_numpy()
        weights[:] = start.weights.mean()
        weights[known] = start.weights[places[known]]
    return weights


def finished(
    claims: Claims,
    truths: Floats,
    weights: Floats,
    *,
    method: str,
    sweeps: int,
    converged: bool,
    engine: LocalEngine,
) -> Truths:
    """Estimates with the errors that go with the weights."""
    errors, freedom = np.empty(truths.size), np.empty(truths.size)
    engine.run(
        "errors",
        claims,
        lambda first, last: residuals.standard_errors(
            claims.offsets, claims.user_codes, claims.values, weights, truths, first, last, errors, freedom
        ),
        operations=float(len(claims)),
    )
    return Truths(claims.objects, claims.users, truths, errors, freedom, weights, method, sweeps, converged)


def once(claims: Claims, *, method: str, engine: LocalEngine | None = None) -> Truths:
    """Plain means, and the errors that go with them."""
    engine = engine or LocalEngine()
    even = np.ones(len(claims.users))
    nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros(len(claims.objects))
    means = np.empty(len(claims.objects))
    engine.run(
        "means",
        claims,
        lambda first, last: residuals.add_squared_residuals(
            claims.offsets,
            claims.user_codes,
            claims.values,
            even,
            0.0,
            nothing,
            1.0,
            first,
            last,
            means,
            nobody,
        ),
        operations=float(len(claims)),
    )
    return finished(claims, means, even, method=method, sweeps=1, converged=True, engine=engine)
