"""The local engine: every object once, the same sums on any number of threads, errors that come through."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError

THREADS = [1, 2, 3, None]


@cache
def claims_of(objects: int, users: int) -> Claims:
    things: Any = np.repeat(np.arange(objects), users)
    people: Any = np.tile(np.arange(users), objects)
    return Claims.from_columns(things, people, (things + people) % 7.0)


SMALL = (3, 4)
LARGE = (1500, 40)  # 60,000 claims: several blocks


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_every_object_is_worked_on_once(threads: int | None, size: tuple[int, int]) -> None:
    claims = claims_of(*size)
    visits = np.zeros(len(claims.objects), dtype=np.int64)

    def work(first: int, last: int) -> None:
        visits[first:last] += 1

    LocalEngine(threads).run("visits", claims, work)
    assert np.all(visits == 1)


def test_large_claims_are_worked_on_in_several_blocks() -> None:
    blocks: list[tuple[int, int]] = []
    LocalEngine(2).run("blocks", claims_of(*LARGE), lambda first, last: blocks.append((first, last)))
    assert len(blocks) >= 3


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_sums_do_not_depend_on_threads(threads: int | None, size: tuple[int, int]) -> None:
    claims = claims_of(*size)

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        inside = slice(claims.offsets[first], claims.offsets[last])
        time.sleep(1e-3)  # let another thread in
        np.add.at(totals, claims.user_codes[inside], claims.values[inside].astype(np.int64) * 2**52)

    totals = LocalEngine(threads).sum("sums", claims, len(claims.users), add)
    expected = np.zeros(len(claims.users), dtype=np.int64)
    np.add.at(expected, claims.user_codes, claims.values.astype(np.int64) * 2**52)
    assert totals.tolist() == expected.tolist()


def test_every_sum_starts_from_nothing() -> None:
    engine, claims = LocalEngine(2), claims_of(*LARGE)

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        totals += last - first

    sums = [engine.sum("again", claims, 1, add).tolist() for _ in range(3)]
    assert sums == [[len(claims.objects)]] * 3


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_an_error_in_a_block_reaches_the_caller(threads: int | None, size: tuple[int, int]) -> None:
    def work(first: int, last: int) -> None:
        raise ZeroDivisionError(f"block {first}")

    with pytest.raises(ZeroDivisionError, match="block"):
        LocalEngine(threads).run("error", claims_of(*size), work)


def test_blocks_that_did_not_begin_are_dropped_after_an_error() -> None:
    begun: list[int] = []

    def work(first: int, last: int) -> None:
        begun.append(first)
        time.sleep(0.05)
        raise ZeroDivisionError

    claims = claims_of(6000, 20)
    with pytest.raises(ZeroDivisionError):
        LocalEngine(1).run("error", claims, work)
    assert len(begun) < len(list(claims.blocks(20_000)))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_progress_ascends_from_nothing_to_all(threads: int | None, size: tuple[int, int]) -> None:
    heard: list[tuple[str, float]] = []
    engine = LocalEngine(threads, progress=lambda stage, share: heard.append((stage, share)))
    engine.run("stage", claims_of(*size), lambda first, last: time.sleep(1e-3))
    shares = [share for _, share in heard]
    assert {stage for stage, _ in heard} == {"stage"}
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(ParameterError, match=f"threads must be at least 1, not {threads}"):
        LocalEngine(threads)
