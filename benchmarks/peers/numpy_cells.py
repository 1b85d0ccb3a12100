"""Reports about every cell and the paper's inference, as one would write them with NumPy: dense tables."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"numpy {np.__version__}"
EPSILON = 2.0
LEAST_LOSS = 1e-3


def reports(inputs: Arrays) -> Steps:
    """Randomized response on a dense table of symbols; no secure generator, chances in floating point."""
    users, objects, levels = inputs["offsets"].size - 1, int(inputs["objects"]), int(inputs["levels"])
    low, high = (int(end) for end in inputs["domain"])
    rng = np.random.default_rng()
    yield
    along = inputs["codes"] * ((levels - 1) / (high - low))
    table = np.full((users, objects), levels, dtype=np.uint8)
    owners = np.repeat(np.arange(users), np.diff(inputs["offsets"]))
    table[owners, inputs["about"]] = np.floor(along + rng.random(along.size)).astype(np.uint8)
    signal = math.expm1(EPSILON) / (math.exp(EPSILON) + levels)
    told = np.where(rng.random(table.shape) < signal, table, rng.integers(0, levels + 1, table.shape))
    yield
    return {"shares": np.bincount(told.ravel()) / told.size, "bytes": np.array(told.nbytes)}


def truths(inputs: Arrays) -> Steps:
    """Inverse deviation on raw reports, as many sweeps as ours."""
    symbols, levels = inputs["symbols"], int(inputs["levels"])
    low, high = (int(end) for end in inputs["domain"])
    sweeps = int(inputs["sweeps"])
    yield
    values = np.append(np.linspace(low, high, levels), np.nan)[symbols]
    given = ~np.isnan(values)
    values[~given] = 0.0
    weights = np.ones(symbols.shape[0])
    for sweep in range(sweeps + 1):
        found = (weights @ values) / (weights @ given)
        if sweep < sweeps:
            losses = np.where(given, np.square(values - found), 0.0).sum(axis=1) / given.sum(axis=1)
            weights = 1.0 / np.sqrt(np.maximum(losses, LEAST_LOSS * losses.mean()))
    yield
    return {"truths": found, "sweeps": np.array(sweeps)}
