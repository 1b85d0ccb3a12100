"""Blocks in memory that all Python workers of a machine can see, so that a sweep copies nothing.

Spark hands a block to a worker as bytes through a socket, which takes longer than a sweep over it. So once a
table is summed over again, its blocks are put into memory files without a name, each held open by the worker
that made it. A task opens the file through that worker's entry in /proc. The files end with the workers.

This is a short cut and no more: where a file is not found, because its worker ended or the task runs on
another machine, the call is made again with the blocks that Spark keeps. Results are sums of whole numbers,
the same either way.
"""

from __future__ import annotations

import mmap
import os
import pickle
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdveil.engines.memory import usable
from crowdveil.engines.spark.blocks import kept
from crowdveil.engines.threads import cores

if TYPE_CHECKING:
    from pyspark import RDD

NAME = "crowdveil-block"
SHARE = 0.5  # of the memory that is free on a machine, for all its cores: larger blocks are not put there
ALIGNED = 64  # bytes, as the loops like their arrays
MOST_MISSES = 2  # after which blocks come from Spark for good
MARK = 16  # random bytes at the beginning, by which a file is known

_held: dict[str, list[int]] = {}  # in a worker: its open files, by table


class Sharing:
    """Where calls find a table's blocks: in shared memory from the second one on, or where Spark has them."""

    def __init__(self, blocks: RDD[Any]) -> None:
        self._blocks = blocks
        self._shared: RDD[Any] | None = None
        self._calls = self._misses = 0
        self.name = ""  # of what is in memory, if anything is

    def ways(self, alive: Iterable[str]) -> Iterator[RDD[Any]]:
        """Where to look first, and where all blocks are; workers let go of tables that are not `alive`."""
        self._calls += 1
        if self._calls > 1 and self._misses < MOST_MISSES:
            if self._shared is None:
                self.name = secrets.token_hex(8)
                self._shared = kept(
                    self._blocks.mapPartitions(partial(_into_memory, self.name, frozenset(alive)))
                )
            yield self._shared
            self._misses, self._shared = self._misses + 1, None  # whoever asks again did not find some
        yield self._blocks


@dataclass(frozen=True)
class InMemory:
    """Where a block is: an open file of a worker."""

    machine: str
    process: int
    descriptor: int
    mark: bytes
    ends: tuple[int, ...]  # of the parts in the file: the mark, the pickled block, its arrays

    def block(self) -> Any:
        """The block, whose arrays are in that memory; None if it is not there any more."""
        path = f"/proc/{self.process}/fd/{self.descriptor}"
        try:
            if self.machine != _machine() or NAME not in os.readlink(path):  # noqa: PTH115, as text
                return None
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            whole = memoryview(mmap.mmap(descriptor, self.ends[-1], prot=mmap.PROT_READ))
        except (OSError, ValueError):
            return None
        finally:
            os.close(descriptor)
        mark, pickled, *arrays = (whole[_aligned(a) : b] for a, b in pairwise((0, *self.ends)))
        return pickle.loads(pickled, buffers=arrays) if mark == self.mark else None  # noqa: S301, our own


def block_of(found: Any) -> tuple[bool, Any]:
    """Whether a block was found, and the block; there is None in a partition without one."""
    if not isinstance(found, InMemory):
        return True, found
    block = found.block()
    return block is not None, block


def _into_memory(name: str, alive: frozenset[str], blocks: Iterable[Any]) -> Iterator[InMemory | None]:
    for old in _held.keys() - alive - {name}:
        for descriptor in _held.pop(old):
            os.close(descriptor)
    for block in blocks:
        yield None if block is None else _put(name, block)


def _put(name: str, block: Any) -> InMemory:
    """Put a block into memory; where there is too little, what is returned leads nowhere."""
    buffers: list[pickle.PickleBuffer] = []
    mark = secrets.token_bytes(MARK)
    pickled = pickle.dumps(block, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(mark), memoryview(pickled), *(each.raw() for each in buffers)]
    ends: list[int] = []
    for part in parts:
        ends.append(_aligned(ends[-1] if ends else 0) + part.nbytes)
    if not _is_room_for(ends[-1]):
        return InMemory(_machine(), 0, 0, mark, tuple(ends))
    with suppress(OSError, AttributeError):  # a system without such files
        descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC)
        _held.setdefault(name, []).append(descriptor)
        os.ftruncate(descriptor, ends[-1])
        for part, end in zip(parts, ends, strict=True):
            _write(descriptor, part, end - part.nbytes)
        return InMemory(_machine(), os.getpid(), descriptor, mark, tuple(ends))
    return InMemory(_machine(), 0, 0, mark, tuple(ends))


def _is_room_for(size: int) -> bool:
    """Whether blocks take at most their share of memory, if other workers hold as many as this one."""
    held = sum(os.fstat(descriptor).st_size for each in _held.values() for descriptor in each)
    free = usable()
    return free is None or held + size <= SHARE * (free / cores() + held)


def _write(descriptor: int, part: memoryview, place: int) -> None:
    while part.nbytes:
        done = os.pwrite(descriptor, part, place)
        part, place = part[done:], place + done


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED


@cache
def _machine() -> str:
    """What tells this machine, or container, from others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
