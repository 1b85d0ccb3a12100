"""Files are read, or refused without a word of what they hold."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdveil.errors import InputError
from crowdveil.files import read_claims


@pytest.fixture
def table() -> pl.DataFrame:
    rows = 3000
    return pl.DataFrame(
        {
            "object": [f"o{i // 10}" for i in range(rows)],
            "user": [f"u{i % 10}" for i in range(rows)],
            "value": np.sin(np.arange(rows)),
        }
    )


def test_damaged_parquet_is_refused_quietly_whatever_byte_is_damaged(
    table: pl.DataFrame, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged.parquet"
    table.write_parquet(path)
    whole = path.read_bytes()
    refused = 0
    for place in [*range(4, len(whole), len(whole) // 150), *range(len(whole) - 300, len(whole), 7)]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            read_claims(str(path))
        except InputError:
            refused += 1
    assert refused > 20
    assert capfd.readouterr().err == ""


def test_a_pipe_is_read_once(table: pl.DataFrame, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(table.write_csv().encode()))
    writer.start()
    assert len(read_claims(str(pipe))) == table.height
    writer.join()


@pytest.mark.parametrize(
    ("header", "given", "words"),
    [
        ("object,user,User,value", {}, "several columns could be the user"),
        ("object,user,value", {"user": "object"}, "three different columns"),
        ("object,user,value", {"value": "nothing"}, "no column 'nothing'"),
        ("a,b,c", {"object": "a", "user": "b"}, "which column is the value"),
    ],
)
def test_columns_must_be_told_apart(header: str, given: dict[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"{header}\n" + ",".join("1" * len(header.split(","))) + "\n")
    with pytest.raises(InputError, match=words):
        read_claims(str(path), **given)


def test_column_names_are_compared_as_nfc(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("object,user,s\u00e9v\u00e9rit\u00e9\no,u,1\n")
    assert len(read_claims(str(path), value="se\u0301ve\u0301rite\u0301")) == 1
