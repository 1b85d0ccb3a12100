"""Tables in parts: a folder of Parquet files, each of which carries the certificate of all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from crowdveil.certificates.certificate import of_noisy_claims
from crowdveil.claims import Claims
from crowdveil.errors import InputError, OutputError
from crowdveil.files import read_claims, read_claims_as_told, reserved_table
from crowdveil.files.certificates import metadata_for, read_certificate
from crowdveil.files.rows import rows_of_frame
from crowdveil.local import perturb
from crowdveil.local.description import Description
from crowdveil.randomness import secure

LAPLACE = Description("laplace", {"epsilon": 1.0, "range": [0.0, 10.0]})
FIRST, SECOND = "part-000000000000.parquet", "part-000000000002.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Noisy claims about four objects, in two parts."""
    raw = Claims.from_columns(list("aabbccdd"), ["ann", "bob"] * 4, [1.0] * 8)
    perturbed = perturb(raw, LAPLACE.build(), rng=secure())
    noisy = perturbed.claims
    frame = pl.DataFrame(
        {
            "object": noisy.objects.gather(noisy.owners()),
            "user": noisy.users.gather(noisy.user_codes),
            "value": noisy.values,
        }
    )
    parts = {FIRST: frame[:4], SECOND: frame[4:]}
    told = {name: rows_of_frame(part) for name, part in parts.items()}
    metadata = metadata_for(told, of_noisy_claims(perturbed, LAPLACE), None)
    path = tmp_path / "noisy.parquet"
    path.mkdir()
    for name, part in parts.items():
        part.write_parquet(path / name, metadata=metadata)
    return path


def test_all_parts_are_one_table_with_one_certificate(folder: Path) -> None:
    claims, certificate = read_claims_as_told(str(folder))
    assert certificate is not None
    assert (certificate.kind, certificate.method) == ("noisy claims", "laplace")
    assert claims.objects.to_list() == list("abcd")
    assert len(claims) == 8
    assert read_certificate(str(folder)).rows


def _change(folder: Path) -> None:
    part = pl.read_parquet(folder / FIRST).with_columns(pl.col("value") + 1.0)
    part.write_parquet(folder / FIRST, metadata=pl.read_parquet_metadata(folder / SECOND))


def _remove(folder: Path) -> None:
    (folder / SECOND).unlink()


def _add(folder: Path) -> None:
    shutil.copy(folder / FIRST, folder / "part-000000000003.parquet")


def _put_beside(folder: Path) -> None:
    shutil.copy(folder / FIRST, folder / "more.parquet")


def _swap(folder: Path) -> None:
    (folder / FIRST).rename(folder / "third")
    (folder / SECOND).rename(folder / FIRST)
    (folder / "third").rename(folder / SECOND)


def _take_off(folder: Path) -> None:
    pl.read_parquet(folder / FIRST).write_parquet(folder / FIRST)


@pytest.mark.parametrize("change", [_change, _remove, _add, _put_beside, _swap, _take_off])
def test_parts_that_are_not_those_of_the_certificate_are_refused(
    folder: Path, change: Callable[[Path], None]
) -> None:
    change(folder)
    for read in (read_claims_as_told, read_certificate):
        with pytest.raises(InputError, match="its parts"):
            read(str(folder))


def test_a_part_alone_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="one part of a table"):
        read_claims_as_told(str(folder / FIRST))


def test_parts_without_a_certificate_are_a_plain_table(folder: Path) -> None:
    for name in (FIRST, SECOND):
        pl.read_parquet(folder / name).write_parquet(folder / name)
    claims, certificate = read_claims_as_told(str(folder))
    assert certificate is None
    assert len(claims) == 8
    with pytest.raises(InputError, match=r"certificate\.json"):
        read_certificate(str(folder))


def test_another_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_claims(str(tmp_path))


def test_force_replaces_parts_and_nothing_else(folder: Path) -> None:
    with reserved_table(str(folder), force=True, parts=True):
        pass
    (folder / "notes.txt").touch()
    with pytest.raises(OutputError, match="other files"), reserved_table(str(folder), force=True, parts=True):
        pass
