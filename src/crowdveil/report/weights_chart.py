"""How weight is spread over users: a histogram, and how few of them carry half of it."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.charts import Chart
from crowdveil.report.drawing import BLUE, scaled, text
from crowdveil.report.language import say
from crowdveil.report.numbers import count, share

_REST = "#8a93a3"  # of those who carry the other half


def half_of_weight(weights: Floats) -> int:
    """The smallest number of users who carry half of the total weight together."""
    heaviest = np.sort(_checked(weights))[::-1]
    total = heaviest.sum()
    return int(np.searchsorted(np.cumsum(heaviest), total / 2 * (1 - 1e-12))) + 1 if total > 0 else 0


def weights_chart(weights: Floats) -> str:
    """A histogram of users' weights, relative to their mean; who carry half of the total weight stand out.

    The page writes `sentence` beside it.
    """
    weights = _checked(weights)
    if weights.size and weights.max() > 0:
        weights = weights / weights.mean()
    if not weights.size:
        return scaled(200, 24, say("no users"), text("4", 16, say("no users")))
    heaviest = np.sort(weights)[::-1][: half_of_weight(weights)]
    bins = min(40, max(10, int(np.sqrt(weights.size))))
    largest = float(weights.max()) or 1.0
    heights, edges = np.histogram(weights, bins, (0.0, max(largest, 1e-300)))
    chart = Chart((0.0, 0.0), (float(edges[-1]), 1.05 * float(heights.max())))
    chart.bars(edges, heights.astype(np.float64), _REST)
    carriers, _ = np.histogram(heaviest, edges)
    chart.bars(edges, carriers.astype(np.float64), BLUE)  # in front of the others of the same weight
    return chart.svg(say("weight (1 is the mean)"), say("users"), sentence(weights))


def sentence(weights: Floats) -> str:
    """How few carry half of the weight, in words."""
    carriers, users = half_of_weight(weights), weights.size
    if not carriers:
        return say("Nobody has a weight above 0.")
    return say(
        "Half of the weight: {carriers} of {users} users ({share}).",
        carriers=count(carriers),
        users=count(users),
        share=share(carriers / users),
    )


def _checked(weights: Floats) -> Floats:
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ParameterError("weights are finite numbers, at least 0")
    return weights
