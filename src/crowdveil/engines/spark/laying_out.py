"""From a Spark table to blocks: Spark groups rows by object, workers code names and lay claims out."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdveil.cells import LARGEST_VALUE
from crowdveil.engines.engine import Block
from crowdveil.engines.spark.blocks import exchanged, kept, sealed, zipped
from crowdveil.engines.spark.claims import SparkClaims
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.engines.spark.tables import INTEGERS, check_integers, column_named, is_whole
from crowdveil.errors import InputError
from crowdveil.kernels import layout
from crowdveil.names import coded

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import Column, DataFrame

CLAIMS_PER_BLOCK = 5_000_000
MOST_BROADCAST = 2_000_000  # users: with more, a block gets the numbers of its own users only
BLANK = r"(?U)^\s*$"
NAMES_OF_A_BLOCK = 200  # from which the ranges of users follow
NUMBERS = (*INTEGERS, "float", "double")
NAMED = ("object", "user")
MOST_ROWS = 100_000_000  # of a block, whose cells Arrow passes on
MOST_BYTES = 2**31 - 2**28  # of a block that is pickled, with room for the numbers of its users


def lay_out(
    cluster: Cluster,
    frame: DataFrame,
    *,
    object: str,
    user: str,
    value: str,
    source: str,
    if_any: bool = False,
    saturate: bool = False,
    most_broadcast: int = MOST_BROADCAST,
    blocks: int | None = None,
) -> SparkClaims:
    """Claims from three columns of a Spark table.

    `if_any` and `saturate` are those of `Claims.from_frame`. With more users than `most_broadcast`, no worker
    gets the numbers of all of them. `blocks` is their number, which changes no result.
    """
    table, rows = _checked(frame, (object, user, value), source, if_any=if_any, saturate=saturate)
    parts = blocks or _parts(rows, cluster.context.defaultParallelism)
    with cluster.watched("grouping"):
        grouped = table.repartitionByRange(parts, "object").mapInArrow(_packed, "block binary")
        laid_out = kept(grouped.rdd.mapPartitions(_unpacked))
        refused = laid_out.map(_refused).collect()
    if any(rows for rows, _ in refused):
        raise InputError(
            f"{source}: an object, or a few that workers cannot part, has more claims than a task of Spark "
            f"passes on: {MOST_ROWS:,}, or 2 GiB with the names of users"
        )
    repeats = sum(repeats for _, repeats in refused)
    if repeats:
        raise InputError(
            f"{source}: one user has several claims about one object; "
            f"{repeats} {'row is' if repeats == 1 else 'rows are'} too many"
        )
    with cluster.watched("users"):
        coded_blocks, names, ends = _with_codes(laid_out)
        routed = int(ends[-1]) > most_broadcast
        if not routed:
            coded_blocks = coded_blocks.map(_for_all)
        kinds = tuple(pl.String if dict(table.dtypes)[each] == "string" else pl.Int64 for each in NAMED)
        claims = SparkClaims.of(cluster, coded_blocks, names, ends, (kinds[0], kinds[1]), routed=routed)
    laid_out.unpersist()
    return claims


def _parts(rows: int, cores: int) -> int:
    """How many blocks: a multiple of the cores, so that all of them finish together."""
    return cores * max(1, -(-rows // (CLAIMS_PER_BLOCK * cores)))


# --- checks -------------------------------------------------------------------------------------------------


def _checked(
    frame: DataFrame, names: Sequence[str], source: str, *, if_any: bool, saturate: bool
) -> tuple[DataFrame, int]:
    """The columns object, user and value, all right, and the number of rows."""
    from pyspark.sql import functions as sql

    kinds = dict(frame.dtypes)
    for column in names:
        if column not in kinds:
            raise InputError(f"{source}: there is no column {column!r}")
    objects, users = (_name(column, kinds[column], source) for column in names[:2])
    value = names[2]
    numbers = column_named(value)
    if kinds[value].startswith("decimal"):
        numbers = numbers.cast("string")  # Spark rounds twice on the way from a decimal to a double
    elif kinds[value] not in NUMBERS:
        raise InputError(f"{source}: column {value!r} does not hold numbers")
    table = frame.select(objects.alias("object"), users.alias("user"), numbers.cast("double").alias("value"))
    check_integers(frame, names[:2], source)
    rows, spelled = _counted(table, names, source, saturate=saturate)
    if rows == 0 and not if_any:
        raise InputError(f"{source}: there are no claims (no data rows)")
    if spelled:
        table = table.mapInArrow(_normalized, table.schema)
    if saturate:
        largest = sql.lit(LARGEST_VALUE)
        table = table.withColumn("value", sql.least(sql.greatest(sql.col("value"), -largest), largest))
    return table, rows


def _name(name: str, kind: str, source: str) -> Column:
    if kind == "string" or kind.startswith(("varchar", "char")):
        return column_named(name).cast("string")
    if kind in INTEGERS or is_whole(kind):
        return column_named(name).try_cast("bigint")
    raise InputError(f"{source}: names in column {name!r} are neither text nor whole numbers")


def _counted(table: DataFrame, names: Sequence[str], source: str, *, saturate: bool) -> tuple[int, bool]:
    """The number of rows, and whether names go beyond ASCII; an error tells how many rows are wrong."""
    from pyspark.sql import functions as sql

    texts = [column for column, kind in table.dtypes if kind == "string"]
    value, called = sql.col("value"), dict(zip(("object", "user", "value"), names, strict=True))
    tests = [
        *((column, "has no name", sql.col(column).isNull()) for column in ("object", "user")),
        *((column, "has an empty name", sql.col(column).rlike(BLANK)) for column in texts),
        ("value", "is empty", value.isNull()),
        ("value", "is NaN", sql.isnan(value)),
    ]
    if not saturate:
        tests.append(("value", f"is beyond {LARGEST_VALUE:g}", sql.abs(value) > LARGEST_VALUE))
    beyond = [sql.length(column) != sql.octet_length(column) for column in texts]
    sums = [sql.sum(test.cast("bigint")) for test in (*(test for *_, test in tests), *beyond)]
    rows, *counts = (int(each or 0) for each in table.agg(sql.count("*"), *sums).collect()[0])
    for (column, what, _), count in zip(tests, counts, strict=False):
        if count:
            rows_in_words = f"{count:,} {'row' if count == 1 else 'rows'}"
            raise InputError(f"{source}: column {called[column]!r} {what} in {rows_in_words}")
    return rows, any(counts[len(tests) :])


def _normalized(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows with names in Unicode normal form C."""
    for batch in batches:
        table = pl.from_arrow(batch)
        assert isinstance(table, pl.DataFrame)
        forms = table.with_columns(pl.col(pl.String).str.normalize("NFC"))
        yield from forms.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(batch.schema).to_batches()


# --- blocks -------------------------------------------------------------------------------------------------


def _packed(batches: Iterable[Any]) -> Iterator[Any]:
    """One block from all rows of a partition, with the names of its users; or how many rows repeat others.

    A number below 0 tells that there are too many rows.
    """
    import pyarrow as pa

    rows, count = [], 0
    for batch in batches:
        count += batch.num_rows
        if count > MOST_ROWS:
            data = pa.array([pickle.dumps(-count)], pa.binary())
            yield pa.RecordBatch.from_arrays([data], ["block"])
            return
        if batch.num_rows:
            rows.append(batch)
    if not rows:
        return
    table = pl.DataFrame(pa.Table.from_batches(rows))
    del rows
    objects, names = coded(table["object"], "object", "a block")
    codes, users = coded(table["user"], "user", "a block")
    values = table["value"].to_numpy() + 0.0
    offsets = layout.starts(objects, len(names))
    by_object = np.empty(codes.size, dtype=np.int32), np.empty(codes.size)
    found: tuple[Block, pl.Series] | int = Block(0, names, offsets, *by_object), users
    if layout.lay_out(objects, codes, values, offsets, len(users), *by_object):
        layout.sort_values(offsets, *by_object)
    else:
        found = len(table) - table.select("object", "user").n_unique()
    packed = pickle.dumps(found, protocol=5)
    if len(packed) > MOST_BYTES:
        packed = pickle.dumps(-count)
    yield pa.RecordBatch.from_arrays([pa.array([packed], pa.binary())], ["block"])


def _unpacked(rows: Iterable[Any]) -> Iterator[Any]:
    found = [pickle.loads(row["block"]) for row in rows]  # noqa: S301, our own
    yield found[0] if found else None


def _refused(packed: Any) -> tuple[int, int]:
    """How many rows were too many to lay out, and how many repeat others."""
    if not isinstance(packed, int):
        return 0, 0
    return (-packed, 0) if packed < 0 else (0, packed)


# --- users: ranges of names number them ---------------------------------------------------------------------


def _with_codes(packed: RDD[Any]) -> tuple[RDD[Any], RDD[Any], Any]:
    """Blocks whose lists of users are numbers among all users; the names by range; the ends of the ranges."""
    parts = packed.getNumPartitions()
    bounds = _bounds(packed.map(_some_names).collect(), parts)
    asked = kept(exchanged(packed, partial(_asked, bounds), parts))
    names = sealed(asked.map(_distinct))
    ends = np.concatenate([[0], np.cumsum(names.map(len).collect())]).astype(np.int64)
    answers = exchanged(zipped(asked, [names]), partial(_answered, ends), parts)
    return zipped(packed, [answers]).map(_coded), names, ends


def _some_names(packed: Any) -> list[Any]:
    """Evenly spaced names of a block's users."""
    names = [] if packed is None else packed[1]
    step = 1 + len(names) // NAMES_OF_A_BLOCK
    return list(names[::step])


def _bounds(found: Sequence[Sequence[Any]], parts: int) -> list[Any]:
    """The first names of all ranges but the first one."""
    names = sorted(itertools.chain.from_iterable(found))
    return [names[len(names) * part // parts] for part in range(1, parts)] if names else []


def _asked(bounds: Sequence[Any], _: int, packed: Any) -> Iterator[tuple[int, Any]]:
    """To each range the names of a block's users that lie in it."""
    if packed is None:
        return
    names = packed[1]
    cuts = [int(names.search_sorted(bound)) for bound in bounds]
    for target, (begin, end) in enumerate(itertools.pairwise([0, *cuts, len(names)])):
        if begin < end:
            yield target, names[begin:end]


def _distinct(asked: Sequence[tuple[int, pl.Series]]) -> pl.Series:
    """All names of a range, ascending."""
    names = [each for _, each in asked]
    return pl.concat(names).unique().sort() if names else pl.Series("user", [], dtype=pl.String)


def _answered(ends: Any, part: int, both: Any) -> Iterator[tuple[int, Any]]:
    """To each block the numbers of the users that it asked for."""
    asked, (names,) = both
    for block, each in asked:
        yield block, (names.search_sorted(each).to_numpy() + ends[part]).astype(np.int32)


def _coded(both: Any) -> Block | None:
    packed, (answers,) = both
    if packed is None:
        return None
    block: Block = packed[0]
    return replace(block, users=np.concatenate([numbers for _, numbers in answers]))


def _for_all(block: Block | None) -> Block | None:
    """The block with codes of all users, without a list of its own."""
    if block is None or block.users is None:
        return None
    return replace(block, user_codes=block.users[block.user_codes], users=None)
