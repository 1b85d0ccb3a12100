"""Discover and release write the same files with little memory, and leave no other file behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError
from crowdveil.files import read_claims_as_told
from crowdveil.ledger import Ledger
from crowdveil.operations.discover import discover
from crowdveil.operations.perturb import Request, perturb
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.priscrowd import PrisCrowd
from every_method import crowd
from storing import frame_of

MEMORIES = (None, 8_000, 40_000, 60_000)  # the last one has room for the claims, and for little beside them


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "claims.parquet"
    frame_of(crowd()).write_parquet(path, row_group_size=77)
    return path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def watching(folder: Path) -> Callable[[str, float], None]:
    """Progress that fails if a file is seen."""

    def see(stage: str, share: float) -> None:
        assert list(folder.iterdir()) == []

    return see


@pytest.mark.parametrize("labels", [False, True])
def test_truths_are_the_same(labels: bool, table: Path, tmp_path: Path, empty: Path) -> None:
    if labels:
        pl.read_parquet(table).with_columns(pl.col("value").round()).write_parquet(table)
    told = []
    for memory in MEMORIES:
        out = tmp_path / f"truths-{memory}.csv"
        engine = LocalEngine(2, memory=memory, progress=watching(empty))
        found = discover(str(table), out=str(out), engine=engine, labels=labels).to_dict()
        weights = Path(found.pop("weights"))
        told.append((found | {"out": None}, out.read_bytes(), weights.read_bytes()))
    assert all(each == told[0] for each in told)
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    "parameters",
    [
        Certified(4.0, Range(2.0, 8.0)),
        Certified(4.0, Range(2.0, 8.0), adjacency="add-remove", cap=2, objects=("1", "3", "none")),
        PrisCrowd(k=2, gamma=8.0),
    ],
    ids=["certified", "coming and going", "priscrowd"],
)
def test_bundles_are_the_same(parameters: ReleaseMethod, table: Path, tmp_path: Path, empty: Path) -> None:
    told = []
    for memory in MEMORIES:
        out, account = tmp_path / f"out-{memory}", Account(Ledger(tmp_path / f"{memory}.sqlite3"), "d")
        engine = LocalEngine(2, memory=memory, progress=watching(empty))
        released = release(
            str(table), parameters, out, account, rng=seeded(3), engine=engine, insist=True, csv=True
        )
        folders = out, tmp_path / f"out-{memory}-private"
        files = {
            path.name: path.read_bytes()
            for folder in folders
            for path in folder.iterdir()
            if path.name not in ("claims.parquet", "certificate.json")
        }
        hidden = released.outside, released.unlisted, released.claims
        told.append((files, hidden, pl.read_parquet(out / "claims.parquet").to_dict(as_series=False)))
    assert all(each == told[0] for each in told)
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "options"),
    [("laplace", 1.0, {}), ("gaussian-exponential", None, {"lambda2": 0.5, "variance_per_user": True})],
)
def test_noisy_claims_are_the_same(
    mechanism: str,
    epsilon: float | None,
    options: dict[str, Any],
    table: Path,
    tmp_path: Path,
    empty: Path,
) -> None:
    told = []
    for memory in MEMORIES:
        out = tmp_path / f"noisy-{memory}.parquet"
        request = Request(str(table), mechanism, Range(2.0, 8.0), epsilon, options, seed=3)
        account = Account(Ledger(tmp_path / f"{memory}.sqlite3"), "d")
        engine = LocalEngine(2, memory=memory, progress=watching(empty))
        result = perturb(request, account, str(out), engine=engine).to_dict()
        certificate = read_claims_as_told(str(out))[1]
        told.append((result | {"out": None}, pl.read_parquet(out).to_dict(as_series=False), certificate))
    assert all(each == told[0] for each in told)
    assert list(empty.iterdir()) == []


def test_what_must_be_in_memory_is_refused_before_it_is_charged(table: Path, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    request = Request(str(table), "laplace", Range(2.0, 8.0), 1.0, seed=3)
    with pytest.raises(InputError, match=r"they need 55 KiB \(--memory\): Parquet is written in parts"):
        perturb(request, Account(book, "d"), str(tmp_path / "n.csv"), engine=LocalEngine(1, memory=9_000))
    assert not book.path.exists() or not book.statement()[1]


def test_no_file_is_left_after_a_refusal(table: Path, tmp_path: Path, empty: Path) -> None:
    bad = pl.read_parquet(table)
    pl.concat([bad, bad.tail(1)]).write_parquet(table)
    with pytest.raises(InputError, match=r"several claims about one object, e\.g\. rows 555 and 556 "):
        discover(str(table), out=str(tmp_path / "t.csv"), engine=LocalEngine(1, memory=8_000))
    assert list(empty.iterdir()) == []
