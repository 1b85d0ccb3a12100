"""Values outside the range: whoever holds them is told so, and nothing else depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run
from crowdveil.randomness import seeded
from crowdveil.simulation.claims import SimulatedClaims

WAYS: dict[str, tuple[object, ...]] = {
    "certified": ("release", "--epsilon", 9, "--unit", "claim", "--insist"),
    "add-remove": ("release", "--epsilon", 9, "--unit", "claim", "--adjacency", "add-remove", "--pooled"),
    "histogram": ("release", "--epsilon", 9, "--unit", "claim", "--estimator", "histogram", "--insist"),
    "basic": ("release", "--method", "basic", "--epsilon", 1),
    "priscrowd": ("release", "--method", "priscrowd"),
    "laplace": ("perturb", "--epsilon", 1),
    "rr": ("perturb", "--mechanism", "rr", "--epsilon", 1),
}
TOLD = "read off the data"


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """The same claims, whole numbers: some of them outside 3:7, and clamped to it by hand."""
    frame = SimulatedClaims(users=20, objects=6).frame(rng=seeded(3)).with_columns(pl.col("value").round())
    raw, clamped = tmp_path / "raw" / "claims.csv", tmp_path / "clamped" / "claims.csv"
    for path, table in ((raw, frame), (clamped, frame.with_columns(pl.col("value").clip(3, 7)))):
        path.parent.mkdir()
        table.write_csv(path)
    return raw, clamped


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "claims.csv"
    } | {"released": b"".join(path.read_bytes() for path in folder.glob("out*/claims.csv"))}


@pytest.mark.parametrize(("value", "end"), [("1e151", "7"), ("inf", "7"), ("-inf", "3")])
@pytest.mark.parametrize("way", WAYS)
def test_no_number_decides_whether_there_is_an_output(
    run: Run, two: tuple[Path, Path], way: str, value: str, end: str
) -> None:
    """The files are those of the end of the range."""
    command, *options = WAYS[way]
    header, first, *others = two[1].read_text().splitlines(keepends=True)
    written = []
    for source, cell in zip(two, (value, end), strict=True):
        source.write_text("".join([header, f"{first.rpartition(',')[0]},{cell}\n", *others]))
        out = source.with_name("out" if command == "release" else "out.parquet")
        done = run(command, source, *options, "--range", "3:7", "-o", out, "--seed", 5)
        assert done.code == 0, done.err
        written.append(_files(source.parent))
    assert written[0] == written[1]


@pytest.mark.parametrize("way", WAYS)
def test_files_exit_code_and_charge_do_not_depend_on_values_outside(
    run: Run, two: tuple[Path, Path], way: str
) -> None:
    command, *options = WAYS[way]
    seen: list[Any] = []
    for source in two:
        out = source.with_name("out" if command == "release" else "out.parquet")
        done = run(command, source, *options, "--range", "3:7", "-o", out, "--seed", 5)
        (charge,) = run("ledger", "--dataset", source, "--json").json()["entries"]
        kept = {key: charge[key] for key in charge if key not in ("id", "time", "dataset", "released")}
        seen.append((done, (done.code, done.out.replace(str(out), ""), _files(source.parent), kept)))
    (raw, written), (clamped, same) = seen
    assert written == same
    assert raw.code == 0
    assert TOLD in raw.err
    assert TOLD not in clamped.err


def test_the_warning_tells_how_many_and_is_not_in_the_way_of_json(run: Run, two: tuple[Path, Path]) -> None:
    values = pl.read_csv(two[0])["value"]
    outside = int((~values.is_between(3, 7)).sum())
    assert 0 < outside < values.len()
    share = f"{outside:,} of {values.len():,} claims ({outside / values.len():.1%})"
    out = two[0].with_name("out")
    for options in ((), ("--json", "--force")):
        done = run(
            "release", two[0], "--method", "basic", "--epsilon", 1, "--range", "3:7", "-o", out, *options
        )
        assert f"FOR YOUR EYES ONLY: {share} lie outside the range" in done.err
        assert "outside" not in done.out
    assert done.json()["for_you_only"] == {"clamped_claims": outside, "unlisted_claims": 0}
