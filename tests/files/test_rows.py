"""The digest of rows: the same for the same table however it is packed, and for no other."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from crowdveil.files import rows
from crowdveil.files.rows import rows_of_frame, rows_of_parquet

WHOLE = pl.DataFrame(
    {
        "text": ["ab", "c", None, "", "é" * 40],
        "bytes": [b"\x00", b"", None, b"\xff\xfe", b"long enough not to be kept inline"],
        "number": [1.5, -0.0, None, float("nan"), 1e300],
        "whole": pl.Series([1, 2, None, 4, -5], dtype=pl.Int32),
        "large": pl.Series([2**64 - 1, 0, 1, 2, None], dtype=pl.UInt64),
        "truth": [True, False, None, True, False],
        "kind": pl.Series(["x", "y", "x", None, "x"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_packing_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    wanted = rows_of_frame(WHOLE)
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", size)
    assert rows_of_frame(WHOLE) == wanted
    assert rows_of_frame(pl.concat([WHOLE[:2], WHOLE[2:]], rechunk=False)) == wanted
    assert rows_of_frame(pl.concat([WHOLE, WHOLE])[5:]) == wanted
    path = tmp_path / "t.parquet"
    for compression in ("zstd", "uncompressed"):
        WHOLE.write_parquet(path, compression=compression, row_group_size=size, metadata={"any": "thing"})
        assert rows_of_parquet(path) == rows_of_parquet(str(path)) == wanted
        assert rows_of_parquet(BytesIO(path.read_bytes())) == wanted


def test_every_other_table_has_another_digest() -> None:
    others = [
        WHOLE,
        WHOLE.reverse(),
        WHOLE[:4],
        WHOLE[:0],
        pl.concat([WHOLE, WHOLE[:1]]),
        WHOLE.drop("truth"),
        WHOLE.rename({"truth": "lie"}),
        WHOLE.select("bytes", "text", *WHOLE.columns[2:]),
        WHOLE.with_columns(pl.Series("text", ["a", "bc", None, "", "é" * 40])),  # the same letters
        WHOLE.with_columns(pl.Series("text", ["ab", "c", "", "", "é" * 40])),
        WHOLE.with_columns(pl.Series("text", ["ab", "c", "", None, "é" * 40])),
        WHOLE.with_columns(
            pl.Series("bytes", [b"\x01", b"", None, b"\xff\xfe", b"long enough not to be kept"])
        ),
        WHOLE.with_columns(pl.Series("number", [1.5, 0.0, None, float("nan"), 1e300])),
        WHOLE.with_columns(pl.Series("number", [1.5, -0.0, 0.0, float("nan"), 1e300])),
        WHOLE.with_columns(pl.col("whole").cast(pl.Int64)),
        WHOLE.with_columns(pl.col("whole").cast(pl.Float64)),
        WHOLE.with_columns(pl.col("large").fill_null(0)),
        WHOLE.with_columns(pl.col("truth").fill_null(value=False)),
        WHOLE.with_columns(pl.col("kind").cast(pl.String)),
        WHOLE.with_columns(pl.col("kind").fill_null("x")),
    ]
    found = sorted(map(rows_of_frame, others))
    assert all(one != other for one, other in pairwise(found))


def test_the_form_stays_what_it_was() -> None:
    """Files that were signed stay checked."""
    small = pl.DataFrame({"object": ["a", "bc"], "value": [1.0, None]})
    assert rows_of_frame(small) == "655aa6cb70f1103d15c8ab25eb88a9f8b5cafd3e2748bebda19157848eb97aae"
