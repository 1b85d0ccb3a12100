"""From a Spark table to records: workers code cells, and every row has its number among all.

Rows of Parquet files are numbered by the paths of files and by their places in these. So who takes part when
does not depend on how Spark divides them, and a worker that reads a file again finds the same. Other tables
are read once, and have the order that Spark found; should a worker lose what it read, the work ends.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import polars as pl

from crowdveil.arrays import Ints
from crowdveil.columns import EMPTY, coded_cells, outside_domain, plain_name
from crowdveil.engines.spark.blocks import kept
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.engines.spark.records import Piece, SparkRecords
from crowdveil.engines.spark.tables import INTEGERS, column_named
from crowdveil.errors import InputError
from crowdveil.records import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FLOATS = ("float", "double")
_USABLE = ("string", "varchar", "char", "boolean", "date", "decimal", "void", *INTEGERS, *_FLOATS)
_FILE, _ROW = "_metadata.file_path", "_metadata.row_index"


def lay_out_records(
    cluster: Cluster,
    frame: DataFrame,
    schema: Schema,
    *,
    source: str,
    clamp: bool = False,
    blocks: int | None = None,
) -> SparkRecords:
    """Records from the columns of a Spark table that the schema names; it refuses what `Records` refuses.

    An error tells how many rows are wrong, as rows of such a table have no numbers that anybody could look
    up. `blocks` is about their number, which changes no result.
    """
    columns = _columns(frame, schema, source)
    with cluster.watched("looking"):
        rows, whole, in_files = _numbered(frame, columns)
        coding = _Coding(schema, whole, source, clamp)
        pieces = kept(rows.mapInArrow(partial(_coded, coding), "piece binary").rdd.mapPartitions(_unpacked))
        if not in_files:
            pieces.localCheckpoint()  # never read again: the order might be another one
        found = pieces.mapPartitionsWithIndex(_told).collect()
    _refuse(sum((each for *_, each in found), np.zeros((len(columns), 2), dtype=np.int64)), schema, source)
    starts, count = {}, 0
    for part, own, _ in found:
        starts[part] = count
        count += own
    if count == 0:
        raise InputError(f"{source}: there are no records (no data rows)")
    pieces_in_order = pieces.mapPartitionsWithIndex(partial(_numbers, starts))
    return SparkRecords.of(cluster, schema, pieces_in_order, count, blocks)


# --- what the driver looks at -------------------------------------------------------------------------------


def _columns(frame: DataFrame, schema: Schema, source: str) -> list[Column]:
    """The columns that the schema names, by their places in it."""
    original_names = {plain_name(name): name for name in frame.columns}
    if len(original_names) < len(frame.columns):
        raise InputError(f"{source}: two columns have the same name")
    kinds, found = dict(frame.dtypes), []
    for place, column in enumerate(schema.columns):
        if column.name not in original_names:
            raise InputError(f"{source}: there is no column {column.name!r}")
        name = original_names[column.name]
        kind = kinds[name].split("(")[0].split(" ")[0]
        if kind not in _USABLE:
            raise InputError(f"{source}: column {column.name!r} holds something that cannot be used")
        cells = column_named(name)
        found.append((cells.cast("string") if kind == "void" else cells).alias(str(place)))
    return found


def _numbered(frame: DataFrame, columns: Sequence[Column]) -> tuple[DataFrame, list[bool], bool]:
    """The columns by row, which of them hold whole numbers only, and whether rows are numbered by files."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sql

    plain = frame.select(*columns)
    tests = [sql.min(_is_whole(name) if kind in _FLOATS else sql.lit(True)) for name, kind in plain.dtypes]
    try:
        placed = frame.select(*columns, sql.col(_FILE).alias("file"), sql.col(_ROW).alias("row"))
    except AnalysisException:  # these rows are in no files
        (told,) = plain.agg(*tests).collect()
        return plain, _of_all([told]), False
    files = placed.groupBy("file").agg(sql.count("*"), sql.max("row"), *tests).collect()
    whole = _of_all([told for _, _, _, *told in files])
    if any(rows != last + 1 for _, rows, last, *_ in files):  # a view that leaves out some
        return plain, whole, False
    starts, start = [], 0
    for file, rows, *_ in sorted(files, key=_path):
        starts.append((file, start))
        start += rows
    known = frame.sparkSession.createDataFrame(starts, "named string, start bigint")
    joined = placed.join(sql.broadcast(known), sql.col("file") == sql.col("named"))
    number = (sql.col("start") + sql.col("row")).alias("number")
    return joined.select(*plain.columns, number), whole, True


def _path(told: Sequence[Any]) -> str:
    """The path of a file, whose address Spark tells."""
    return unquote(told[0])


def _of_all(told: Sequence[Sequence[bool | None]]) -> list[bool]:
    return [all(each is not False for each in column) for column in zip(*told, strict=True)]


def _is_whole(place: str) -> Column:
    """Whether a cell is a whole number of 64 bits; null if it is none at all."""
    from pyspark.sql import functions as sql

    cell = sql.col(place).cast("double")
    whole = (sql.rint(cell) == cell) & (cell >= -(2.0**63)) & (cell < 2.0**63)
    return sql.when(cell.isNotNull() & ~sql.isnan(cell), whole)


def _refuse(wrong: Ints, schema: Schema, source: str) -> None:
    """Raise an error that tells what is wrong in how many rows, if anything is."""
    for column, counts in zip(schema.columns, wrong.tolist(), strict=True):
        for what, count in zip((EMPTY, outside_domain(column)), counts, strict=True):
            if count:
                rows = f"{count:,} {'row' if count == 1 else 'rows'}"
                raise InputError(f"{source}: column {column.name!r} {what} in {rows}")


# --- what workers do ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Coding:
    """What cells stand for."""

    schema: Schema
    whole: Sequence[bool]
    source: str
    clamp: bool


def _coded(coding: _Coding, batches: Iterable[Any]) -> Iterator[Any]:
    """For each batch of rows their numbers, if they have some, their codes, and what is wrong by column."""
    import pyarrow as pa

    for batch in batches:
        table = pl.DataFrame(pa.Table.from_batches([batch]))
        codes = np.empty((len(table), len(coding.schema.columns)), dtype=np.int32)
        wrong = np.zeros((len(coding.schema.columns), 2), dtype=np.int64)
        for place, column in enumerate(coding.schema.columns):
            found = coded_cells(
                table[str(place)], column, coding.source, clamp=coding.clamp, whole=coding.whole[place]
            )
            codes[:, place] = found.codes.fill_null(0).to_numpy()
            wrong[place] = found.empty.sum(), found.outside.sum()
        numbers = table["number"].to_numpy() if "number" in table.columns else None
        data = pa.array([pickle.dumps((numbers, codes, wrong), protocol=5)], pa.binary())
        yield pa.RecordBatch.from_arrays([data], ["piece"])


def _unpacked(rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        yield pickle.loads(row["piece"])  # noqa: S301, our own


def _told(part: int, found: Iterable[Any]) -> Iterator[tuple[int, int, Ints]]:
    """Of a partition: its number, how many rows it has, and what is wrong by column."""
    pieces = list(found)
    if pieces:
        yield part, sum(len(codes) for _, codes, _ in pieces), sum(wrong for *_, wrong in pieces)


def _numbers(starts: Mapping[int, int], part: int, found: Iterable[Any]) -> Iterator[Piece]:
    """Pieces with the numbers of their rows, or with those that follow from the order of partitions."""
    start = starts.get(part, 0)
    for numbers, codes, _ in found:
        yield (np.arange(start, start + len(codes)) if numbers is None else numbers), codes
        start += len(codes)
