"""What an engine is: it calls functions on blocks of whole objects, and knows nothing of methods.

A table of records has no claims: its blocks are records in a row.

A function is a module-level one, so that it can be sent elsewhere. It takes a block of claims, parameters
that all blocks share, and its parts of arrays by user, object or claim; it knows nothing of engines, and what
it returns for an object depends on that object alone. Sums over blocks are sums of integers. So results
depend neither on the engine nor on how the claims are divided.

A few numbers for each object and each user are where the engine is called. What is as large as the claims
stays with its blocks, wherever these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints

if TYPE_CHECKING:
    from crowdveil.engines.memory import Memory

Progress = Callable[[str, float], None]
"""A function of the name of a stage and the share of it that is done."""

Per = Literal["object", "claim", "value"]
"""What numbers are kept by; of values that were made for an object there may be any number."""
Array = NDArray[Any]

Kept = Any
"""Numbers by object, claim or value where the blocks are: an array on this machine, else a handle of it."""


@dataclass(frozen=True, eq=False)
class Block:
    """Whole objects with all their claims, laid out as in `Claims`; a table without claims has none here."""

    first: int  # the number of its first object among all
    names: pl.Series  # of its objects
    offsets: Ints  # (n + 1,), from 0
    user_codes: Codes  # (claims,), indices into parts by user
    values: Floats  # (claims,)
    users: Codes | None = None  # the users that codes stand for, where a block has its own list of them

    @property
    def size(self) -> int:
        """The number of objects."""
        return self.offsets.size - 1


RECORDS_TOGETHER = 2**16
"""Engines cut tables of records only between so many in a row: these have streams of their own."""


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Records in a row. Where a part or a result is by object, it is by record here."""

    first: int  # the number of its first record among all, a multiple of `RECORDS_TOGETHER`
    codes: Codes  # (n, d), one code for each column

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class ByUser:
    """An array by user; a block gets it so that its user codes index it."""

    numbers: Array


@dataclass(frozen=True, eq=False)
class UserNames:
    """The names of users, as a column; a block gets it so that its user codes index it."""


@dataclass(frozen=True, eq=False)
class ByObject:
    """Numbers by object, of which a block gets those of its objects."""

    numbers: Kept


@dataclass(frozen=True, eq=False)
class ByClaim:
    """Numbers by claim, of which a block gets those of its claims."""

    numbers: Kept


@dataclass(frozen=True, eq=False)
class ByValue:
    """Values made for objects, of which a block gets those of its objects; object i's begin at offsets[i]."""

    numbers: Kept
    offsets: Ints


Part = ByUser | UserNames | ByObject | ByClaim | ByValue
Function = Callable[..., tuple[Array, ...]]
"""`function(block, shared, *parts)` returns arrays, by object or by claim."""

Rows = Callable[..., pl.DataFrame]
"""`rows(block, shared, *parts)` returns a table, which may have any number of rows for each object."""

Digest = Callable[[Iterable[pl.DataFrame]], str]
"""`digest(tables)` returns a text about the rows of tables, one after the other."""


@dataclass(frozen=True, eq=False)
class Seal:
    """Metadata that tell of the rows that they are written with.

    `metadata` takes what `digest` makes of a file or, where a folder is written, of each file by its name.
    """

    digest: Digest
    metadata: Callable[[str | Mapping[str, str]], Mapping[str, str]]


Add = Callable[..., None]
"""`add(block, shared, *parts, totals)` adds whole numbers to `totals`."""

Judge = Callable[..., tuple[Array, ...]]
"""`judge(block, shared, *parts, totals)` adds to users' totals, and returns arrays by object."""


class Engine(Protocol):
    """Calls functions on the blocks of a table.

    `operations` estimates the total work of a call; by default it is one for each pair of an object's claims.
    """

    progress: Progress
    memory: Memory | None
    """What tables on this machine may take; None if that is not bounded."""

    def map(
        self,
        stage: str,
        table: Any,
        function: Function,
        shared: Any,
        *parts: Part,
        per: Sequence[Per] = ("object",),
        operations: float | None = None,
    ) -> tuple[Kept, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, kept where the blocks are.

        `per` says for each array that it returns whether it is by object or by claim.
        """

    def sum(
        self,
        stage: str,
        table: Any,
        size: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> Ints:
        """The totals, `size` of them, to which `add(block, shared, *parts, totals)` adds for all blocks."""

    def sum_by_user(
        self,
        stage: str,
        table: Any,
        width: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> Ints:
        """As `sum`, with `width` totals for each user; those of user u begin at `width * u`."""

    def judge(
        self,
        stage: str,
        table: Any,
        judge: Judge,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> tuple[Ints, tuple[Array, ...]]:
        """One total for each user, as `sum_by_user`, and what `judge` returns by object, collected."""

    def flat(self, kept: Kept, counts: Ints) -> Kept:
        """The first `counts[i]` numbers of row i, for all objects: numbers by value."""

    def collect(self, kept: Kept, rows: Ints | None = None, offsets: Ints | None = None) -> Array:
        """Numbers that are kept with the blocks, as one array: all of them, or those of some objects.

        `rows` are the numbers of these objects, ascending. For numbers by claim or by value `offsets` tells
        where those of each object begin.
        """

    def write(
        self,
        stage: str,
        table: Any,
        rows: Rows,
        *parts: Part,
        path: Path,
        offsets: Ints,
        metadata: Mapping[str, str] | Seal,
    ) -> None:
        """Write what `rows(block, None, *parts)` returns, where it is made: a Parquet file, or a folder.

        Object i's rows begin at `offsets[i]`. All files of a folder have the same metadata.
        """

    @property
    def writes_folders(self) -> bool:
        """Whether `write` makes a folder of Parquet files in place of one file."""

    def check_place(self, folder: Path) -> None:
        """Raise `OutputError` if what blocks write to this folder would not get there."""

    def spread(
        self,
        stage: str,
        count: int,
        work: Callable[[int, int], None],
        *,
        operations: float | None = None,
    ) -> None:
        """Call `work(first, last)` for ranges that cover `count` items, on the threads of this machine."""
