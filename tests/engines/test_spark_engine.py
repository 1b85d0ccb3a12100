"""The Spark engine gives the results of the local one to the last bit, for every method."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from py4j.protocol import Py4JError

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByClaim, ByObject, ByUser, LocalEngine
from crowdveil.engines.spark import Cluster, SparkClaims, SparkEngine, lay_out
from crowdveil.engines.spark.cluster import _plain_error
from crowdveil.engines.spark.tables import table
from crowdveil.noise_law import NoiseLaw
from crowdveil.randomness import secure, seeded
from crowdveil.releases.method import release
from crowdveil.truth.registry import Input, method_for, methods_for
from every_method import RELEASED, crowd, same_releases, same_truths
from noting import Known

FEW, MANY = 1_000, 10  # users that are broadcast: of the crowd's 45 all, or none
BY_USER = ["certified, gaussian", "certified, coming and going", "certified, reliability", "priscrowd"]
Spread = Callable[..., SparkClaims]


@pytest.fixture(autouse=True)
def _functions_of_this_file() -> None:
    """Workers do not find this module: its functions are sent to them whole."""
    pytest.importorskip("pyspark").cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def spread(cluster: Cluster, tmp_path: Path) -> Spread:
    """Claims on workers, from a Parquet file in another order."""

    def lay(claims: Claims, **options: Any) -> SparkClaims:
        order = np.random.default_rng(3).permutation(len(claims))
        path = tmp_path / "claims.parquet"
        pl.DataFrame(
            {
                "o": claims.objects.gather(claims.owners()).gather(order),
                "u": claims.users.gather(claims.user_codes).gather(order),
                "v": claims.values[order],
            }
        ).write_parquet(path, row_group_size=100)
        frame = table(cluster, str(path))
        return lay_out(cluster, frame, object="o", user="u", value="v", source="claims", **options)

    return lay


def collected(claims: SparkClaims) -> Claims:
    return claims.picked(np.arange(claims.object_count))


def same_claims(one: Claims, other: Claims) -> None:
    assert one.objects.to_list() == other.objects.to_list()
    assert one.users.to_list() == other.users.to_list()
    for name in ("offsets", "user_codes", "values"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@pytest.mark.parametrize(("broadcast", "blocks"), [(FEW, 1), (FEW, 5), (MANY, 1), (MANY, 7)])
def test_claims_are_laid_out_as_here(spread: Spread, broadcast: int, blocks: int) -> None:
    claims = crowd()
    there = spread(claims, most_broadcast=broadcast, blocks=blocks)
    same_claims(collected(there), claims)
    assert (len(there), there.object_count, there.user_count) == (555, 30, 45)
    assert there.counts().tolist() == claims.counts().tolist()
    assert there.claims_per_user().tolist() == claims.claims_per_user().tolist()
    assert there.outside(3.0, 7.0) == claims.outside(3.0, 7.0)
    same_claims(collected(there.clamped(3.0, 7.0)[0]), claims.clamped(3.0, 7.0)[0])
    same_claims(collected(there.capped(4)), claims.capped(4))
    same_claims(collected(there.capped(1, keep_objects=True)), claims.capped(1, keep_objects=True))
    listed = ["7", "none", "0", "25", "zz"]
    same_claims(collected(there.about(listed)), claims.about(listed))
    same_claims(collected(there.pooled("all")), claims.pooled("all"))
    same_claims(there.picked(np.array([3, 20])), claims.picked(np.array([3, 20])))


@pytest.mark.parametrize("name", RELEASED)
def test_releases_are_those_of_the_local_engine(name: str, spread: Spread, spark: SparkEngine) -> None:
    broadcast = MANY if name in BY_USER else FEW
    there: Any = spread(crowd(), most_broadcast=broadcast, blocks=5)
    method = RELEASED[name]
    here = release(crowd(), method, rng=seeded(5), engine=LocalEngine())
    drawn = release(there, method, rng=seeded(5), engine=spark)
    same_releases(here, replace(drawn, values=spark.collect(drawn.values)))


@pytest.mark.parametrize("name", ["basic", "certified, histogram", "smoothed", "uniform"])
def test_without_a_seed_objects_draw_by_their_numbers(name: str, spread: Spread, spark: SparkEngine) -> None:
    """Under a fresh key the numbers of objects are what tells their streams apart."""
    there: Any = spread(crowd(), blocks=4)
    here = release(crowd(), RELEASED[name], rng=Known(None), engine=LocalEngine())
    drawn = release(there, RELEASED[name], rng=Known(None), engine=spark)
    assert np.asarray(here.values).tobytes() == spark.collect(drawn.values).tobytes()


@pytest.mark.parametrize("broadcast", [FEW, MANY])
@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_truths_are_those_of_the_local_engine(
    name: str, broadcast: int, spread: Spread, spark: SparkEngine
) -> None:
    infer, there = method_for(Input.CLAIMS, name), spread(crowd(), most_broadcast=broadcast, blocks=3)
    same_truths(infer(crowd(), engine=LocalEngine()), infer(there, engine=spark))


def test_noise_aware_truths_are_those_of_the_local_engine(spread: Spread, spark: SparkEngine) -> None:
    infer, law = method_for(Input.NOISY_CLAIMS, None), NoiseLaw(0.0, 10.0, 2.0, 0.5)
    there = spread(crowd(), most_broadcast=MANY, blocks=3)
    same_truths(infer(crowd(), law, engine=LocalEngine()), infer(there, law, engine=spark))


def _three(block: Block, scale: float, weights: Floats, places: Ints, kept: Floats) -> tuple[Floats]:
    return (scale * weights[block.user_codes] * np.repeat(places, np.diff(block.offsets)) + kept,)


@pytest.mark.parametrize("broadcast", [FEW, MANY])
def test_a_function_gets_its_parts(broadcast: int, spread: Spread, spark: SparkEngine) -> None:
    claims = crowd()
    there = spread(claims, most_broadcast=broadcast, blocks=4)
    weights, places = np.arange(45.0), np.arange(30)
    results = []
    pairs: list[tuple[Any, Any]] = [(LocalEngine(), claims), (spark, there)]
    for engine, where in pairs:
        (kept,) = engine.map("values", where, _values, None, per=("claim",))
        parts = ByUser(weights), ByObject(places), ByClaim(kept)
        results.append(engine.collect(engine.map("three", where, _three, 2.0, *parts, per=("claim",))[0]))
    assert results[0].tobytes() == results[1].tobytes()


def _values(block: Block, _: None) -> tuple[Floats]:
    return (block.values,)


def _dies_once(block: Block, marker: str) -> tuple[Ints]:
    """Kill this process, the first time that the block with object 10 comes by."""
    if block.first <= 10 < block.first + block.size:
        try:
            Path(marker).touch(exist_ok=False)
        except FileExistsError:
            return (np.full(block.size, os.getpid()),)
        os.kill(os.getpid(), signal.SIGKILL)
    return (np.full(block.size, os.getpid()),)


def test_a_killed_worker_changes_nothing(spread: Spread, spark: SparkEngine, tmp_path: Path) -> None:
    there: Any = spread(crowd(), blocks=3)
    rng = secure()
    first, second = (release(there, RELEASED["certified"], rng=rng, engine=spark) for _ in range(2))
    before = spark.collect(first.values).tobytes()
    marker = tmp_path / "died"
    (processes,) = spark.map("dying", there, _dies_once, str(marker))
    assert spark.collect(processes).size == 30
    assert marker.exists()
    first.values.arrays.unpersist()  # so that its blocks are drawn again
    assert spark.collect(first.values).tobytes() == before
    assert spark.collect(second.values).tobytes() != before


def test_a_java_that_ended_is_told_in_one_line() -> None:
    """Its errors ask it for their texts."""

    class LostError(Py4JError):  # type: ignore[misc]
        def __str__(self) -> str:
            raise ConnectionRefusedError

    error = _plain_error(LostError(), "weights")
    assert str(error).startswith("Spark did not finish: weights (its Java process ended")
