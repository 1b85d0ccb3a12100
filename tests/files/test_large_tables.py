"""Files that do not fit in memory: Parquet is read in batches, folders like one file, CSV is refused."""

from __future__ import annotations

import gzip
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.engines.stored import StoredClaims
from crowdveil.errors import InputError
from crowdveil.files import read_claims, read_claims_as_told, read_labels_as_told
from crowdveil.labels import Labels
from every_method import crowd
from storing import frame_of, same_claims, stored


def told(path: Path | str, memory: int | None = 9_000) -> Claims:
    return read_claims_as_told(str(path), LocalEngine(1, memory=memory))[0]


def test_what_fits_is_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "claims.parquet"
    frame_of(crowd()).write_parquet(path)
    for memory in (None, 100 * len(crowd())):
        assert not isinstance(told(path, memory), StoredClaims)
    assert isinstance(told(path, 100 * len(crowd()) - 1), StoredClaims)


@pytest.mark.parametrize("rows", [1, 7, 100, 10_000])
def test_any_groups_of_rows_give_the_same_claims(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "claims.parquet"
    frame_of(crowd()).write_parquet(path, row_group_size=rows)
    same_claims(told(path), crowd())


def parts(folder: Path, frame: pl.DataFrame) -> Path:
    folder.mkdir()
    for number, first in enumerate(range(0, len(frame), 200)):
        frame[first : first + 200].write_parquet(folder / f"part-{number}.parquet")
    return folder


def test_a_folder_is_read_like_one_file(tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts", frame_of(crowd()))
    (folder / "_SUCCESS").touch()
    (folder / "._hidden.parquet").write_text("nothing of interest")
    same_claims(read_claims(str(folder)), crowd())
    same_claims(told(folder), crowd())
    assert isinstance(told(folder), StoredClaims)


def test_rows_of_a_folder_are_counted_through_its_files_by_name(tmp_path: Path) -> None:
    frame = frame_of(crowd())
    bad = frame.with_columns(
        value=pl.when(pl.int_range(pl.len()).is_in([3, 450])).then(None).otherwise("value")
    )
    folder = parts(tmp_path / "parts", bad)
    for memory in (None, 9_000):
        with pytest.raises(InputError, match="'value' is empty in rows 4, 451 "):
            told(folder, memory)


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("object,user,value\na,b,1\n")
    with pytest.raises(InputError, match="is a folder without Parquet files"):
        told(tmp_path)


@pytest.mark.parametrize("memory", [None, 9_000])
def test_files_may_tell_the_same_kind_in_other_ways(memory: int | None, tmp_path: Path) -> None:
    """Who writes text of the same columns chooses widths of offsets and of codes by their number."""
    frame, kinds = frame_of(crowd()), (pa.large_string(), pa.string(), pa.string_view())
    texts, codes = tmp_path / "texts", tmp_path / "codes"
    for folder, types in (
        (texts, kinds),
        (codes, [pa.dictionary(kind, pa.string()) for kind in (pa.int8(), pa.int16(), pa.int32())]),
    ):
        folder.mkdir()
        for number, kind in enumerate(types):
            part = frame[number::3].with_columns(pl.col("object", "user").cast(pl.String)).to_arrow()
            for place, name in enumerate(("object", "user")):
                part = part.set_column(place, name, part[name].cast(pa.string()).cast(kind))
            parquet.write_table(part, folder / f"{number}.parquet")
        same_claims(told(folder, memory), told(texts, None))


@pytest.mark.parametrize("memory", [None, 9_000])
def test_files_of_different_kinds_are_refused(memory: int | None, tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts", frame_of(crowd()))
    frame_of(crowd())[:9].with_columns(pl.lit("x").alias("value")).write_parquet(folder / "part-9.parquet")
    with pytest.raises(InputError, match="parts: "):
        told(folder, memory)


def test_a_folder_in_which_a_file_has_a_certificate_is_refused(tmp_path: Path, run: Any) -> None:
    frame_of(crowd()).write_csv(tmp_path / "claims.csv")
    folder = tmp_path / "parts"
    folder.mkdir()
    noisy = folder / "one.parquet"
    arguments = ("--mechanism", "laplace", "--epsilon", "1", "--range", "0:10", "--seed", "1")
    ran = run("perturb", tmp_path / "claims.csv", *arguments, "-o", noisy)
    assert ran.code == 0, ran.err
    assert read_claims_as_told(str(noisy))[1] is not None
    for _ in range(2):
        for engine in (None, LocalEngine(1, memory=9_000)):
            with pytest.raises(InputError, match="its parts"):
                read_claims_as_told(str(folder), engine)
        frame_of(crowd()).write_parquet(folder / "two.parquet")


def test_parquet_from_standard_input_is_read_in_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = BytesIO()
    frame_of(crowd()).write_parquet(data)
    monkeypatch.setattr("sys.stdin", type("stdin", (), {"buffer": BytesIO(data.getvalue())}))
    same_claims(told("-"), crowd())


@pytest.mark.parametrize("packed", [False, True])
def test_csv_that_does_not_fit_is_refused(packed: bool, tmp_path: Path) -> None:
    data = frame_of(crowd()).write_csv().encode()
    path = tmp_path / ("claims.csv.gz" if packed else "claims.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    same_claims(told(path, 4 * len(data)), crowd())
    with pytest.raises(
        InputError, match=r"claims\.csv.*: a CSV file is read whole, .* convert it to Parquet"
    ):
        told(path, 4 * len(data) - 1)


def test_damaged_parquet_is_refused_without_a_word_of_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    frame_of(crowd()).write_parquet(path, compression="uncompressed", statistics=False)
    whole = path.read_bytes()
    refused = []
    for place in range(4, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            told(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert not re.search(r"user \d", " ".join(refused))


def test_columns_are_named_or_guessed(tmp_path: Path) -> None:
    path = tmp_path / "claims.parquet"
    frame_of(crowd()).rename({"object": "a.b", "user": "worker", "value": "*"}).write_parquet(path)
    engine = LocalEngine(1, memory=9_000)
    claims, _ = read_claims_as_told(str(path), engine, object="a.b", value="*")
    same_claims_but_for_columns(claims)
    with pytest.raises(InputError, match="three different columns"):
        read_claims_as_told(str(path), engine, object="*", value="*")


def same_claims_but_for_columns(claims: Claims) -> None:
    assert claims.objects.to_list() == crowd().objects.to_list()
    assert claims.values[:].tolist() == crowd().values.tolist()


LABELS: dict[str, Any] = {
    "text": pl.col("value").cast(pl.Int64).cast(pl.String),
    "numbers": pl.col("value").cast(pl.Int64),
    "whole floats": pl.col("value").round(),
    "categories": pl.col("value").cast(pl.Int64).cast(pl.String).cast(pl.Categorical),
    "truths": pl.col("value") > 5,
    "floats": pl.col("value"),
    "none": pl.when(pl.col("value") > 5).then(pl.col("value").round()),
    "no text": pl.when(pl.col("value") > 5).then(pl.lit("x")),
    "empty": pl.when(pl.col("value") > 5).then(pl.lit("x")).otherwise(pl.lit(" ")),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_on_disk_are_the_same_or_refused_in_the_same_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    frame_of(crowd()).with_columns(LABELS[name].alias("value")).write_parquet(path, row_group_size=99)
    found: list[Labels | str] = []
    for memory in (None, 9_000):
        try:
            found.append(read_labels_as_told(str(path), LocalEngine(1, memory=memory))[0])
        except InputError as error:
            found.append(str(error))
    one, other = found
    if isinstance(one, Labels) and isinstance(other, Labels):
        assert isinstance(other.claims, StoredClaims)
        same_claims(one.claims, other.claims)
        assert one.choices.equals(other.choices, check_dtypes=True)
    else:
        assert one == other
        assert name in ("truths", "floats", "none", "no text", "empty")


def test_a_bound_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="memory must be at least one byte, not 0"):
        LocalEngine(memory=0)


def test_claims_on_disk_are_read_with_any_bound(tmp_path: Path) -> None:
    for memory in range(7_500, 30_000, 4_321):
        same_claims(stored(crowd(), tmp_path, memory), crowd())
