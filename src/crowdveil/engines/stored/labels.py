"""Labels in a table that does not fit in memory: their codes take the place of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from crowdveil.cells import as_integers
from crowdveil.engines.engine import Progress
from crowdveil.engines.memory import Memory
from crowdveil.engines.stored.checks import Checks
from crowdveil.engines.stored.names import Codebook, Tally, learn
from crowdveil.engines.stored.rows import Rows
from crowdveil.errors import InputError
from crowdveil.names import coded


def with_codes(rows: Rows, memory: Memory, progress: Progress) -> tuple[Rows, pl.Series]:
    """The rows with codes of labels in place of values, and the labels, ascending, that codes index."""
    *_, value = rows.columns
    labels = _distinct(rows, memory, progress)
    _, choices = coded(labels, value, rows.source)
    book, kind = Codebook(choices), choices.dtype

    def read(size: int) -> Iterator[pl.DataFrame]:
        for frame in rows.read(size):
            codes = book.codes(frame[value].cast(kind))
            if codes is None:
                raise InputError(f"{rows.source}: was changed while it was read")
            yield frame.with_columns(pl.Series(value, codes))

    return replace(rows, read=read), choices


def _distinct(rows: Rows, memory: Memory, progress: Progress) -> pl.Series:
    """The distinct labels; rows that are wrong are refused in the words of `coded`."""
    *_, value = rows.columns
    checks, tally = Checks(rows.source, [value]), Tally()
    for *_, labels in rows.batches(memory, "labels", progress):
        try:
            _learn(tally, labels, value, rows.source, checks)
        except InputError as error:
            checks.kind(value, error)
        checks.next_batch(len(labels))
    checks.raise_first()
    return as_integers(tally.result(value)[0])


def _learn(tally: Tally, labels: pl.Series, column: str, source: str, checks: Checks) -> None:
    """As `learn`; whether floats are whole numbers shows at the end only."""
    if not labels.dtype.is_float():
        learn(tally, labels, column, source, checks)
        return
    checks.refuse(labels.is_null(), source, column, "has no name")
    if checks.all_right:
        counted = labels.to_frame("name").group_by("name").agg(pl.len().cast(pl.Int64).alias("rows"))
        tally.add(counted)
