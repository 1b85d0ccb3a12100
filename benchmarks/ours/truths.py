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
from crowdveil.engines import LocalEngine
from crowdveil.labels import Labels
from crowdveil.truth import crh, gtm, one_coin
from crowdveil.truths import Truths, Voted

LIBRARY = f"crowdveil {version('crowdveil')}"
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
    offsets, codes, values = claims.offsets, claims.user_codes, claims.values
    sweeps = int(inputs[f"{method}_sweeps"])
    sums = np.zeros((offsets.size, 2))
    yield
    for _ in range(sweeps):
        engine.run(
            "reading",
            claims,
            lambda first, last: _read(offsets, codes, values, first, last, sums[first]),
            operations=float(len(claims)),
        )
    yield
    return {"sums": sums.sum(axis=0), "sweeps": np.array(sweeps)}


@summed
def _read(offsets: Ints, codes: Codes, values: Floats, first: int, last: int, sums: Floats) -> None:
    """Sums of values, and of codes and offsets, of a block of objects."""
    value, code = 0.0, 0
    for i in range(first, last):
        code += offsets[i]
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
