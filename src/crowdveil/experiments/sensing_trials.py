"""Scores of truth discovery before and after noise; shared by the sensing experiments.

There are two scores. The paper's is the *change*: the mean absolute difference between the estimates from
original and from noisy claims. It is small for any insensitive method, even for a constant, so the *error* to
the truth is added where the truth is known.

Notation: lambda2 = rate of the exponential variances of users' noise. The average noise (mean absolute value)
is 1/sqrt(2 lambda2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.local import VariancePerUser, perturb, perturb_one
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.simulation.sensing import SimulatedSensing
from crowdveil.truth import catd, crh, deviation, gtm, mean, median, noise_aware
from crowdveil.truth.registry import Discover

METHODS: dict[str, Discover] = {
    "gtm": gtm.discover,
    "crh": crh.discover,
    "catd": catd.discover,
    "inverse-deviation": deviation.discover,
    "mean": mean.discover,
    "median": median.discover,
}
AWARE = "noise-aware"  # with noise; without noise the default method is GTM
ORACLE = "oracle"
STEPS_IN_RANGE = 10_000  # so fine that the grid adds almost nothing to the noise
DRAWS_PER_USER = 1000


@dataclass(frozen=True)
class Score:
    """The scores of one method on claims before and after noise."""

    change: float
    error: float
    sweeps: int = 1


def rate_of(noise: float) -> float:
    """The lambda2 at which the average noise is `noise`."""
    return 1.0 / (2.0 * noise * noise)


def noise_of(rate: float) -> float:
    """The average noise at lambda2 = `rate`."""
    return 1.0 / sqrt(2.0 * rate)


def mechanism(rate: float, limits: Range) -> VariancePerUser:
    """The paper's mechanism on a public range."""
    return VariancePerUser(rate, limits, (limits.high - limits.low) / STEPS_IN_RANGE)


def compare(
    before: Claims,
    after: Claims,
    truths: Floats,
    tried: Mapping[str, Discover],
    engine: Engine,
    law: NoiseLaw | None = None,
) -> dict[str, Score]:
    """The score of every method and, last, of noise-aware discovery; errors are over known truths."""
    scores = {}
    for name, discover in tried.items():
        first, second = discover(before, engine=engine), discover(after, engine=engine)
        scores[name] = scored(first.estimates, second.estimates, truths, second.sweeps)
    first = gtm.discover(before, engine=engine)
    second = noise_aware.discover(after, law, engine=engine) if law else first
    return scores | {AWARE: scored(first.estimates, second.estimates, truths, second.sweeps)}


def scored(first: Floats, second: Floats, truths: Floats, sweeps: int = 1) -> Score:
    """The score of estimates before and after noise."""
    return Score(float(np.mean(np.abs(second - first))), float(np.nanmean(np.abs(second - truths))), sweeps)


def trial(
    simulation: SimulatedSensing,
    noise: float,
    seed: int,
    engine: Engine,
    tried: Mapping[str, Discover] = METHODS,
) -> dict[str, Score]:
    """The scores of every method and of oracle weights in one simulation; noise 0 means none."""
    rng = seeded(seed)
    before, truths = simulation.claims(rng=rng), simulation.truth_values(rng=rng)
    variances = simulation.variances(rng=rng)
    after, noisy_variances, law = before, variances, None
    if noise:
        device = mechanism(rate_of(noise), simulation.range)
        reports = perturb(before, device, rng=rng)
        after, law = reports.claims, reports.law
        noisy_variances = variances + drawn_variances(device, simulation.names()[1], rng)
    scores = compare(before, after, truths, tried, engine, law)
    first, second = weighted_means(before, 1.0 / variances), weighted_means(after, 1.0 / noisy_variances)
    return scores | {ORACLE: scored(first, second, truths)}


def drawn_variances(device: VariancePerUser, users: Sequence[str], rng: Randomness) -> Floats:
    """The variance that each user's device drew under this seed, to within about 4 %.

    A device draws its variance first, and its noise does not depend on values. So the variance is estimated
    from many claims of equal value by the same user under the same seed. Errors of 4 % in the weights
    increase the oracle's error by 0.1 %.
    """
    same = np.full(DRAWS_PER_USER, device.range.low)
    origin = device.grid.values(device.grid.places(same))
    variances = [np.mean((perturb_one(same, device, user=user, rng=rng) - origin) ** 2) for user in users]
    return np.array(variances)


def weighted_means(claims: Claims, weights: Floats) -> Floats:
    """The weighted mean of each object's claims, by users' weights."""
    claim_weights, begins = weights[claims.user_codes], claims.offsets[:-1]
    means: Floats = np.add.reduceat(claim_weights * claims.values, begins) / np.add.reduceat(
        claim_weights, begins
    )
    return means


def averaged(trials: Sequence[Mapping[str, Score]], **setting: Any) -> list[dict[str, Any]]:
    """One row for each method: means and deviations of scores over trials, and the error over the oracle's.

    `error_to_oracle_se` is the standard error of that ratio, from the paired trials.
    """
    rows = []
    for name in trials[0]:
        change = np.array([scores[name].change for scores in trials])
        error = np.array([scores[name].error for scores in trials])
        sweeps = [scores[name].sweeps for scores in trials]
        row = {
            **setting,
            "method": name,
            "mae_change": float(change.mean()),
            "mae_change_sd": _spread(change),
            "error": float(error.mean()),
            "error_sd": _spread(error),
            "sweeps": float(np.mean(sweeps)),
            "most_sweeps": max(sweeps),
        }
        if ORACLE in trials[0]:
            best = np.array([scores[ORACLE].error for scores in trials])
            ratio = float(error.mean() / best.mean())
            standard_error = _spread(error - ratio * best) / sqrt(len(trials)) / float(best.mean())
            row |= {"error_to_oracle": ratio, "error_to_oracle_se": standard_error}
        rows.append(row)
    return rows


def _spread(values: Floats) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def by_setting(rows: Sequence[Mapping[str, Any]], key: str, measure: str) -> dict[Any, dict[str, float]]:
    """One measure of the rows, by setting and then by method."""
    table: dict[Any, dict[str, float]] = {}
    for row in rows:
        table.setdefault(row[key], {})[row["method"]] = row[measure]
    return table


def lines_over(
    rows: Sequence[Mapping[str, Any]], key: str, measure: str
) -> dict[str, tuple[list[float], list[float]]]:
    """For each method its settings, and one measure of the rows at them."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        x, y = lines.setdefault(row["method"], ([], []))
        x.append(row[key])
        y.append(row[measure])
    return lines
