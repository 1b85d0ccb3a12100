"""Tables that do not fit in the memory that an engine may use: Parquet is read in batches, CSV is refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.engines.memory import Memory
from crowdveil.engines.stored.labels import with_codes
from crowdveil.engines.stored.laying_out import lay_out
from crowdveil.engines.stored.rows import Rows
from crowdveil.errors import InputError
from crowdveil.files.exact_paths import Source
from crowdveil.files.parquet_parts import ParquetParts
from crowdveil.labels import Labels


def check_csv(size: int, source: str, memory: Memory | None) -> None:
    """Refuse a CSV file of so many bytes if it does not fit: it is read whole."""
    if memory is not None and not memory.holds_csv(size):
        raise InputError(
            f"{source}: a CSV file is read whole, and this one does not fit in the memory (--memory): "
            "convert it to Parquet"
        )


def large_rows(
    parts: Sequence[Source], columns: tuple[str, str, str], source: str, memory: Memory | None
) -> Rows | None:
    """The rows of a table in Parquet if they do not fit in memory; None if they do."""
    if memory is None:
        return None
    table = ParquetParts(parts, source)
    count = table.count()
    return None if memory.holds(count) else Rows(partial(table.read, columns), count, columns, source)


def large_claims(rows: Rows, engine: Engine, *, saturate: bool) -> Claims:
    """The claims in these rows, on disk."""
    assert engine.memory is not None
    return lay_out(rows, engine.memory, engine.progress, saturate=saturate)


def large_labels(rows: Rows, engine: Engine) -> Labels:
    """The labels in these rows, on disk."""
    assert engine.memory is not None
    coded, choices = with_codes(rows, engine.memory, engine.progress)
    return Labels(lay_out(coded, engine.memory, engine.progress), choices)
