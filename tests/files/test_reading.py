"""Files are read, or refused without a word of what they hold."""

from __future__ import annotations

import os
import subprocess
import sys
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


READ_AT_ONCE = """
import sys, threading
from crowdveil.errors import InputError
from crowdveil.files import read_claims
paths, errors, together = sys.argv[1:], [], threading.Barrier(len(sys.argv) - 1)
def read(path):
    for _ in range(30):
        together.wait()
        try:
            read_claims(path)
        except InputError as error:
            errors.append(str(error))
threads = [threading.Thread(target=read, args=(path,)) for path in paths]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(set(errors)), sep="\\n")
print(len(errors))
print("standard error works", file=sys.stderr)
"""


def test_standard_error_works_after_threads_read_damaged_files_at_once(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    paths = [
        str(tmp_path / name) for name in ("footer.parquet", "short.parquet", "page.parquet", "good.parquet")
    ]
    footer, short, page, good = map(Path, paths)
    table.write_parquet(good)
    whole = good.read_bytes()
    footer.write_bytes(whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:])
    short.write_bytes(whole[: len(whole) // 2])
    page.write_bytes(whole[:4] + bytes(60) + whole[64:])
    done = subprocess.run(
        [sys.executable, "-c", READ_AT_ONCE, *paths], capture_output=True, text=True, timeout=60, check=True
    )
    *messages, count = done.stdout.splitlines()
    assert messages == [f"{path}: this is not a Parquet file that can be read" for path in sorted(paths[:3])]
    assert int(count) == 3 * 30
    assert done.stderr == "standard error works\n"


def test_parquet_is_read_where_standard_error_is_closed(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "good.parquet"
    table.write_parquet(path)
    program = "import sys; from crowdveil.files import read_claims; print(len(read_claims(sys.argv[1])))"
    closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", program, str(path)]
    done = subprocess.run(closed, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert int(done.stdout) == table.height


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
