"""Ours in this process: the whole release, what the peers do, weights alone, nothing but exponentials."""

from __future__ import annotations

import math
from importlib.metadata import version

import numpy as np

from benchmarks.claims import as_claims
from benchmarks.stopwatch import Arrays, Steps
from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.engines import Block, ByClaim, ByObject, LocalEngine
from crowdveil.kernels.exponential import exponentials
from crowdveil.kernels.gaussian import ONE_SWEEP, prepare, room_for, times
from crowdveil.kernels.ranges import longest
from crowdveil.randomness import secure
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.weights import Weights

LIBRARY = f"crowdveil {version('crowdveil')}"
DRAWS = 30
ROW = 1024  # numbers: 8 KiB and as much to work in, well inside a first-level cache


def whole_release(inputs: Arrays, threads: int | None = None) -> Steps:
    """Weights to convergence, bandwidths, draws through the privacy test, secure randomness."""
    claims, engine = as_claims(_read(inputs)), LocalEngine(threads)
    yield
    weights = PrisCrowd().estimate(claims, engine=engine)
    made = PrisCrowd().draw_weighted(claims, weights, rng=secure(), engine=engine)
    yield
    return {
        "combined": weights.combined,
        "bandwidths": weights.bandwidth,
        "released_offsets": made.offsets,
        "released": made.values,
    }


def fit_and_sample(inputs: Arrays, threads: int | None = None) -> Steps:
    """What the peers do: the density at the claims with the given weights and bandwidth, thirty draws."""
    claims, engine = as_claims(_read(inputs)), LocalEngine(threads)
    c, h = inputs["combined"], inputs["bandwidths"]
    given = Weights(np.ones(len(claims.users)), c, c, h, sweeps=0, converged=True)
    yield
    (densities,) = engine.map("densities", claims, _densities, None, ByClaim(c), ByObject(h), per=("claim",))
    _, draws, _ = draw(
        claims, given, PrivacyTest(), DRAWS, purpose="benchmark", rng=secure(), engine=engine, tested=False
    )
    yield
    return {"densities": densities, "draws": draws.reshape(-1, DRAWS)}


def _densities(block: Block, _: None, c: Floats, h: Floats) -> tuple[Floats]:
    out = np.empty(block.values.size)
    _fill_densities(block.offsets, block.values, c, h, 0, block.size, out)
    return (out,)


@compiled
def _fill_densities(
    offsets: Ints, values: Floats, c: Floats, h: Floats, first: int, last: int, out: Floats
) -> None:
    room = room_for(longest(offsets, first, last))
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        times(room, prepare(values[a:b], h[i], ONE_SWEEP, room), c[a:b], out[a:b])
        for s in range(a, b):
            out[s] /= h[i] * math.sqrt(2.0 * math.pi)


def weights(inputs: Arrays, threads: int | None = None) -> Steps:
    """All weights, no draws."""
    claims, engine = as_claims(_read(inputs)), LocalEngine(threads)
    yield
    found = PrisCrowd().estimate(claims, engine=engine)
    yield
    return {"combined": found.combined, "bandwidths": found.bandwidth}


def only_exponentials(inputs: Arrays) -> Steps:
    """As many exponentials as pairs of claims, in a row that stays in the first-level cache."""
    pairs = int(np.square(np.diff(inputs["offsets"])).sum())
    given = -np.linspace(0.0, 20.0, ROW)
    row, scratch = np.empty(ROW), np.empty(ROW)
    yield
    _exponentials_again(given, row, scratch, -(-pairs // ROW))
    yield
    return {"given": given, "row": row}


@compiled
def _exponentials_again(given: Floats, row: Floats, scratch: Floats, times: int) -> None:
    for _ in range(times):
        row[:] = given
        exponentials(row, scratch)


def _read(inputs: Arrays) -> Arrays:
    return {name: inputs[name] for name in ("offsets", "users", "values", "user_count")}
