"""Blocks in memory that workers share: found where they are, missed where they are not, never wrong."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.arrays import Ints
from crowdveil.engines import Block
from crowdveil.engines.spark import Cluster, SparkEngine, lay_out, sharing
from every_method import crowd

BLOCK = Block(
    3,
    pl.Series("object", ["a", "b", "c"]),
    np.array([0, 2, 2, 7]),
    np.arange(7, dtype=np.int32),
    np.linspace(0.0, 1.0, 7),
)


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    yield
    list(sharing._into_memory("", frozenset(), []))
    assert not sharing._held


def test_a_block_is_found_in_another_process() -> None:
    place = sharing._put("table", BLOCK)
    program = "import pickle, sys; block = pickle.load(sys.stdin.buffer).block(); print(block.values.sum())"
    told = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(place), capture_output=True, check=True
    )
    assert float(told.stdout) == BLOCK.values.sum()
    here = place.block()
    assert here.names.to_list() == BLOCK.names.to_list()
    for name in ("offsets", "user_codes", "values"):
        assert getattr(here, name).tobytes() == getattr(BLOCK, name).tobytes()
        assert not getattr(here, name).flags.writeable


def test_a_block_that_is_not_there_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    place = sharing._put("table", BLOCK)
    other = sharing._put("table", BLOCK)
    assert replace(place, mark=other.mark).block() is None
    assert replace(place, machine="another").block() is None
    assert replace(place, process=2**22 - 1).block() is None
    assert replace(place, descriptor=0).block() is None
    list(sharing._into_memory("next", frozenset({"next"}), [None]))
    assert place.block() is None
    monkeypatch.setattr(sharing, "usable", lambda: 10)
    assert sharing._put("table", BLOCK).block() is None
    assert sharing.block_of(None) == (True, None)
    assert sharing.block_of(sharing._put("table", BLOCK)) == (False, None)


def _count(block: Block, _: None, totals: Ints) -> None:
    totals += np.bincount(block.user_codes, minlength=totals.size)


def _process(block: Block, _: None) -> tuple[Ints]:
    return (np.full(block.size, os.getpid()),)


def test_sums_are_the_same_when_workers_end(cluster: Cluster, spark: SparkEngine) -> None:
    pytest.importorskip("pyspark").cloudpickle.register_pickle_by_value(sys.modules[__name__])
    claims = crowd()
    frame = cluster.spark.createDataFrame(
        list(
            zip(
                claims.objects.gather(claims.owners()).to_list(),
                claims.users.gather(claims.user_codes).to_list(),
                claims.values.tolist(),
                strict=True,
            )
        ),
        ["o", "u", "v"],
    )
    there: Any = lay_out(cluster, frame, object="o", user="u", value="v", source="claims", blocks=3)
    usual = claims.claims_per_user().tolist()

    def count() -> list[int]:
        counted: list[int] = spark.sum_by_user("counting", there, 1, _count, None).tolist()
        return counted

    assert [count() for _ in range(3)] == [usual] * 3
    table = cluster._sharing[there]
    assert table._shared is not None
    assert table._misses == 0
    (processes,) = spark.map("processes", there, _process, None)
    for process in {*spark.collect(processes).tolist(), *_holders(table)}:
        os.kill(process, signal.SIGKILL)
    assert [count() for _ in range(4)] == [usual] * 4
    assert table._misses == 1


def _holders(table: sharing.Sharing) -> list[int]:
    assert table._shared is not None
    return [place.process for place in table._shared.collect() if place is not None]


def test_blocks_take_half_of_what_is_free_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two workers, each of which holds as many blocks as the other."""
    size = sharing._put("table", BLOCK).ends[-1]
    own = os.fstat(sharing._held["table"][0]).st_size
    free = 100 * size

    def left() -> int:
        return free - 2 * own * len(sharing._held["table"])

    monkeypatch.setattr(sharing, "usable", left)
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    placed = [sharing._put("table", BLOCK).process for _ in range(60)]
    assert placed[:24] == [os.getpid()] * 24
    assert not any(placed[24:])
