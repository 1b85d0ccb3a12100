"""Claims and labels from what Spark can read: Parquet files and folders, wherever they lie, and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from crowdveil.cells import as_integers
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.errors import InputError
from crowdveil.names import coded
from crowdveil.sources import TABLE, has_no_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_LABELS = 10_000  # distinct ones
LARGEST = 2**63 - 1
INTEGERS = ("tinyint", "smallint", "int", "bigint")  # of Spark, as its tables call them


def table(cluster: Cluster, source: str, files: Sequence[Path] | None = None) -> DataFrame:
    """The table that `source` names: `table:NAME`, an address, or the path of a Parquet file.

    With `files` it is in these; `source` is what errors call it.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if not has_no_path(source):
            return cluster.spark.read.parquet(*(_exactly(file) for file in files or [Path(source)]))
        if source.startswith(TABLE):
            return cluster.spark.table(source.removeprefix(TABLE))
        return cluster.spark.read.parquet(source)
    except (PySparkException, Py4JError) as error:  # its message is long, and may tell of other files
        condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
        missing = "NOT_FOUND" in condition or "NOT_EXIST" in condition
        what = "there is no such table or file" if missing else "this is not Parquet that Spark can read"
        raise InputError(f"{source}: {what}") from None


def _exactly(path: Path) -> str:
    """The address of this very file; left alone, Spark takes `*` or `[` for a pattern."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def column_named(name: str) -> Column:
    """The column of this very name, whatever is in it."""
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")


def is_whole(kind: str) -> bool:
    """Whether this is a decimal without a fraction, as which Spark reads unsigned integers of 64 bits."""
    return kind.startswith("decimal(") and kind.endswith(",0)")


def check_integers(frame: DataFrame, names: Sequence[str], source: str) -> None:
    """Refuse whole numbers beyond 64 bits in these columns."""
    kinds = dict(frame.dtypes)
    for name in names:
        if is_whole(kinds[name]):
            cells = column_named(name)
            if frame.where((cells > LARGEST) | (cells < -LARGEST - 1)).head(1):
                raise InputError(f"{source}: column {name!r} holds a number past 64 bits")


def with_codes(
    cluster: Cluster, frame: DataFrame, names: Sequence[str], source: str
) -> tuple[DataFrame, pl.Series]:
    """Columns "object", "user" and "value", which has codes in place of labels; and what codes index."""
    from pyspark.sql import functions as sql

    about, user, column = names
    kind = dict(frame.dtypes).get(column, "")
    text = kind == "string" or kind.startswith(("varchar", "char"))
    whole = kind in INTEGERS or is_whole(kind)
    if not text and not whole and kind not in ("float", "double"):
        raise InputError(f"{source}: labels in column {column!r} are neither text nor whole numbers")
    check_integers(frame, [column], source)
    stored = "string" if text else "bigint" if whole else "double"
    three = frame.select(
        column_named(about).alias("object"),
        column_named(user).alias("user"),
        column_named(column).cast(stored).alias("label"),
    )
    labels = _distinct(three.select("label"), column, source)
    codes, choices = coded(as_integers(labels), column, source)
    known = cluster.spark.createDataFrame(
        list(zip(labels.to_list(), codes.tolist(), strict=True)), f"known {stored}, value int"
    )
    joined = three.join(sql.broadcast(known), sql.col("label") == sql.col("known"))
    return joined.select("object", "user", "value"), choices


def _distinct(frame: DataFrame, column: str, source: str) -> pl.Series:
    found: Sequence[object] = [row["label"] for row in frame.distinct().limit(MOST_LABELS + 1).collect()]
    if len(found) > MOST_LABELS:
        raise InputError(f"{source}: column {column!r} has more than {MOST_LABELS:,} different labels")
    if not found:
        raise InputError(f"{source}: there are no claims (no data rows)")
    if any(each is None for each in found):
        raise InputError(f"{source}: column {column!r} is empty in some row")
    if any(isinstance(each, str) and not each.strip() for each in found):
        raise InputError(f"{source}: column {column!r} has an empty name in some row")
    return pl.Series(column, found)
