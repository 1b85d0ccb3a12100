"""The engine of a cluster: blocks of whole objects are the partitions of a persisted RDD on Spark's workers.

Spark codes, groups and lays out the claims; the driver never holds them. Results are those of the local
engine to the last bit: blocks are laid out the same way, every object draws from its own streams, and sums
are sums of integers. A task that runs again computes the same.

The driver holds names, and a few numbers, of all objects and users. Arrays by user go to the workers as
broadcast variables; arrays by object go to the blocks that they belong to.

This is the only file that imports pyspark.
"""

from __future__ import annotations

import gc
import io
import itertools
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Ints, frozen
from crowdveil.claims import LARGEST_VALUE, Claims, listed_names, name_hashes
from crowdveil.engines.engine import (
    Add,
    Array,
    Block,
    ByClaim,
    ByUser,
    Function,
    Judge,
    Part,
    Per,
    Progress,
)
from crowdveil.engines.local import LocalEngine, silent
from crowdveil.errors import InputError, ParameterError
from crowdveil.kernels import layout

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession

CLAIMS_PER_BLOCK = 2_000_000
MOST_BROADCAST = 2_000_000  # users: with more, a block gets the numbers of its own users only
FEWEST_BLOCKS = 2  # for each core
LARGE = 100_000  # bytes: larger arrays that all blocks share are broadcast
OLDEST_JAVA = 17
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double")
_ROW = 33  # bits of a row's number within its partition, in Spark's monotonically increasing numbers


# --- the session --------------------------------------------------------------------------------------------


def session(master: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A quiet Spark session on `master`, with its own files encrypted; one clear error if there is none."""
    _check_surroundings()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(master).setAppName("crowdveil")
    for name, value in (_SETTINGS | dict(settings or {})).items():
        conf.set(name, value)
    try:
        gateway = launch_gateway(conf=conf, popen_kwargs={"stderr": subprocess.DEVNULL})
        context = SparkContext(conf=conf, gateway=gateway)
        context.setLogLevel("OFF")
        return SparkSession(context)
    except Exception:  # whatever Java says: its own words are pages long
        raise ParameterError(
            f"Spark cannot start with --master {master}: is it reachable, and of Spark's own version?"
        ) from None


_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.io.encryption.enabled": "true",  # of claims, and of the key of draws, on local disks
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.python.unix.domain.socket.enabled": "true",
}


def _check_surroundings() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise ParameterError("--engine spark needs PySpark: pip install 'crowdveil[spark]'") from None
    import pandas as pd

    if int(pd.__version__.split(".")[0]) >= 3:
        raise ParameterError(f"--engine spark needs pandas below 3, not {pd.__version__}")
    home = os.environ.get("JAVA_HOME")
    if not (home and os.access(Path(home) / "bin" / "java", os.X_OK)) and shutil.which("java") is None:
        raise ParameterError(
            f"--engine spark needs Java {OLDEST_JAVA} or later: install a JRE (apt-get install "
            f"openjdk-{OLDEST_JAVA}-jre-headless) or set JAVA_HOME"
        )


# --- the table ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SparkClaims:
    """Claims that Spark's workers hold, in blocks: what `Claims` tells of them, without the claims."""

    blocks: RDD[Any]  # one Block for each partition, or None
    firsts: list[int]  # the number of each block's first object, and at the end that of all objects
    object_counts: Ints  # (N,) numbers of claims
    user_names: DataFrame  # columns name and code
    user_count: int
    routes: RDD[Any] | None = None  # for each range of users: by block, which of them the block's codes mean

    @property
    def object_count(self) -> int:
        """The number of objects."""
        return self.firsts[-1]

    def __len__(self) -> int:
        return int(self.object_counts.sum())

    def __repr__(self) -> str:
        return f"SparkClaims({len(self)} claims, {self.object_count} objects, {self.user_count} users)"

    def counts(self) -> Ints:
        """Number of claims about each object."""
        return self.object_counts

    @cached_property
    def objects(self) -> pl.Series:
        """The names of the objects, ascending, brought to the driver."""
        names = [each for each in self.blocks.map(_names_of).collect() if each is not None]
        return pl.concat(names).alias("object") if names else pl.Series("object", [], dtype=pl.String)

    @cached_property
    def users(self) -> pl.Series:
        """The names of the users, ascending, brought to the driver."""
        return pl.Series("user", pl.from_arrow(self.user_names.sort("code").select("name").toArrow())["name"])

    @cached_property
    def _claims_per_user(self) -> Ints:
        return _sum_by_user(self, 1, _count_users, None, ())[0]

    def claims_per_user(self) -> Ints:
        """Number of claims of each user."""
        return self._claims_per_user

    def clamped(self, low: float, high: float) -> tuple[SparkClaims, int]:
        """The claims with values clamped to [low, high], and the number of values that were outside."""
        outside = int(_sum(self, 1, _count_outside, (low, high), ())[0][0])
        if not outside:
            return self, 0
        return replace(self, blocks=_kept(self.blocks.map(partial(_clamp, low, high)))), outside

    def without_claims(self) -> SparkClaims:
        """The objects alone."""
        return replace(self, blocks=self.blocks.map(_bare))

    def capped(self, most: int, *, keep_objects: bool = False) -> SparkClaims:
        """At most `most` claims of each user, chosen by a hash of names, never by values.

        Objects that lose all their claims are dropped, unless `keep_objects`.
        """
        hashes = name_hashes(self.users)
        keyed = _called(self, _keys, _sent(self.blocks.context, None), [ByUser(hashes)])
        begins = _ranges(self.user_count, len(self.firsts) - 1)
        asked = _exchange(_zipped(self.blocks, [_kept(keyed)]), partial(_asked, begins), len(begins) - 1)
        answers = _exchange(asked, partial(_chosen, most), len(self.firsts) - 1)
        kept = _zipped(self.blocks, [answers]).map(partial(_capped, keep_objects))
        return self._with(kept)

    def about(self, objects: Iterable[str | int]) -> SparkClaims:
        """The claims about the listed objects only; a listed object may have no claim."""
        firsts = self.blocks.map(_first_name).collect()
        kinds = [each.dtype for each in firsts if each is not None]
        names = listed_names(objects, kinds[0] if kinds else pl.String)
        holders = [part for part, each in enumerate(firsts) if each is not None] or [0]
        bounds = [names.search_sorted(firsts[part][0]) for part in holders[1:]]  # type: ignore[index]
        ends = [0, *map(int, bounds), len(names)]
        listed = {part: names[ends[i] : ends[i + 1]] for i, part in enumerate(holders)}
        return self._with(self.blocks.mapPartitionsWithIndex(partial(_about, listed)))

    def pooled(self, name: str) -> SparkClaims:
        """All claims as claims about one object of this name, in one block."""
        together = _exchange(self.blocks.map(lambda block: (block, [])), _all_to_one, 1)
        blocks = together.map(partial(_pooled, name))
        return self._with(blocks if self.routes is None else blocks.map(_own_users))

    def _with(self, blocks: RDD[Any]) -> SparkClaims:
        """The same users' claims in other blocks."""
        counts = (kept := _kept(blocks)).map(_sizes).collect()
        routes = None if self.routes is None else _routes(kept, self.user_count)
        return SparkClaims(kept, *_firsts(counts), self.user_names, self.user_count, routes)


def _names_of(block: Block | None) -> pl.Series | None:
    return None if block is None else block.names


def _count_users(block: Block, _: None, totals: Ints) -> None:
    totals += np.bincount(block.user_codes, minlength=totals.size)


def _count_outside(block: Block, limits: tuple[float, float], totals: Ints) -> None:
    low, high = limits
    totals[0] += np.count_nonzero((block.values < low) | (block.values > high))


def _clamp(low: float, high: float, block: Block | None) -> Block | None:
    if block is None:
        return None
    users, values = block.user_codes.copy(), block.values.copy()
    layout.clamp(block.offsets, low, high, users, values)
    return replace(block, user_codes=users, values=values)


def _bare(block: Block | None) -> Block | None:
    if block is None:
        return None
    nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    return Block(block.first, block.names, np.zeros_like(block.offsets), *nothing)


def _first_name(block: Block | None) -> pl.Series | None:
    return None if block is None else block.names[:1]


def _codes(block: Block) -> Codes:
    """The users of all claims, by their numbers among all users."""
    return block.user_codes if block.users is None else block.users[block.user_codes]


def _keys(block: Block, _: None, hashes: Any) -> tuple[Array]:
    """A hash of the names of the object and the user of each claim."""
    return (np.repeat(name_hashes(block.names), np.diff(block.offsets)) ^ hashes[block.user_codes],)


def _asked(begins: Ints, _: int, both: Any) -> Iterator[tuple[int, Any]]:
    """To each range of users: users, keys and objects of the block's claims."""
    block, ((keys,),) = both if both[0] is not None else (None, ((None,),))
    if block is None:
        return
    users = _codes(block)
    order = np.argsort(users, kind="stable")
    objects = block.names.gather(np.repeat(np.arange(block.size), np.diff(block.offsets))[order])
    cuts = np.searchsorted(users[order], begins)
    for target, (a, b) in enumerate(itertools.pairwise(cuts.tolist())):
        if a < b:
            yield target, (users[order[a:b]], keys[order[a:b]], objects[a:b])


def _chosen(most: int, _: int, asked: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """To each block that asked: which of its claims are among the first of their users."""
    if not asked:
        return
    users, keys = (np.concatenate([payload[which] for _, payload in asked]) for which in (0, 1))
    objects = pl.concat([payload[2] for _, payload in asked]).rank("dense").to_numpy()
    order = np.lexsort((objects, keys, users))
    sorted_users = users[order]
    begins = np.flatnonzero(np.concatenate([[True], sorted_users[1:] != sorted_users[:-1]]))
    rank = np.arange(users.size) - np.repeat(begins, np.diff(np.append(begins, users.size)))
    kept = np.zeros(users.size, dtype=np.bool_)
    kept[order[rank < most]] = True
    end = 0
    for source, payload in asked:
        begin, end = end, end + payload[0].size
        yield source, kept[begin:end]


def _capped(keep_objects: bool, both: Any) -> Block | None:
    """The block with those of its claims that were chosen."""
    block, (answers,) = both
    if block is None:
        return None
    kept = np.zeros(block.values.size, dtype=np.bool_)
    order = np.argsort(_codes(block), kind="stable")
    kept[order] = np.concatenate([np.zeros(0, dtype=np.bool_), *(mask for _, mask in answers)])
    owners = np.repeat(np.arange(block.size), np.diff(block.offsets))
    counts = np.bincount(owners[kept], minlength=block.size)
    remaining = np.arange(block.size) if keep_objects else np.flatnonzero(counts)
    if not remaining.size:
        return None
    return replace(
        block,
        names=block.names.gather(remaining),
        offsets=np.concatenate([[0], np.cumsum(counts[remaining])]),
        user_codes=block.user_codes[kept],
        values=block.values[kept],
    )


def _about(
    listed: Mapping[int, pl.Series], part: int, found: Iterable[Block | None]
) -> Iterator[Block | None]:
    """The claims of a block about the listed objects that belong to its part."""
    names = listed.get(part)
    for block in found:
        if names is None or not len(names):
            yield None
        elif block is None:
            yield Block(
                0, names, np.zeros(len(names) + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0)
            )
        else:
            claims = Claims(block.names, _NOBODY, block.offsets, block.user_codes, block.values).about(names)
            yield replace(
                block,
                names=claims.objects,
                offsets=claims.offsets,
                user_codes=claims.user_codes,
                values=claims.values,
            )


_NOBODY = pl.Series("user", [], dtype=pl.String)


def _all_to_one(_: int, both: tuple[Block | None, Any]) -> Iterator[tuple[int, Any]]:
    if both[0] is not None:
        yield 0, (_codes(both[0]), both[0].values)


def _pooled(name: str, found: Sequence[tuple[int, Any]]) -> Block:
    codes, values = (np.concatenate([payload[which] for _, payload in found]) for which in (0, 1))
    order = np.argsort(values, kind="stable")
    offsets = np.array([0, values.size], dtype=np.int64)
    return Block(0, pl.Series("object", [name]), offsets, codes[order], values[order])


# --- laying out ---------------------------------------------------------------------------------------------


def lay_out(
    frame: DataFrame,
    *,
    object: str,
    user: str,
    value: str,
    source: str,
    if_any: bool = False,
    saturate: bool = False,
    most_broadcast: int = MOST_BROADCAST,
) -> SparkClaims:
    """Claims from three columns of a Spark table: checked, coded and grouped by Spark."""
    from pyspark.sql import functions as sql

    kinds = dict(frame.dtypes)
    for column in (object, user, value):
        if column not in kinds:
            raise InputError(f"{source}: there is no column {column!r}")
    columns = [_name(sql.col(f"`{column}`"), kinds[column], column, source) for column in (object, user)]
    if kinds[value] not in _NUMBERS and not kinds[value].startswith("decimal"):
        raise InputError(f"{source}: column {value!r} does not hold numbers")
    table = frame.select(
        columns[0].alias("object"),
        columns[1].alias("user"),
        sql.col(f"`{value}`").cast("double").alias("value"),
    )
    rows, spelled = _check(table, (object, user, value), source, if_any=if_any, saturate=saturate)
    if spelled:
        table = table.mapInArrow(_normalised, table.schema)
    if saturate:
        largest = sql.lit(LARGEST_VALUE)
        table = table.withColumn("value", sql.least(sql.greatest(sql.col("value"), -largest), largest))
    users, user_count = _coded(table.select(sql.col("user").alias("name")))
    coded = table.join(users, table["user"] == users["name"]).select("object", "code", "value")
    context = frame.sparkSession.sparkContext
    parts = max(FEWEST_BLOCKS * context.defaultParallelism, -(-rows // CLAIMS_PER_BLOCK))
    packed = coded.repartitionByRange(parts, "object").mapInArrow(partial(_pack, user_count), "block binary")
    blocks = _kept(packed.rdd.mapPartitions(_unpack))
    sizes = blocks.map(_sizes).collect()
    repeats = sum(each for each in sizes if isinstance(each, int))
    if repeats:
        raise InputError(
            f"{source}: one user has several claims about one object; "
            f"{repeats} {'row is' if repeats == 1 else 'rows are'} too many"
        )
    laid_out = SparkClaims(blocks, *_firsts(sizes), users, user_count)
    return laid_out if user_count <= most_broadcast else _with_own_users(laid_out)


def _firsts(sizes: Sequence[Any]) -> tuple[list[int], Ints]:
    """The numbers of the blocks' first objects, and all objects' numbers of claims."""
    counts: Ints = np.concatenate([np.zeros(0, dtype=np.int64), *sizes])
    return [0, *np.cumsum([each.size for each in sizes]).tolist()], counts


def _name(column: Column, kind: str, name: str, source: str) -> Column:
    if kind == "string" or kind.startswith(("varchar", "char")):
        return column.cast("string")
    if kind in _INTEGERS:
        return column.cast("bigint")
    raise InputError(f"{source}: names in column {name!r} are neither text nor whole numbers")


def _check(
    table: DataFrame, names: Sequence[str], source: str, *, if_any: bool, saturate: bool
) -> tuple[int, bool]:
    """The number of rows, and whether names go beyond ASCII; errors tell how many rows are wrong."""
    from pyspark.sql import functions as sql

    texts = [column for column, kind in table.dtypes if kind == "string"]
    value = sql.col("value")
    wrong = {
        "has no name": (names[:2], [sql.col(column).isNull() for column in ("object", "user")]),
        "has an empty name": (
            [names[("object", "user").index(column)] for column in texts],
            [sql.trim(sql.col(column)) == "" for column in texts],
        ),
        "is empty": (names[2:], [value.isNull()]),
        "is NaN": (names[2:], [sql.isnan(value)]),
        f"is beyond {LARGEST_VALUE:g}": (names[2:], [sql.abs(value) > LARGEST_VALUE]),
    }
    if saturate:
        wrong.pop(f"is beyond {LARGEST_VALUE:g}")
    tests = [
        (what, name, test)
        for what, (which, tests) in wrong.items()
        for name, test in zip(which, tests, strict=True)
    ]
    beyond = [sql.sum((sql.length(column) != sql.octet_length(column)).cast("bigint")) for column in texts]
    found = table.agg(
        sql.count("*"), *[sql.sum(test.cast("bigint")) for *_, test in tests], *beyond
    ).collect()[0]
    rows, *counts = [int(each or 0) for each in found]
    if rows == 0 and not if_any:
        raise InputError(f"{source}: there are no claims (no data rows)")
    for (what, name, _), count in zip(tests, counts, strict=False):
        if count:
            raise InputError(
                f"{source}: column {name!r} {what} in {count:,} {'row' if count == 1 else 'rows'}"
            )
    return rows, any(counts[len(tests) :])


def _normalised(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows with names in Unicode normal form C."""
    for batch in batches:
        table = pl.from_arrow(batch)
        forms = table.with_columns(pl.col(pl.String).str.normalize("NFC")).to_arrow(
            compat_level=pl.CompatLevel.oldest()
        )
        yield from forms.cast(batch.schema).to_batches()


def _coded(names: DataFrame) -> tuple[DataFrame, int]:
    """A table of the distinct names with their codes, which ascend as the names do, and how many they are."""
    from pyspark.sql import functions as sql

    distinct = names.distinct().sort("name").withColumn("row", sql.monotonically_increasing_id()).persist()
    sizes = {
        row["part"]: row["count"]
        for row in distinct.groupBy(sql.shiftright("row", _ROW).alias("part")).count().collect()
    }
    begin, begins = 0, []
    for part in sorted(sizes):
        begins += [sql.lit(part), sql.lit(begin)]
        begin += sizes[part]
    if not sizes:
        return distinct.select("name", sql.lit(0).alias("code")), 0
    place = sql.col("row").bitwiseAND(sql.lit((1 << _ROW) - 1))
    code = sql.create_map(*begins)[sql.shiftright("row", _ROW)] + place
    return distinct.select("name", code.cast("int").alias("code")), begin


def _pack(user_count: int, batches: Iterable[Any]) -> Iterator[Any]:
    """One block from all rows of a partition, pickled; or the number of rows that repeat another."""
    import pyarrow as pa

    rows = [pl.from_arrow(batch) for batch in batches]
    if not rows or not sum(map(len, rows)):
        return
    table = pl.concat(rows)
    names = table["object"].unique().sort()
    objects = names.search_sorted(table["object"]).cast(pl.Int32).to_numpy()
    users, values = table["code"].to_numpy(), table["value"].to_numpy() + 0.0
    offsets = layout.starts(objects, len(names))
    by_object = np.empty(users.size, dtype=np.int32), np.empty(users.size)
    packed: Block | int = Block(0, names, offsets, *by_object)
    if layout.lay_out(objects, users, values, offsets, user_count, *by_object):
        layout.sort_values(offsets, *by_object)
    else:
        pairs = pl.Series(objects.astype(np.int64) << 32 | users)
        packed = len(pairs) - pairs.n_unique()
    data = pa.array([pickle.dumps(packed, protocol=5)], pa.binary())
    yield pa.RecordBatch.from_arrays([data], ["block"])


def _unpack(rows: Iterable[Any]) -> Iterator[Block | int | None]:
    found = [pickle.loads(row["block"]) for row in rows]  # noqa: S301, our own
    yield found[0] if found else None


def _sizes(packed: Block | int | None) -> Ints | int:
    """The objects' numbers of claims; or how many rows repeat others."""
    if isinstance(packed, int):
        return packed
    return np.zeros(0, dtype=np.int64) if packed is None else np.diff(packed.offsets)


# --- the engine ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SparkKept:
    """One of the arrays that a `map` returned, where the blocks are."""

    arrays: RDD[Any]  # a tuple of arrays for each partition, or None
    which: int
    per: Per
    table: SparkClaims

    def __len__(self) -> int:
        return self.table.object_count if self.per == "object" else len(self.table)


class SparkEngine:
    """Runs blocks on the workers of a Spark session."""

    def __init__(
        self,
        master: str = "local[*]",
        *,
        settings: Mapping[str, str] | None = None,
        spark: SparkSession | None = None,
        progress: Progress = silent,
    ) -> None:
        self.spark = spark or session(master, settings)
        self.progress = progress
        self._here = LocalEngine(progress=progress)

    def map(
        self,
        stage: str,
        table: SparkClaims,
        function: Function,
        shared: Any,
        *parts: Part,
        per: Sequence[Per] = ("object",),
        operations: float | None = None,  # noqa: ARG002, a partition is one block
    ) -> tuple[SparkKept, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, kept with them when first used."""
        arrays = _kept(_called(table, function, _sent(self.spark.sparkContext, shared), parts))
        self.progress(stage, 1.0)
        return tuple(SparkKept(arrays, which, each, table) for which, each in enumerate(per))

    def sum(
        self,
        stage: str,
        table: SparkClaims,
        size: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,  # noqa: ARG002
    ) -> Ints:
        """The totals, `size` of them, to which `add(block, shared, *parts, totals)` adds for all blocks."""
        self.progress(stage, 0.0)
        totals, _ = _sum(table, size, add, shared, parts)
        self.progress(stage, 1.0)
        return totals

    def sum_by_user(
        self,
        stage: str,
        table: SparkClaims,
        width: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> Ints:
        """As `sum`, with `width` totals for each user."""
        self.progress(stage, 0.0)
        totals, _ = _sum_by_user(table, width, add, shared, parts)
        self.progress(stage, 1.0)
        return totals

    def judge(
        self,
        stage: str,
        table: SparkClaims,
        judge: Judge,
        shared: Any,
        *parts: Part,
        operations: float | None = None,  # noqa: ARG002
    ) -> tuple[Ints, tuple[Array, ...]]:
        """One total for each user, and what `judge` returns by object, collected."""
        self.progress(stage, 0.0)
        totals, arrays = _sum_by_user(table, 1, judge, shared, parts)
        self.progress(stage, 1.0)
        whole = tuple(
            np.concatenate(each) for each in zip(*(arrays[part] for part in sorted(arrays)), strict=True)
        )
        return totals, whole

    def collect(self, kept: SparkKept | Array, rows: Ints | None = None) -> Array:
        """Numbers that are kept with the blocks, as one array: all of them, or the rows of some objects."""
        if not isinstance(kept, SparkKept):
            return kept if rows is None else kept[rows]
        firsts = kept.table.firsts if rows is not None else None
        picked = kept.arrays.mapPartitionsWithIndex(partial(_pick, kept.which, rows, firsts)).collect()
        return np.concatenate([each for each in picked if each is not None])

    def spread(
        self,
        stage: str,
        count: int,
        work: Callable[[int, int], None],
        *,
        operations: float | None = None,
    ) -> None:
        """Call `work(first, last)` for ranges that cover `count` items, on the threads of the driver."""
        self._here.spread(stage, count, work, operations=operations)


def _pick(
    which: int, rows: Ints | None, firsts: list[int] | None, part: int, found: Iterable[Any]
) -> Iterator[Array | None]:
    for arrays in found:
        if arrays is None:
            yield None
        elif rows is None or firsts is None:
            yield arrays[which]
        else:
            own = rows[(rows >= firsts[part]) & (rows < firsts[part + 1])] - firsts[part]
            yield arrays[which][own]


def _kept(rdd: RDD[Any]) -> RDD[Any]:
    """The RDD with one element for each partition, pickled alone; workers keep it once it was computed."""
    from pyspark import StorageLevel
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    return rdd._reserialize(BatchedSerializer(CPickleSerializer(), 1)).persist(StorageLevel.MEMORY_AND_DISK)


# --- many users ---------------------------------------------------------------------------------------------
#
# With more users than fit a broadcast, a block has its own list of users, and its codes index that list. All
# users are divided into ranges, one for each block; a *route* tells which users of a range a block asks for.


def _ranges(count: int, parts: int) -> Ints:
    """The ends of `parts` ranges that divide `count` users."""
    return np.arange(parts + 1, dtype=np.int64) * count // max(1, parts)


def _with_own_users(claims: SparkClaims) -> SparkClaims:
    """The claims in blocks with their own lists of users."""
    blocks = _kept(claims.blocks.map(_own_users))
    blocks.count()
    claims.blocks.unpersist()
    return replace(claims, blocks=blocks, routes=_routes(blocks, claims.user_count))


def _own_users(block: Block | None) -> Block | None:
    if block is None:
        return None
    users, codes = np.unique(block.user_codes, return_inverse=True)
    return replace(block, user_codes=codes.astype(np.int32), users=users)


def _routes(blocks: RDD[Any], user_count: int) -> RDD[Any]:
    """For each range of users, by block: the places in the range of the block's users."""
    parts = blocks.getNumPartitions()
    begins = _ranges(user_count, parts)
    return _kept(_exchange(blocks.map(_users_of), partial(_routed, begins), parts))


def _users_of(block: Block | None) -> Codes:
    return np.zeros(0, dtype=np.int32) if block is None or block.users is None else block.users


def _routed(begins: Ints, _: int, users: Codes) -> Iterator[tuple[int, Codes]]:
    for target, (a, b) in enumerate(itertools.pairwise(np.searchsorted(users, begins).tolist())):
        if a < b:
            yield target, (users[a:b] - begins[target]).astype(np.int32)


def _for_own_users(table: SparkClaims, vectors: Sequence[Array]) -> RDD[Any]:
    """For each block a tuple of the parts of these arrays by user that its codes index."""
    routes = table.routes
    if routes is None:
        raise TypeError("these blocks have no lists of their own")
    begins = _ranges(table.user_count, routes.getNumPartitions()).tolist()
    slices = [tuple(vector[a:b] for vector in vectors) for a, b in itertools.pairwise(begins)]
    dealt = _single(table.blocks.context.parallelize(slices, len(slices)))
    sent = _exchange(routes.zip(dealt), _dealt, len(table.firsts) - 1)
    return sent.map(partial(_gathered, [vector[:0] for vector in vectors]))


def _dealt(_: int, both: Any) -> Iterator[tuple[int, Any]]:
    route, slices = both
    for block, places in route:
        yield block, tuple(each[places] for each in slices)


def _gathered(empty: Sequence[Array], found: Sequence[tuple[int, Any]]) -> tuple[Array, ...]:
    return tuple(
        np.concatenate([nothing, *(payload[which] for _, payload in found)])
        for which, nothing in enumerate(empty)
    )


def _exchange(
    elements: RDD[Any], split: Callable[[int, Any], Iterator[tuple[int, Any]]], targets: int
) -> RDD[Any]:
    """For each target a list of (source, what its element sent here), by source."""

    def send(source: int, found: Iterable[Any]) -> Iterator[Any]:
        for each in found:
            for target, payload in split(source, each):
                yield target, (source, payload)

    def gather(found: Iterable[Any]) -> Iterator[Any]:
        yield sorted((payload for _, payload in found), key=_source)

    return elements.mapPartitionsWithIndex(send).partitionBy(targets, int).mapPartitions(gather)


def _source(sent: tuple[int, Any]) -> int:
    return sent[0]


def _sum_by_user(
    table: SparkClaims, width: int, add: Callable[..., Any], shared: Any, parts: Sequence[Part]
) -> tuple[Ints, dict[int, tuple[Array, ...]]]:
    """As `_sum`, with `width` totals for each user."""
    if table.routes is None:
        return _sum(table, width * table.user_count, add, shared, parts)
    ends = _ranges(table.user_count, table.routes.getNumPartitions())
    totals = _totals(table, width, add, shared, parts)
    sent = _exchange(totals, partial(_returned, width, ends), len(ends) - 1)
    added = table.routes.zip(_single(sent)).mapPartitionsWithIndex(partial(_added, width, ends)).collect()
    return np.concatenate([each[0] for each in added]), {k: v for each in added for k, v in each[1].items()}


def _returned(width: int, ends: Ints, source: int, total: Any) -> Iterator[tuple[int, Any]]:
    """To each range of users the block's totals of them; to one range what was returned for the block."""
    totals, users, arrays = total
    for target, (a, b) in enumerate(itertools.pairwise(np.searchsorted(users, ends).tolist())):
        if a < b:
            yield target, totals[width * a : width * b]
    if arrays:
        yield source, arrays


def _added(width: int, ends: Ints, part: int, found: Iterable[Any]) -> Iterator[Any]:
    for route, sent in found:
        sums = np.zeros((int(ends[part + 1] - ends[part]), width), dtype=np.int64)
        places, arrays = dict(route), {}
        for source, payload in sent:
            if isinstance(payload, dict):
                arrays |= payload
            else:
                sums[places[source]] += payload.reshape(-1, width)
        yield sums.ravel(), arrays


# --- calls of functions on blocks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sent:
    """What all blocks share, pickled, with its large arrays as broadcast variables.

    The secret key of draws is in what is pickled: it goes with the tasks, over Spark's own channel.
    """

    pickled: bytes = field(repr=False)
    arrays: list[Broadcast[Any]]

    def value(self) -> Any:
        """What was sent."""
        reader = pickle.Unpickler(io.BytesIO(self.pickled))  # noqa: S301, our own
        reader.persistent_load = lambda number: _received(self.arrays[int(number)])  # type: ignore[method-assign]
        return reader.load()


def _broadcast(context: SparkContext, array: Array) -> Broadcast[Any]:
    """An array for all workers, as bytes: encrypted broadcasts take no arrays."""
    return context.broadcast((array.dtype.str, array.shape, array.tobytes()))


def _received(sent: Broadcast[Any]) -> Array:
    kind, shape, data = sent.value
    return np.frombuffer(data, dtype=kind).reshape(shape)


def _sent(context: SparkContext, shared: Any) -> _Sent:
    arrays: list[Any] = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing: Any) -> int | None:
            if not (isinstance(thing, np.ndarray) and thing.nbytes > LARGE):
                return None
            arrays.append(_broadcast(context, thing))
            return len(arrays) - 1

    data = io.BytesIO()
    Pickler(data, protocol=5).dump(shared)
    return _Sent(data.getvalue(), arrays)


@dataclass(frozen=True)
class _Given:
    """Where a block finds its parts: for each a broadcast, or the place in one of the zipped tuples."""

    users: Mapping[int, Broadcast[Any]]
    places: Mapping[int, tuple[int, int]]

    def parts(self, zipped: Sequence[Any]) -> list[Array]:
        """The parts in the order of the function's arguments."""
        found = {number: _received(each) for number, each in self.users.items()}
        found |= {number: zipped[which][place] for number, (which, place) in self.places.items()}
        return [frozen(found[number]) for number in range(len(found))]


def _given(table: SparkClaims, parts: Sequence[Part]) -> tuple[_Given, RDD[Any]]:
    """Where blocks find their parts, and an RDD of (block, tuples of arrays)."""
    context = table.blocks.context
    users: dict[int, Any] = {}
    places: dict[int, tuple[int, int]] = {}
    slices: list[Array] = []
    rdds: list[RDD[Any]] = []
    if table.routes is not None:
        by_user = {number: part.numbers for number, part in enumerate(parts) if isinstance(part, ByUser)}
        if by_user:
            rdds.append(_for_own_users(table, list(by_user.values())))
            places |= {number: (1, which) for which, number in enumerate(by_user)}
    for number, part in enumerate(parts):
        if number in places:
            continue
        if isinstance(part, ByUser):
            users[number] = _broadcast(context, part.numbers)
        elif isinstance(part.numbers, SparkKept):
            if part.numbers.arrays not in rdds:
                rdds.append(part.numbers.arrays)
            places[number] = rdds.index(part.numbers.arrays) + 1, part.numbers.which
        else:
            if isinstance(part, ByClaim):
                raise TypeError("arrays by claim stay with the blocks")
            places[number] = 0, len(slices)
            slices.append(part.numbers)
    zipped = table.blocks
    if slices:
        each = [
            tuple(array[a:b] for array in slices)
            for a, b in zip(table.firsts, table.firsts[1:], strict=False)
        ]
        rdds = [context.parallelize(each, len(each))._reserialize(zipped._jrdd_deserializer), *rdds]
    else:
        places = {number: (which - 1, place) for number, (which, place) in places.items()}
    return _Given(users, places), _zipped(zipped, rdds)


def _zipped(blocks: RDD[Any], others: list[RDD[Any]]) -> RDD[Any]:
    """An RDD of (block, [one element of each other RDD]); partitions have one element each."""
    if not others:
        return blocks.map(lambda block: (block, []))
    together = others[0].map(lambda each: [each])
    for other in others[1:]:
        together = _single(together).zip(other).map(lambda both: [*both[0], both[1]])
    return blocks.zip(_single(together))


def _single(rdd: RDD[Any]) -> RDD[Any]:
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    return rdd._reserialize(BatchedSerializer(CPickleSerializer(), 1))


def _called(table: SparkClaims, function: Function, sent: _Sent, parts: Sequence[Part]) -> RDD[Any]:
    given, zipped = _given(table, parts)

    def call(part: int, found: Iterable[tuple[Block | None, Sequence[Any]]]) -> Iterator[Any]:
        for block, own in found:
            if block is None:
                yield None
            else:
                yield function(_numbered(block, firsts[part]), sent.value(), *given.parts(own))

    firsts = table.firsts
    return zipped.mapPartitionsWithIndex(call)


def _numbered(block: Block, first: int) -> Block:
    """The block, read-only, with the number of its first object."""
    _forget_imports()
    for array in (block.offsets, block.user_codes, block.values):
        array.setflags(write=False)
    return replace(block, first=first)


def _forget_imports() -> None:
    """Take what was imported off the garbage collector's list: Spark runs it after every task."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def _sum(
    table: SparkClaims, size: int, add: Callable[..., Any], shared: Any, parts: Sequence[Part]
) -> tuple[Ints, dict[int, tuple[Array, ...]]]:
    """Totals over all blocks, and what `add` returned for each partition."""
    found: tuple[Ints, Any, Any] = _totals(table, size, add, shared, parts, alike=True).treeReduce(_together)
    return found[0], found[2]


def _totals(
    table: SparkClaims,
    size: int,
    add: Callable[..., Any],
    shared: Any,
    parts: Sequence[Part],
    *,
    alike: bool = False,
) -> RDD[Any]:
    """For each block its totals, its list of users, and by block what `add` returned.

    All totals have `size` numbers if they are `alike`, otherwise as many for each user of the block.
    """
    sent = _sent(table.blocks.context, shared)
    given, zipped = _given(table, parts)
    firsts = table.firsts

    def total(part: int, found: Iterable[tuple[Block | None, Sequence[Any]]]) -> Iterator[Any]:
        for block, own in found:
            users = _users_of(block)
            totals, arrays = np.zeros(size if alike else size * users.size, dtype=np.int64), {}
            if block is not None:
                returned = add(_numbered(block, firsts[part]), sent.value(), *given.parts(own), totals)
                if returned is not None:
                    arrays[part] = returned
            yield totals, users, arrays

    return zipped.mapPartitionsWithIndex(total)


def _together(one: Any, other: Any) -> Any:
    return one[0] + other[0], None, one[2] | other[2]
