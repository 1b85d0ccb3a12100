"""What Spark reads, be it claims, labels or records: Parquet, wherever it lies, and Spark's tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from crowdveil.engines import Engine
from crowdveil.engines.spark import Cluster, SparkEngine, SparkRecords, lay_out, lay_out_records, tables
from crowdveil.errors import InputError, ParameterError
from crowdveil.files.columns import nfc, three_columns
from crowdveil.files.exact_paths import parts_of
from crowdveil.labels import Labels
from crowdveil.records import Schema
from crowdveil.sources import STDIN, has_no_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from crowdveil.certificates.certificate import Certificate
    from crowdveil.claims import Claims


class SparkTable:
    """A table that Spark's workers read; the driver sees the names of columns, and the certificate."""

    def __init__(self, path: str, engine: Engine | None) -> None:
        assert isinstance(engine, SparkEngine)
        if path == STDIN:
            raise ParameterError("--engine spark reads Parquet files and tables, not standard input")
        self.label = path
        self._cluster: Cluster = engine.cluster

    @cached_property
    def _frame(self) -> DataFrame:
        if not has_no_path(self.label):
            path = Path(self.label)
            if not path.exists():
                raise InputError(f"{self.label}: no such file")
            if path.is_dir():
                files = parts_of(path)
                if not files:
                    raise InputError(f"{self.label}: is a folder without Parquet files")
                return tables.table(self._cluster, self.label, files)
            if path.is_file() and path.suffix.lower() in (".csv", ".gz", ".tsv", ".txt"):
                raise InputError(f"{self.label}: --engine spark reads Parquet, not CSV")
        return tables.table(self._cluster, self.label)

    def certificate(self) -> Certificate | None:
        """The certificate that a Parquet file or a table in parts carries, where the driver sees it."""
        from crowdveil.files.certificates import in_parquet

        path = Path(self.label)
        if has_no_path(self.label) or not (path.is_file() or (path.is_dir() and parts_of(path))):
            return None
        checked = in_parquet(path, self.label)
        return None if checked is None else checked.certificate

    def claims(
        self, given: Mapping[str, str | None], *, if_any: bool = False, saturate: bool = False
    ) -> Claims:
        """The claims in three columns, named or guessed; the workers hold them."""
        frame, (about, user, value) = self._three(given)
        claims = lay_out(
            *(self._cluster, frame),
            object=about,
            user=user,
            value=value,
            source=self.label,
            if_any=if_any,
            saturate=saturate,
        )
        return cast("Claims", claims)

    def labels(self, given: Mapping[str, str | None]) -> Labels:
        """The labels in three columns, named or guessed; the workers hold them."""
        frame, (about, user, value) = self._three(given)
        frame, choices = tables.with_codes(self._cluster, frame, (about, user, value), self.label)
        claims = lay_out(self._cluster, frame, object="object", user="user", value="value", source=self.label)
        return Labels(cast("Claims", claims), choices)

    def records(self, schema: Schema, *, clamp: bool = False) -> SparkRecords:
        """The records in the columns that the schema names; the workers hold them."""
        return lay_out_records(self._cluster, self._frame, schema, source=self.label, clamp=clamp)

    def _three(self, given: Mapping[str, str | None]) -> tuple[DataFrame, tuple[str, str, str]]:
        columns = self._frame.columns
        folded = [nfc(column).lower() for column in columns]  # Spark does not tell upper from lower case
        twice = {nfc(column) for column in columns if folded.count(nfc(column).lower()) > 1}
        found = three_columns(columns, self.label, given, twice)
        return self._frame, (found["object"], found["user"], found["value"])
