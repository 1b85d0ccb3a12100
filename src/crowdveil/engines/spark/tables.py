"""Claims and labels from what Spark can read: Parquet files and folders, wherever they lie, and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from crowdveil.claims import as_integers, coded
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.errors import InputError
from crowdveil.sources import TABLE, has_no_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_LABELS = 10_000  # distinct ones
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def table(cluster: Cluster, source: str) -> DataFrame:
    """The table that `source` names: `table:NAME`, or the path of a Parquet file or of a folder of these."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if source.startswith(TABLE):
            return cluster.spark.table(source.removeprefix(TABLE))
        return cluster.spark.read.parquet(source if has_no_path(source) else _exactly(source))
    except (PySparkException, Py4JError) as error:  # its message is long, and may tell of other files
        condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
        missing = "NOT_FOUND" in condition or "NOT_EXIST" in condition
        what = "there is no such table or file" if missing else "this is not Parquet that Spark can read"
        raise InputError(f"{source}: {what}") from None


def _exactly(path: str) -> str:
    """The address of this very file or folder; left alone, Spark takes `*` or `[` for a pattern."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(Path(path).absolute()))


def column_named(name: str) -> Column:
    """The column of this very name, whatever is in it."""
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")


def with_codes(cluster: Cluster, frame: DataFrame, column: str, source: str) -> tuple[DataFrame, pl.Series]:
    """The table with the codes of labels in place of a column, and the labels that codes index."""
    from pyspark.sql import functions as sql

    kind = dict(frame.dtypes).get(column, "")
    text = kind == "string" or kind.startswith(("varchar", "char"))
    if not text and kind not in (*_INTEGERS, "float", "double"):
        raise InputError(f"{source}: labels in column {column!r} are neither text nor whole numbers")
    value = column_named(column).cast("string" if text else "double")
    labels = _distinct(frame.select(value.alias("label")), column, source)
    codes, choices = coded(as_integers(labels), column, source)
    known = cluster.spark.createDataFrame(
        list(zip(labels.to_list(), codes.tolist(), strict=True)), ["label", "code"]
    )
    joined = frame.withColumn(column, value).join(
        sql.broadcast(known), column_named(column) == known["label"]
    )
    return joined.drop("label", column).withColumnRenamed("code", column), choices


def _distinct(frame: DataFrame, column: str, source: str) -> pl.Series:
    found: Sequence[object] = [row["label"] for row in frame.distinct().limit(MOST_LABELS + 1).collect()]
    if len(found) > MOST_LABELS:
        raise InputError(f"{source}: column {column!r} has more than {MOST_LABELS:,} different labels")
    if any(each is None for each in found):
        raise InputError(f"{source}: column {column!r} is empty in some row")
    return pl.Series(column, found)
