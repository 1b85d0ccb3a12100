"""Ours on one machine and on Spark, after their start: sweeps over claims, and files in, files out."""

from __future__ import annotations

import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.stopwatch import Arrays, Steps
from crowdveil.arrays import Floats
from crowdveil.engines import ByObject, ByUser, Engine, LocalEngine
from crowdveil.files import read_claims_as_told
from crowdveil.ledger import Ledger
from crowdveil.operations.discover import discover
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.weights import _add_losses, _bandwidths
from crowdveil.truth.sweeps import _squared_residuals, spreads

LIBRARY = f"crowdveil {version('crowdveil')}"
TEN = Range(0.0, 10.0)
METHODS = {"priscrowd": PrisCrowd(), "basic": Basic(1.0, TEN), "certified": Certified(4.0, TEN, unit="claim")}
UNIT = 2.0**30


@cache
def _engine(master: str, memory: int) -> Engine:
    """This machine with so many bytes, or Spark, which ends with the process."""
    if not master:
        return LocalEngine(memory=memory or None)
    from crowdveil.engines.spark import SparkEngine, connected

    return SparkEngine(connected(master))


def sweeps(inputs: Arrays, kind: str, count: int, master: str = "", memory: int = 0) -> Steps:
    """So many sweeps of truth discovery, or of PrisCrowd's global weights, over claims that are laid out."""
    engine = _engine(master, memory)
    claims, _ = read_claims_as_told(str(inputs["parquet"]), engine)
    scales = spreads(claims, engine)
    bandwidths = _bandwidths(claims, 1.06, 1e-3, engine)
    weights: Floats = np.ones(claims.user_count)

    def sweep(weights: Floats) -> Floats:
        if kind == "truths":
            totals, _ = engine.judge(
                *("truths", claims, _squared_residuals, (0.0, UNIT), ByUser(weights), ByObject(scales)),
                operations=float(len(claims)),
            )
        else:
            totals = engine.sum_by_user(
                "weights", claims, 1, _add_losses, UNIT, ByUser(weights), ByObject(bandwidths)
            )
        return 1.0 / (1.0 + totals / UNIT)

    weights = sweep(weights)
    yield
    for _ in range(count):
        weights = sweep(weights)
    yield
    return {"weights": weights}


def truths(inputs: Arrays, method: str, master: str = "", memory: int = 0) -> Steps:
    """From a file of claims to a file of truths."""
    engine = _engine(master, memory)
    with tempfile.TemporaryDirectory() as folder:
        yield
        found = discover(
            *(str(inputs["parquet"]),), out=f"{folder}/truths.parquet", method=method, engine=engine
        )
        yield
        return {"objects": np.array(len(found.table)), "sweeps": np.array(found.truths.sweeps)}


def releases(inputs: Arrays, method: str, master: str = "", memory: int = 0) -> Steps:
    """From a file of claims to a bundle of Parquet."""
    engine = _engine(master, memory)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        account = Account(Ledger(folder / "ledger.sqlite3"), "benchmark")
        yield
        released = release(
            *(str(inputs["parquet"]), METHODS[method], folder / "out", account),
            rng=seeded(1),
            engine=engine,
            csv=False,
            insist=True,
        )
        yield
        return {"objects": np.array(len(released.release.objects))}
