"""The iteration that methods share: truths from users' weights, and weights from users' losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByObject, ByUser, Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import bandwidths, residuals
from crowdveil.truths import Truths

Weigh = Callable[[Floats, Ints], Floats]
"""Users' weights from their losses and their numbers of claims (at least one), over which losses are sums."""

TOLERANCE = 1e-6  # mean change of truths, in units of the object's spread
CAP = 100
LONGEST_STRIDE = 8.0


def spreads(claims: Claims, engine: Engine) -> Floats:
    """The standard deviation of each object's claims; 0 if they are all equal or there is only one."""
    (kept,) = engine.map("spreads", claims, _spreads, None, operations=float(len(claims)))
    return cast("Floats", engine.collect(kept))


def _spreads(block: Block, _: None) -> tuple[Floats]:
    out = np.empty(block.size)
    bandwidths.spreads(block.offsets, block.values, 0, block.size, out)
    return (out,)


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
    engine: Engine | None = None,
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
    sweeps, converged = 0, False
    path: list[Floats] = []
    truths = np.empty(sd.size)
    while not converged and sweeps < cap:
        sweeps += 1
        before = truths
        totals, (truths,) = engine.judge(
            *("truths", claims, _squared_residuals, (prior, unit)),
            *(ByUser(weights), ByObject(scales)),
            operations=float(len(claims)),
        )
        losses = totals / unit
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


def _squared_residuals(
    block: Block, shared: tuple[float, float], weights: Floats, scales: Floats, totals: Ints
) -> tuple[Floats]:
    """The objects' truths, and the squared residuals of their users' claims in units of the scale."""
    truths = np.empty(block.size)
    prior, unit = shared
    residuals.add_squared_residuals(
        *(block.offsets, block.user_codes, block.values, weights, prior, scales, unit),
        *(0, block.size, truths, totals),
    )
    return (truths,)


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


def judged_claims(claims: Claims, scales: Floats, engine: Engine) -> Ints:
    """Number of claims of each user about objects of positive scale; others carry no information on users."""
    return engine.sum_by_user(
        "claims", claims, 1, _add_claims, None, ByObject(scales), operations=float(len(claims))
    )


def _add_claims(block: Block, _: None, scales: Floats, totals: Ints) -> None:
    residuals.add_claims(block.offsets, block.user_codes, scales, 0, block.size, totals)


def _start(claims: Claims, start: Truths | None) -> Floats:
    """Initial weights: all 1, or those of `start`, whose mean is the weight of new users."""
    weights = np.ones(claims.user_count)
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
    engine: Engine,
) -> Truths:
    """The truths with their standard errors under the given weights."""
    kept = engine.map(
        *("errors", claims, _standard_errors, None, ByUser(weights), ByObject(truths)),
        per=("object", "object"),
        operations=float(len(claims)),
    )
    errors, freedom = map(engine.collect, kept)
    return Truths(claims.objects, claims.users, truths, errors, freedom, weights, method, sweeps, converged)


def _standard_errors(block: Block, _: None, weights: Floats, truths: Floats) -> tuple[Floats, Floats]:
    errors, freedom = np.empty(block.size), np.empty(block.size)
    residuals.standard_errors(
        *(block.offsets, block.user_codes, block.values, weights, truths),
        *(0, block.size, errors, freedom),
    )
    return errors, freedom


def once(claims: Claims, *, method: str, engine: Engine | None = None) -> Truths:
    """Plain means and their standard errors."""
    engine = engine or LocalEngine()
    equal_weights = np.ones(claims.user_count)
    (kept,) = engine.map("means", claims, _means, None, ByUser(equal_weights), operations=float(len(claims)))
    means = engine.collect(kept)
    return finished(claims, means, equal_weights, method=method, sweeps=1, converged=True, engine=engine)


def _means(block: Block, _: None, weights: Floats) -> tuple[Floats]:
    no_scales, no_totals = np.zeros(block.size), np.zeros(0, dtype=np.int64)
    return _squared_residuals(block, (0.0, 1.0), weights, no_scales, no_totals)
