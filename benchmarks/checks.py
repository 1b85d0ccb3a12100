"""Checks of the contestants' answers against float64 sums, exact moments and exact distributions.

Statistical checks allow six standard errors, or have an error probability of one in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.harness import Check
from benchmarks.stopwatch import Arrays

Floats = NDArray[np.float64]
STANDARD_ERRORS = 6.0
CHANCE = 1e-6


def densities_and_draws(tolerance: float) -> Check:
    """A check of fitted densities and of draws from them."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        offsets, x, c, h = (inputs[name] for name in ("offsets", "values", "combined", "bandwidths"))
        exact = np.concatenate(
            [density(x[a:b], c[a:b], float(h[i])) for i, (a, b) in enumerate(pairwise(offsets.tolist()))]
        )
        if answers["densities"].shape != exact.shape:
            return f"{answers['densities'].size} densities instead of {exact.size}"
        worst = float(np.max(np.abs(answers["densities"] / exact - 1.0)))
        if not worst <= tolerance:
            return f"densities are off by {worst:.1e} of their value, allowed are {tolerance:.0e}"
        counts = np.diff(offsets)
        owners = np.repeat(np.arange(counts.size), counts)
        means = np.bincount(owners, c * x)
        variances = np.bincount(owners, c * (x - means[owners]) ** 2) + h**2
        drawn = np.asarray(answers["draws"])
        if drawn.shape[0] != counts.size:
            return f"draws from {drawn.shape[0]} objects instead of {counts.size}"
        return moments(drawn - means[:, None], np.broadcast_to(variances[:, None], drawn.shape))

    return Check(
        f"densities within {tolerance:g} of float64 sums; the draws' mean and variance within "
        f"{STANDARD_ERRORS:g} standard errors of the exact ones",
        complaint,
    )


def density(x: Floats, c: Floats, h: float) -> Floats:
    """The weighted Gaussian kernel density of the claims x, at x."""
    z = (x[:, None] - x) / h
    heights: Floats = np.exp(-0.5 * z * z) @ c / (h * math.sqrt(2 * math.pi))
    return heights


def moments(deviations: Floats, variances: Floats) -> str | None:
    """A complaint unless deviations from exact means have overall mean 0 and the exact variance."""
    if not np.all(np.isfinite(deviations)):
        return "some draws are not finite"
    error = math.sqrt(float(variances.sum())) / deviations.size
    mean = float(deviations.mean())
    if abs(mean) > STANDARD_ERRORS * error:
        return f"the draws' mean is off by {abs(mean) / error:.1f} standard errors"
    excess = deviations**2 - variances
    error = float(excess.std()) / math.sqrt(deviations.size)
    if abs(float(excess.mean())) > STANDARD_ERRORS * error:
        return f"the draws' variance is off by {abs(float(excess.mean())) / error:.1f} standard errors"
    return None


def _released(inputs: Arrays, answers: Arrays) -> str | None:
    arrays = {**answers, **inputs}  # without weights among the inputs, the contestant's own
    offsets, x, c, h = (arrays[name] for name in ("offsets", "values", "combined", "bandwidths"))
    ends, released = answers["released_offsets"], answers["released"]
    if ends.size != offsets.size:
        return f"claims about {ends.size - 1} objects instead of {offsets.size - 1}"
    deviations, variances = [], []
    for i in range(min(offsets.size - 1, max(1, PAIRS_CHECKED // int(offsets[1])))):
        a, b = offsets[i], offsets[i + 1]
        mean, variance = released_moments(x[a:b], c[a:b], float(h[i]))
        of_object = released[ends[i] : ends[i + 1]]
        deviations.append(of_object - mean)
        variances.append(np.full(of_object.size, variance))
    if sum(part.size for part in deviations) == 0:
        return "nothing was released"
    return moments(np.concatenate(deviations), np.concatenate(variances))


PAIRS_CHECKED = 4000  # objects times claims
RELEASED = Check(
    "the released claims' mean and variance, in the first objects, within "
    f"{STANDARD_ERRORS:g} standard errors of the exact law behind the privacy test",
    _released,
)


def released_moments(
    x: Floats, c: Floats, h: float, *, k: int = 5, gamma: float = 4.0, epsilon0: float = 1.0
) -> tuple[float, float]:
    """Mean and variance of values that pass the privacy test, by summation on a fine grid."""
    y = np.arange(float(x.min()) - 8 * h, float(x.max()) + 8 * h, h / 50)
    z = (y[:, None] - x) / h
    bins = np.floor(z * z / (2 * math.log(gamma)))
    seeds = sum((bins == bins[:, t : t + 1]).astype(np.float64) for t in range(x.size))
    spare = epsilon0 * (np.asarray(seeds) - k)
    passes = np.where(spare >= 0, 1 - 0.5 * np.exp(-np.abs(spare)), 0.5 * np.exp(-np.abs(spare)))
    law = (np.exp(-0.5 * z * z) * passes) @ c
    law /= law.sum()
    mean = float(law @ y)
    return mean, float(law @ (y - mean) ** 2)


def _same_weights(inputs: Arrays, answers: Arrays) -> str | None:
    worst = float(np.max(np.abs(answers["combined"] - inputs["combined"])))
    if not worst <= WEIGHT_TOLERANCE:
        return f"weights differ from ours by {worst:.1e}, allowed are {WEIGHT_TOLERANCE:g}"
    worst = float(np.max(np.abs(answers["bandwidths"] / inputs["bandwidths"] - 1.0)))
    if not worst <= WEIGHT_TOLERANCE:
        return f"bandwidths differ from ours by {worst:.1e} of their value, allowed are {WEIGHT_TOLERANCE:g}"
    return _released(inputs, answers)


WEIGHT_TOLERANCE = 1e-5  # sweeps stop at changes of 1e-6 in local weights; square roots magnify them
WHOLE_RELEASE = Check(
    f"combined weights and bandwidths within {WEIGHT_TOLERANCE:g} of ours; {RELEASED.what}", _same_weights
)


def follows(log_weight: Callable[[Floats, float], Floats], name: str) -> Check:
    """A check of integer draws y with probabilities proportional to exp(log_weight(y, scale))."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        scale, drawn = float(inputs["scale"]), answers["draws"].astype(np.int64)
        if drawn.size != int(inputs["count"]):
            return f"{drawn.size} draws instead of {int(inputs['count'])}"
        reach = math.ceil(60 * scale)
        y = np.arange(-reach, reach + 1)
        law = np.exp(log_weight(y.astype(np.float64), scale))
        expected = drawn.size * law / law.sum()
        inner = np.flatnonzero(expected >= 10)
        first, last = inner[0], inner[-1]  # cells beyond these are merged into them
        observed = np.bincount(np.clip(drawn + reach, first, last) - first, minlength=last - first + 1)
        cells = expected[first : last + 1].copy()
        cells[0] += expected[:first].sum()
        cells[-1] += expected[last + 1 :].sum()
        statistic = float(np.sum((observed - cells) ** 2 / cells))
        chance = float(stats.chi2.sf(statistic, cells.size - 1))
        if chance < CHANCE:
            return f"the draws do not follow the {name}: chi-square {statistic:.0f} in {cells.size} cells"
        return None

    return Check(f"chi-square against the exact {name} at error probability {CHANCE:g}", complaint)


def same_truths(method: str) -> Check:
    """A check that truths and sweeps of a method equal ours, which are among the inputs."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        ours, theirs = inputs[f"{method}_truths"], answers["truths"]
        counts = np.diff(inputs["offsets"])
        means = np.add.reduceat(inputs["values"], inputs["offsets"][:-1]) / counts
        squares = np.add.reduceat((inputs["values"] - np.repeat(means, counts)) ** 2, inputs["offsets"][:-1])
        difference = float(np.mean(np.abs(theirs - ours) / np.sqrt(squares / (counts - 1))))
        if not difference <= TRUTH_TOLERANCE:
            return f"truths differ from ours by {difference:.1e} of a spread, allowed are {TRUTH_TOLERANCE:g}"
        sweeps, expected = int(answers["sweeps"]), int(inputs[f"{method}_sweeps"])
        return None if sweeps == expected else f"{sweeps} sweeps instead of {expected}"

    return Check(
        f"truths within {TRUTH_TOLERANCE:g} of an object's spread of ours, on average, and as many sweeps",
        complaint,
    )


TRUTH_TOLERANCE = 1e-3  # sweeps stop when truths change by less than 1e-6; slow convergence adds more


def all_read(method: str) -> Check:
    """A check of the sums of values, and of codes and numbers of claims."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        codes = float(inputs["users"].sum(dtype=np.int64) + inputs["users"].size)
        exact = np.array([inputs["values"].sum(), codes])
        worst = float(np.max(np.abs(answers["sums"] / exact - 1.0)))
        return None if worst <= 1e-9 else f"sums are off by {worst:.1e} of their value"

    return Check(f"sums within 1e-9 of NumPy's, as many sweeps as {method.upper()} takes", complaint)


def same_labels(name: str) -> Check:
    """A check that labels have as many votes as ours, which are among the inputs (ties may differ)."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        offsets, labels = inputs["offsets"], inputs["values"].astype(np.int64)
        objects, choices = offsets.size - 1, int(inputs["choices"])
        cells = np.repeat(np.arange(objects), np.diff(offsets)) * choices + labels
        votes = np.bincount(cells, minlength=objects * choices).reshape(objects, choices)
        picked, ours = (np.asarray(one, dtype=np.int64) for one in (answers["labels"], inputs[name]))
        rows = np.arange(objects)
        wrong = int(np.count_nonzero(votes[rows, picked] != votes[rows, ours]))
        return f"{wrong} labels have other numbers of votes than ours" if wrong else None

    return Check("as many votes behind each label as behind ours", complaint)
