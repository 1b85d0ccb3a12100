"""The local engine: every object once, parts that fit, the same sums on any number of threads, errors."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyarrow import parquet

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims, Objects
from crowdveil.engines import Block, ByClaim, ByObject, ByUser, ByValue, LocalEngine
from crowdveil.errors import ParameterError

THREADS = [1, 2, 3, None]


@cache
def claims_of(objects: int, users: int) -> Claims:
    things: Any = np.repeat(np.arange(objects), users)
    people: Any = np.tile(np.arange(users), objects)
    return Claims.from_columns(things, people, (things + people) % 7.0)


SMALL = (3, 4)
LARGE = (1500, 40)  # 60,000 claims: several blocks
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])


def everything(
    block: Block, factor: float, weights: Floats, scales: Floats, marks: Ints
) -> tuple[Ints, Floats, Floats, Ints]:
    """Objects' numbers and weighted sums, and by claim a product and the mark."""
    products = factor * weights[block.user_codes] * block.values
    sums = scales * np.add.reduceat(products, block.offsets[:-1])
    assert block.names.to_list() == list(range(block.first, block.first + block.size))
    return np.arange(block.first, block.first + block.size), sums, products, marks


@pytest.mark.parametrize("threads", THREADS)
@SIZES
def test_a_map_takes_every_object_once_with_the_parts_that_belong_to_it(
    threads: int | None, size: tuple[int, int]
) -> None:
    claims = claims_of(*size)
    rng = np.random.default_rng(1)
    weights, scales = rng.random(len(claims.users)), rng.random(len(claims.objects))
    marks = rng.integers(0, 9, len(claims))
    parts = ByUser(weights), ByObject(scales), ByClaim(marks)
    per: Any = ("object", "object", "claim", "claim")
    numbers, sums, products, back = LocalEngine(threads).map("all", claims, everything, 2.0, *parts, per=per)
    expected = 2.0 * weights[claims.user_codes] * claims.values
    assert numbers.tolist() == list(range(len(claims.objects)))
    assert (products == expected).all()
    assert (sums == scales * np.add.reduceat(expected, claims.offsets[:-1])).all()
    assert (back == marks).all()


def test_what_a_function_gets_cannot_be_changed_by_it() -> None:
    numbers = np.ones(3)

    def spoil(block: Block, _: None, weights: Floats) -> tuple[Floats]:
        for array in (block.offsets, block.user_codes, block.values, weights):
            assert not array.flags.writeable
        return (np.zeros(block.size),)

    LocalEngine().map("spoil", claims_of(*SMALL), spoil, None, ByObject(numbers))
    assert numbers.flags.writeable


def test_a_table_without_claims_has_only_names() -> None:
    def names(block: Block, _: None, numbers: Ints) -> tuple[Ints]:
        assert not block.values.size
        assert not block.offsets.any()
        return (block.names.to_numpy() - numbers,)

    objects = claims_of(*LARGE).without_claims()
    (found,) = LocalEngine(2).map("names", objects, names, None, ByObject(np.arange(1500)))
    assert found.shape == (1500,)
    assert not found.any()


def test_large_claims_are_worked_on_in_several_blocks() -> None:
    blocks: list[int] = []

    def note(block: Block, _: None) -> tuple[()]:
        blocks.append(block.size)
        return ()

    LocalEngine(2).map("blocks", claims_of(*LARGE), note, None, per=())
    assert len(blocks) >= 3
    assert sum(blocks) == 1500


@pytest.mark.parametrize("threads", THREADS)
@SIZES
def test_sums_do_not_depend_on_threads(threads: int | None, size: tuple[int, int]) -> None:
    claims = claims_of(*size)

    def add(block: Block, factor: int, totals: Ints) -> None:
        time.sleep(1e-3)  # let another thread in
        np.add.at(totals, block.user_codes, block.values.astype(np.int64) * factor)

    totals = LocalEngine(threads).sum_by_user("sums", claims, 1, add, 2**52)
    expected = np.zeros(len(claims.users), dtype=np.int64)
    np.add.at(expected, claims.user_codes, claims.values.astype(np.int64) * 2**52)
    assert totals.tolist() == expected.tolist()


@pytest.mark.parametrize("threads", THREADS)
@SIZES
def test_a_judge_gives_totals_by_user_and_numbers_by_object(
    threads: int | None, size: tuple[int, int]
) -> None:
    claims = claims_of(*size)

    def judge(block: Block, _: None, totals: Ints) -> tuple[Floats, Ints]:
        np.add.at(totals, block.user_codes, 1)
        return block.values[block.offsets[:-1]], np.diff(block.offsets)

    totals, (least, counts) = LocalEngine(threads).judge("judge", claims, judge, None)
    assert (totals == claims.claims_per_user()).all()
    assert (least == claims.values[claims.offsets[:-1]]).all()
    assert (counts == claims.counts()).all()


def test_every_sum_starts_from_nothing() -> None:
    engine, claims = LocalEngine(2), claims_of(*LARGE)

    def add(block: Block, _: None, totals: Ints) -> None:
        totals += block.size

    sums = [engine.sum("again", claims, 1, add, None).tolist() for _ in range(3)]
    assert sums == [[len(claims.objects)]] * 3


def test_rows_of_some_objects_are_collected() -> None:
    kept = np.arange(12).reshape(4, 3)
    assert LocalEngine().collect(kept, np.array([1, 3])).tolist() == [[3, 4, 5], [9, 10, 11]]
    assert LocalEngine().collect(kept) is kept


def test_numbers_of_some_objects_are_collected() -> None:
    kept, offsets = np.arange(10), np.array([0, 3, 3, 4, 10])
    collected = LocalEngine().collect(kept, np.array([0, 1, 3]), offsets)
    assert collected.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_rows_become_numbers_by_value() -> None:
    rows = np.arange(12).reshape(4, 3)
    assert LocalEngine().flat(rows, np.array([3, 3, 3, 3])).tolist() == list(range(12))
    assert LocalEngine().flat(rows, np.array([0, 1, 3, 2])).tolist() == [3, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("counts", [[3], [0], [5, 5, 5], [0, 0, 4, 0, 9, 1], [2] * 50, [100, 1, 1]])
@pytest.mark.parametrize("rows", [1, 4, 7, 1000])
def test_a_written_table_has_all_rows_in_order(
    counts: list[int], rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.engines.local.ROWS_AT_ONCE", rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    objects = pl.Series("object", [f"o{number:03}" for number in range(len(counts))])
    values, sizes = np.arange(float(offsets[-1])), []

    def table(block: Block, _: None, numbers: Ints, own: Floats) -> pl.DataFrame:
        sizes.append(own.size)
        return pl.DataFrame(
            {"object": block.names.gather(np.repeat(np.arange(block.size), numbers)), "value": own}
        )

    LocalEngine().write(
        *("writing", Objects(objects), table, ByObject(np.array(counts)), ByValue(values, offsets)),
        path=tmp_path / "table.parquet",
        offsets=offsets,
        metadata={"kind": "test"},
    )
    read = pl.read_parquet(tmp_path / "table.parquet")
    assert read["value"].to_list() == values.tolist()
    assert read["object"].to_list() == objects.gather(np.repeat(np.arange(len(counts)), counts)).to_list()
    assert max(sizes) <= max(rows, *counts)
    assert parquet.read_schema(tmp_path / "table.parquet").metadata[b"kind"] == b"test"


@pytest.mark.parametrize("threads", THREADS)
@SIZES
def test_an_error_in_a_block_reaches_the_caller(threads: int | None, size: tuple[int, int]) -> None:
    def fail(block: Block, _: None) -> tuple[()]:
        raise ZeroDivisionError(f"block {block.first}")

    with pytest.raises(ZeroDivisionError, match="block"):
        LocalEngine(threads).map("error", claims_of(*size), fail, None, per=())


def test_blocks_that_did_not_begin_are_dropped_after_an_error() -> None:
    begun: list[int] = []

    def fail(block: Block, _: None) -> tuple[()]:
        begun.append(block.first)
        time.sleep(0.05)
        raise ZeroDivisionError

    claims = claims_of(6000, 20)
    with pytest.raises(ZeroDivisionError):
        LocalEngine(1).map("error", claims, fail, None, per=())
    assert len(begun) < len(list(claims.blocks(20_000)))


@pytest.mark.parametrize("threads", THREADS)
@SIZES
def test_progress_ascends_from_nothing_to_all(threads: int | None, size: tuple[int, int]) -> None:
    heard: list[tuple[str, float]] = []

    def wait(block: Block, _: None) -> tuple[()]:
        time.sleep(1e-3)
        return ()

    engine = LocalEngine(threads, progress=lambda stage, share: heard.append((stage, share)))
    engine.map("stage", claims_of(*size), wait, None, per=())
    shares = [share for _, share in heard]
    assert {stage for stage, _ in heard} == {"stage"}
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(ParameterError, match=f"threads must be at least 1, not {threads}"):
        LocalEngine(threads)
