"""Every method gives the same results to the last bit, whether claims and large arrays are on disk or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdveil.arrays import Floats, Ints
from crowdveil.engines import Block, LocalEngine
from crowdveil.engines.stored import Spilled, StoredClaims
from crowdveil.errors import InputError
from crowdveil.files import read_labels_as_told
from crowdveil.noise_law import NoiseLaw
from crowdveil.randomness import seeded
from crowdveil.releases.method import release
from crowdveil.truth.registry import Input, method_for, methods_for
from every_method import RELEASED, crowd, labels_of, same_releases, same_truths, same_votes
from storing import BOUNDS, frame_of, stored

MEMORY = pytest.mark.parametrize("memory", BOUNDS)


@MEMORY
@pytest.mark.parametrize("name", RELEASED)
def test_a_release_does_not_depend_on_memory(name: str, memory: int, tmp_path: Path) -> None:
    claims, engine = stored(crowd(), tmp_path, memory), LocalEngine(2, memory=memory)
    if name == "certified, pooled" and memory == min(BOUNDS):
        with pytest.raises(InputError, match="all claims as one object do not fit in memory"):
            release(claims, RELEASED[name], rng=seeded(5), engine=engine)
        return
    whole = release(crowd(), RELEASED[name], rng=seeded(5), engine=LocalEngine(1))
    parts = release(claims, RELEASED[name], rng=seeded(5), engine=engine)
    assert len(whole) > 0
    if memory == min(BOUNDS):
        assert isinstance(parts.values, Spilled)
    same_releases(whole, replace(parts, values=engine.collect(parts.values)))


@MEMORY
@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_truths_do_not_depend_on_memory(name: str, memory: int, tmp_path: Path) -> None:
    infer, claims = method_for(Input.CLAIMS, name), stored(crowd(), tmp_path, memory)
    same_truths(infer(crowd(), engine=LocalEngine(1)), infer(claims, engine=LocalEngine(2, memory=memory)))


@MEMORY
@pytest.mark.parametrize("laplace", [0.0, 2.0])
def test_noise_aware_truths_do_not_depend_on_memory(laplace: float, memory: int, tmp_path: Path) -> None:
    infer, law = method_for(Input.NOISY_CLAIMS, None), NoiseLaw(0.0, 10.0, laplace, 0.5)
    claims = stored(crowd(), tmp_path, memory)
    same_truths(
        infer(crowd(), law, engine=LocalEngine(1)), infer(claims, law, engine=LocalEngine(2, memory=memory))
    )


@MEMORY
@pytest.mark.parametrize("name", methods_for(Input.LABELS))
def test_votes_do_not_depend_on_memory(name: str, memory: int, tmp_path: Path) -> None:
    claims, engine = crowd(), LocalEngine(2, memory=memory)
    label = pl.format("label {}", (pl.col("value") // 2).cast(pl.Int64))
    frame = frame_of(claims).with_columns(label.alias("value"))
    frame.write_parquet(tmp_path / "labels.parquet")
    read, _ = read_labels_as_told(str(tmp_path / "labels.parquet"), engine)
    assert isinstance(read.claims, StoredClaims)
    vote = method_for(Input.LABELS, name)
    same_votes(vote(labels_of(claims), engine=LocalEngine(1)), vote(read, engine=engine))


def test_any_engine_takes_claims_on_disk(tmp_path: Path) -> None:
    infer = method_for(Input.CLAIMS, "gtm")
    same_truths(*(infer(each, engine=LocalEngine(1)) for each in (crowd(), stored(crowd(), tmp_path, 9_000))))


@pytest.mark.parametrize("counts", [[3, 3, 3], [0, 1, 3], [0, 0, 0]])
def test_rows_on_disk_become_numbers_by_value(counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.engines.tables.FLATTENED_AT_ONCE", 4)
    rows, engine = np.arange(9.0).reshape(3, 3), LocalEngine()
    kept = Spilled((3, 3), np.float64)
    kept[0:3] = rows
    expected = engine.flat(rows, np.array(counts))
    flat = engine.flat(kept, np.array(counts))
    assert flat[:].tolist() == expected.tolist()
    assert engine.collect(kept, np.array([0, 2])).tolist() == rows[[0, 2]].tolist()
    offsets = np.concatenate([[0], np.cumsum(counts)])
    for some in ([0, 2], [1], []):
        chosen = np.array(some, dtype=np.int64)
        mine, others = (engine.collect(each, chosen, offsets).tolist() for each in (flat, expected))
        assert mine == others


def test_large_results_are_on_disk_as_long_as_others_take_the_room() -> None:
    def ones(block: Block, _: None) -> tuple[Floats]:
        return (np.ones(block.size),)

    engine, objects = LocalEngine(1, memory=16 * 8 * 30), crowd().without_claims()
    (first,) = engine.map("ones", objects, ones, None)
    (second,) = engine.map("ones", objects, ones, None)
    assert isinstance(first, np.ndarray)
    assert isinstance(second, Spilled)
    assert engine.collect(second).tolist() == first.tolist() == [1.0] * 30
    view = first[3:]
    del first
    assert isinstance(engine.map("ones", objects, ones, None)[0], Spilled)
    del view
    assert isinstance(engine.map("ones", objects, ones, None)[0], np.ndarray)


def test_what_is_judged_by_object_is_in_memory(tmp_path: Path) -> None:
    def judge(block: Block, _: None, totals: Ints) -> tuple[Floats]:
        np.add.at(totals, block.user_codes, 1)
        return (block.values[block.offsets[:-1]],)

    claims = stored(crowd(), tmp_path, 8_000)
    totals, (least,) = LocalEngine(2, memory=100).judge("judge", claims, judge, None)
    assert isinstance(least, np.ndarray)
    assert least.tolist() == [crowd().of(number)[0] for number in range(30)]
    assert totals.tolist() == crowd().claims_per_user().tolist()


def test_blocks_are_bounded_and_read_when_they_are_worked_on(tmp_path: Path) -> None:
    sizes: list[int] = []

    def note(block: Block, _: None) -> tuple[()]:
        sizes.append(block.values.size)
        return ()

    claims = stored(crowd(), tmp_path, 55_000)
    engine = LocalEngine(1, memory=55_000)
    for operations in (None, float(len(claims)), 0.0):
        sizes.clear()
        engine.map("note", claims, note, None, per=(), operations=operations)
        assert sum(sizes) == len(claims)
        assert max(sizes) <= max(55_000 // 4096, int(claims.counts().max()))
    assert not engine._cut
