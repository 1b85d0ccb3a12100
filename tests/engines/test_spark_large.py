"""Bundles and truths of millions of claims by Spark are those of one machine, for every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from pyarrow.parquet import ParquetWriter

from crowdveil.engines import Engine, LocalEngine
from crowdveil.engines.spark import SparkEngine, connected
from crowdveil.engines.spark.laying_out import MOST_BROADCAST
from crowdveil.ledger import Ledger
from crowdveil.operations.discover import discover
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.smoothed import Smoothed
from crowdveil.truth.registry import Input, methods_for
from spark_fixtures import NO_JAVA, has_java, standalone_cluster

pytestmark = pytest.mark.slow_audit

USERS, OBJECTS, LARGEST = 10_000_000, 2_000_000, 1_000_000
PARTS = 20
KINDS = pa.schema([("object", pa.string()), ("user", pa.string()), ("value", pa.float64())])
SIMULATED = 10_000_000
PER_OBJECT = 1_000
Methods = dict[str, ReleaseMethod]


def methods(limits: Range) -> Methods:
    """Every release method, and certified in its ways."""
    width = 0.02 * limits.length
    certified = Certified(4.0, limits, unit="claim")
    return {
        "certified": certified,
        "certified, persons": Certified(8.0, limits, unit="user", cap=50, delta=1e-6),
        "certified, histogram": replace(certified, estimator="histogram"),
        "certified, reliability": replace(certified, estimator="histogram", reliability=0.5),
        "certified, pooled": replace(certified, pooled=True),
        "smoothed": Smoothed(limits, bandwidth=width),
        "attempts": Attempts(limits, bandwidth=width, k=16, epsilon0=1.0),
        "priscrowd": PrisCrowd(range=limits),
        "uniform": Uniform(range=limits),
        "basic": Basic(1.0, limits),
    }


NAMES = list(methods(Range(0.0, 1.0)))
Source = tuple[Path, Range]


@pytest.fixture(scope="module", params=["local", "two workers"])
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """Two cores of this process's Java, or two workers with one core each."""
    if not has_java():
        pytest.skip(NO_JAVA)
    with ExitStack() as stack:
        master, settings = "local[2]", {}
        if request.param != "local":
            folder = tmp_path_factory.mktemp("cluster")
            running = stack.enter_context(standalone_cluster(folder, memory="6g"))
            environment = stack.enter_context(pytest.MonkeyPatch.context())
            environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
            master, settings = running.master, {"spark.executor.memory": "5g"}
        yield SparkEngine(stack.enter_context(connected(master, settings=settings)))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Ten million claims of 100,000 users, in random order."""
    rng, path = np.random.default_rng(1), tmp_path_factory.mktemp("simulated") / "claims.parquet"
    objects = np.repeat(np.arange(SIMULATED // PER_OBJECT), PER_OBJECT)
    users = (
        rng.integers(100, size=objects.size // PER_OBJECT).repeat(PER_OBJECT) + 100 * np.arange(objects.size)
    ) % 100_000
    values = np.clip(rng.normal(rng.uniform(2, 8, objects.size // PER_OBJECT).repeat(PER_OBJECT), 1.0), 0, 10)
    order = rng.permutation(objects.size)
    pl.DataFrame({"object": objects[order], "user": users[order], "value": values[order]}).with_columns(
        pl.format("o{}", "object").alias("object"), pl.format("u{}", "user").alias("user")
    ).write_parquet(path)
    return path, Range(0.0, 10.0)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Ten million users, more than are broadcast; two million objects of 20 claims, one of a million."""
    rng, path = np.random.default_rng(2), tmp_path_factory.mktemp("wide") / "claims.parquet"
    objects = np.concatenate([np.repeat(np.arange(OBJECTS), 20), np.full(LARGEST, OBJECTS)])
    begins = rng.integers(USERS, size=OBJECTS)
    steps = 499_979 * np.arange(20)  # apart from each other also once they have gone round
    users = np.concatenate(
        [((begins[:, None] + steps) % USERS).ravel(), np.arange(0, USERS, USERS // LARGEST)]
    )
    values = np.clip(rng.normal(5.0, 1.5, objects.size), 0, 10)
    with ParquetWriter(path, KINDS) as writer:
        for part in range(PARTS):
            rows = rng.permutation(np.arange(part, objects.size, PARTS))
            names = pl.DataFrame({"o": objects[rows], "u": users[rows]}).select(
                pl.format("o{}", "o"), pl.format("u{}", "u")
            )
            columns = [*(each.to_arrow().cast(pa.string()) for each in names.iter_columns()), values[rows]]
            writer.write_table(pa.table(columns, schema=KINDS))
    return path, Range(0.0, 10.0)


@pytest.fixture
def flights(datasets: Path) -> Source:
    """2.2 million real claims."""
    return datasets / "flight_all31days_claims.parquet", Range(0.0, 1440.0)


@pytest.fixture(params=["flights", "simulated"])
def source(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def both(spark: SparkEngine, folder: Path, run: Callable[[Path, Engine], None]) -> tuple[Path, Path]:
    here, there = folder / "here", folder / "there"
    run(here, LocalEngine())
    run(there, spark)
    return here, there


def table(path: Path) -> pl.DataFrame:
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    return pl.concat([pl.read_parquet(part) for part in parts])


@pytest.mark.parametrize("name", NAMES)
def test_bundles(name: str, source: Source, spark: SparkEngine, tmp_path: Path) -> None:
    same_bundles(name, source, spark, tmp_path)


def same_bundles(name: str, source: Source, spark: SparkEngine, tmp_path: Path) -> None:
    """The same tables, public pages and files of the operator."""
    path, limits = source
    book = Ledger(tmp_path / "ledger.sqlite3")

    def bundle(out: Path, engine: Engine) -> None:
        release(
            *(str(path), methods(limits)[name], out, Account(book, "x")),
            rng=seeded(7),
            engine=engine,
            insist=True,
            csv=False,
        )

    here, there = both(spark, tmp_path, bundle)
    assert_frame_equal(table(here / "claims.parquet"), table(there / "claims.parquet"))
    assert (here / "public.html").read_bytes() == (there / "public.html").read_bytes()
    for file in sorted((tmp_path / "here-private").iterdir()):
        assert file.read_bytes() == (tmp_path / "there-private" / file.name).read_bytes()


@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_truths(name: str, source: Source, spark: SparkEngine, tmp_path: Path) -> None:
    same_truths(name, source, spark, tmp_path)


def same_truths(name: str, source: Source, spark: SparkEngine, tmp_path: Path) -> None:
    """The same truths and weights."""
    path, _ = source

    def truths(out: Path, engine: Engine) -> None:
        discover(str(path), out=f"{out}.parquet", method=name, engine=engine)

    here, there = both(spark, tmp_path, truths)
    for ending in (".parquet", ".weights.parquet"):
        assert Path(f"{here}{ending}").read_bytes() == Path(f"{there}{ending}").read_bytes()


def test_many_users_and_one_large_object(wide: Source, spark: SparkEngine, tmp_path: Path) -> None:
    assert USERS > MOST_BROADCAST
    same_truths("gtm", wide, spark, tmp_path)
    same_bundles("priscrowd", wide, spark, tmp_path)
