"""The iteration that methods share: truths from users' weights, and weights from users' losses."""

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
"""Users' weights from their losses and their numbers of claims (at least one), over which losses are sums."""

TOLERANCE = 1e-6  # mean change of truths, in units of the object's spread
CAP = 100
LONGEST_STRIDE = 8.0


def spreads(claims: Claims, engine: LocalEngine) -> Floats:
    """The standard deviation of each object's claims; 0 if they are all equal or there is only one."""
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
    """Truths and weights, iterated until truths move by less than `tolerance` spreads on average.

    The iteration starts from equal weights or those of `start`. A user's loss is the sum over their claims of
    (x - truth)^2 / sd^2 or, without `squared`, of (x - truth)^2 / sd. `prior` is the weight of an additional
    claim at each object's median. Users without informative claims (all about objects with one claim, or with
    equal claims) get the mean weight.
    """
    engine = engine or LocalEngine()
    if tolerance <= 0 or cap < 1:
        raise ParameterError("tolerance must be positive and cap at least 1")
    sd = spreads(claims, engine)
    counts = judged_claims(claims, sd, engine)
    judged = counts > 0
    # Residuals are at most sqrt(2 n) spreads, so sums of integer multiples of 1/unit stay below 2^62.
    largest = float(sd.max(initial=0.0))
    scales = sd * sd if squared else sd * (largest if largest > 0 else 1.0)
    most = 2.0 * max(1, int(claims.counts().max(initial=1))) * max(1, int(counts.max(initial=1)))
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
        settled = sweeps > 1 and residuals.mean_step(truths, before, sd) < tolerance
        if settled or not judged.any():
            converged = True
            break
        new = np.empty(weights.size)
        new[judged] = weigh(losses[judged] if squared else losses[judged] * largest, counts[judged])
        new[~judged] = new[judged].mean()
        path.append(new)
        weights = new if len(path) < 3 else _leap(path)
    return finished(claims, truths, weights, method=method, sweeps=sweeps, converged=converged, engine=engine)


def _leap(path: list[Floats]) -> Floats:
    """The extrapolation, in logs, of three successive vectors of weights; clears the path.

    Reference: SQUAREM with step length S3, as in `leaps`. On sparse claims it nearly halves the sweeps.
    """
    weights = list(path)
    path.clear()
    if min(float(vector.min()) for vector in weights) <= 0.0:
        return weights[-1]
    first, second, third = (np.log(vector) for vector in weights)
    step, curvature = second - first, third - 2.0 * second + first
    squared_curvature = float(np.square(curvature).sum())
    stride = math.sqrt(float(np.square(step).sum()) / squared_curvature) if squared_curvature > 0.0 else 1.0
    stride = min(max(stride, 1.0), LONGEST_STRIDE)
    extrapolated: Floats = np.exp(first + 2.0 * stride * step + stride * stride * curvature)
    return extrapolated


def judged_claims(claims: Claims, scales: Floats, engine: LocalEngine) -> Ints:
    """Number of claims of each user about objects of positive scale; others carry no information on users."""
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
    """Initial weights: all 1, or those of `start`, whose mean is the weight of new users."""
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
    """The truths with their standard errors under the given weights."""
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
    """Plain means and their standard errors."""
    engine = engine or LocalEngine()
    equal_weights = np.ones(len(claims.users))
    no_totals, no_scales = np.zeros(0, dtype=np.int64), np.zeros(len(claims.objects))
    means = np.empty(len(claims.objects))
    engine.run(
        "means",
        claims,
        lambda first, last: residuals.add_squared_residuals(
            claims.offsets,
            claims.user_codes,
            claims.values,
            equal_weights,
            0.0,
            no_scales,
            1.0,
            first,
            last,
            means,
            no_totals,
        ),
        operations=float(len(claims)),
    )
    return finished(claims, means, equal_weights, method=method, sweeps=1, converged=True, engine=engine)
