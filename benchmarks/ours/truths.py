"""Ours in this process: truths of numbers, votes on labels, and nothing but reading the claims."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import polars as pl

from benchmarks.claims import as_claims
from benchmarks.stopwatch import Arrays, Steps
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import summed
from crowdveil.engines import Block, LocalEngine
from crowdveil.labels import Labels
from crowdveil.truth import crh, gtm, one_coin
from crowdveil.truths import Truths, Voted

LIBRARY = f"crowdveil {version('crowdveil')}"
STEPS = 2.0**16  # of a sum of values, for one
METHODS: dict[str, Callable[..., Truths]] = {"gtm": gtm.discover, "crh": crh.discover}
VOTES: dict[str, Callable[..., Voted]] = {
    "majority": one_coin.majority,
    "weighted": one_coin.weighted,
    "one_coin": one_coin.one_coin,
}


def truths(inputs: Arrays, method: str, threads: int | None = None) -> Steps:
    """Truths, their errors and users' weights, to convergence, from claims that are laid out."""
    claims, engine = as_claims(inputs), LocalEngine(threads)
    yield
    found = METHODS[method](claims, engine=engine)
    yield
    return {"truths": found.estimates, "sweeps": np.array(found.sweeps)}


def only_reading(inputs: Arrays, method: str, threads: int) -> Steps:
    """Every array that a sweep needs, read once for each sweep of ours, and added up."""
    claims, engine = as_claims(inputs), LocalEngine(threads)
    sweeps = int(inputs[f"{method}_sweeps"])
    yield
    for _ in range(sweeps):
        sums = engine.sum("reading", claims, 2, _add_up, None, operations=float(len(claims)))
    yield
    return {"sums": sums / STEPS, "sweeps": np.array(sweeps)}


def _add_up(block: Block, _: None, totals: Ints) -> None:
    sums = np.zeros(2)
    _read(block.offsets, block.user_codes, block.values, 0, block.size, sums)
    totals += np.rint(sums * STEPS).astype(np.int64)


@summed
def _read(offsets: Ints, codes: Codes, values: Floats, first: int, last: int, sums: Floats) -> None:
    """Sums of values, and of codes and numbers of claims, of a block of objects."""
    value, code = 0.0, 0
    for i in range(first, last):
        code += offsets[i + 1] - offsets[i]
    for s in range(offsets[first], offsets[last]):
        value += values[s]
        code += codes[s]
    sums[0], sums[1] = value, float(code)


def votes(inputs: Arrays, method: str, threads: int | None = None) -> Steps:
    """A label for each object and the chance that it is right, from labels that are laid out."""
    labels = Labels(as_claims(inputs), pl.Series("label", np.arange(int(inputs["choices"]))))
    engine = LocalEngine(threads)
    yield
    found = VOTES[method](labels, engine=engine)
    yield
    return {"labels": found.estimates.to_numpy(), "sweeps": np.array(found.sweeps)}
