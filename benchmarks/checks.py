"""Are the answers right? Against float64 sums, exact moments and exact laws.

A statistical check lets through what lies within six standard errors, or what chance exceeds once in a
million times.
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
    """For who fits densities and draws from them."""

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
    """The weighted Gaussian density of claims at these claims."""
    z = (x[:, None] - x) / h
    found: Floats = np.exp(-0.5 * z * z) @ c / (h * math.sqrt(2 * math.pi))
    return found


def moments(apart: Floats, variances: Floats) -> str | None:
    """Whether deviations from exact means have mean 0 and the exact variances, all in all."""
    if not np.all(np.isfinite(apart)):
        return "some draws are not finite"
    error = math.sqrt(float(variances.sum())) / apart.size
    mean = float(apart.mean())
    if abs(mean) > STANDARD_ERRORS * error:
        return f"the draws' mean is off by {abs(mean) / error:.1f} standard errors"
    excess = apart**2 - variances
    error = float(excess.std()) / math.sqrt(apart.size)
    if abs(float(excess.mean())) > STANDARD_ERRORS * error:
        return f"the draws' variance is off by {abs(float(excess.mean())) / error:.1f} standard errors"
    return None


def _released(inputs: Arrays, answers: Arrays) -> str | None:
    given = {**answers, **inputs}  # weights are the contestant's own where none are given
    offsets, x, c, h = (given[name] for name in ("offsets", "values", "combined", "bandwidths"))
    ends, released = answers["released_offsets"], answers["released"]
    if ends.size != offsets.size:
        return f"claims about {ends.size - 1} objects instead of {offsets.size - 1}"
    apart, variances = [], []
    for i in range(min(offsets.size - 1, max(1, PAIRS_CHECKED // int(offsets[1])))):
        a, b = offsets[i], offsets[i + 1]
        mean, variance = released_moments(x[a:b], c[a:b], float(h[i]))
        of_object = released[ends[i] : ends[i + 1]]
        apart.append(of_object - mean)
        variances.append(np.full(of_object.size, variance))
    if sum(one.size for one in apart) == 0:
        return "nothing was released"
    return moments(np.concatenate(apart), np.concatenate(variances))


PAIRS_CHECKED = 4000  # objects times claims
RELEASED = Check(
    "the released claims' mean and variance, in the first objects, within "
    f"{STANDARD_ERRORS:g} standard errors of the exact law behind the privacy test",
    _released,
)


def released_moments(
    x: Floats, c: Floats, h: float, *, k: int = 5, gamma: float = 4.0, epsilon0: float = 1.0
) -> tuple[float, float]:
    """Mean and variance of what passes the privacy test, by adding up the law on a fine grid."""
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


WEIGHT_TOLERANCE = 1e-5  # sweeps stop at 1e-6 of a local weight; the square root of a small one magnifies
WHOLE_RELEASE = Check(
    f"combined weights and bandwidths within {WEIGHT_TOLERANCE:g} of ours; {RELEASED.what}", _same_weights
)


def follows(log_weight: Callable[[Floats, float], Floats], name: str) -> Check:
    """For who draws whole numbers y with probability proportional to exp(log_weight(y, scale))."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        scale, drawn = float(inputs["scale"]), answers["draws"].astype(np.int64)
        if drawn.size != int(inputs["count"]):
            return f"{drawn.size} draws instead of {int(inputs['count'])}"
        far = math.ceil(60 * scale)
        y = np.arange(-far, far + 1)
        law = np.exp(log_weight(y.astype(np.float64), scale))
        expected = drawn.size * law / law.sum()
        inner = np.flatnonzero(expected >= 10)
        first, last = inner[0], inner[-1]  # cells beyond these are put together with them
        found = np.bincount(np.clip(drawn + far, first, last) - first, minlength=last - first + 1)
        cells = expected[first : last + 1].copy()
        cells[0] += expected[:first].sum()
        cells[-1] += expected[last + 1 :].sum()
        statistic = float(np.sum((found - cells) ** 2 / cells))
        chance = float(stats.chi2.sf(statistic, cells.size - 1))
        if chance < CHANCE:
            return f"the draws do not follow the {name}: chi-square {statistic:.0f} in {cells.size} cells"
        return None

    return Check(f"chi-square against the exact {name} at error probability {CHANCE:g}", complaint)


def same_truths(method: str) -> Check:
    """For who finds truths by a method; ours are among the inputs."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        ours, found = inputs[f"{method}_truths"], answers["truths"]
        counts = np.diff(inputs["offsets"])
        means = np.add.reduceat(inputs["values"], inputs["offsets"][:-1]) / counts
        squares = np.add.reduceat((inputs["values"] - np.repeat(means, counts)) ** 2, inputs["offsets"][:-1])
        apart = float(np.mean(np.abs(found - ours) / np.sqrt(squares / (counts - 1))))
        if not apart <= TRUTH_TOLERANCE:
            return f"truths differ from ours by {apart:.1e} of a spread, allowed are {TRUTH_TOLERANCE:g}"
        sweeps, wanted = int(answers["sweeps"]), int(inputs[f"{method}_sweeps"])
        return None if sweeps == wanted else f"{sweeps} sweeps instead of {wanted}"

    return Check(
        f"truths within {TRUTH_TOLERANCE:g} of an object's spread of ours, on average, and as many sweeps",
        complaint,
    )


TRUTH_TOLERANCE = 1e-3  # sweeps stop when truths move by less than 1e-6; slow ones would go on for long


def all_read(method: str) -> Check:
    """For who reads values, codes and offsets, and adds them up."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        codes = float(inputs["users"].sum(dtype=np.int64) + inputs["offsets"][:-1].sum())
        exact = np.array([inputs["values"].sum(), codes])
        worst = float(np.max(np.abs(answers["sums"] / exact - 1.0)))
        return None if worst <= 1e-9 else f"sums are off by {worst:.1e} of their value"

    return Check(f"sums within 1e-9 of NumPy's, as many sweeps as {method.upper()} takes", complaint)


def same_labels(name: str) -> Check:
    """For who picks labels; ours are among the inputs. Where labels are level, anybody may pick any."""

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        offsets, labels = inputs["offsets"], inputs["values"].astype(np.int64)
        objects, choices = offsets.size - 1, int(inputs["choices"])
        cells = np.repeat(np.arange(objects), np.diff(offsets)) * choices + labels
        votes = np.bincount(cells, minlength=objects * choices).reshape(objects, choices)
        picked, ours = (np.asarray(one, dtype=np.int64) for one in (answers["labels"], inputs[name]))
        each = np.arange(objects)
        wrong = int(np.count_nonzero(votes[each, picked] != votes[each, ours]))
        return f"{wrong} labels have other numbers of votes than ours" if wrong else None

    return Check("as many votes behind each label as behind ours", complaint)
