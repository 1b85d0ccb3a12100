"""A path names one file, whatever it looks like: nothing in it is expanded."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import crowdveil
from conftest import Run
from crowdveil.engines import LocalEngine
from crowdveil.files import read_claims_as_told, read_schema
from crowdveil.files.certificates import read_certificate
from crowdveil.files.reading import read_columns, read_frame, read_known_labels, read_names, read_truths
from crowdveil.ledger import Ledger, default_path

# Names, and files that a shell would take them for.
NAMES = {"a[1]": "a1", "a*": "ab", "a?": "ac", "~/x": "home/x"}
MORE_NAMES = NAMES | {"d[1]/x": "d1/x", "k=1/x": "k=1/y", "file:/x": "x", "s3:/b/x": "b/x"}
ENDINGS = [".csv", ".parquet"]
CELLS = ("--range", "0:4", "--epsilon", 2, "--seed", 1)
SCHEMA = {"columns": {"x": {"values": ["a", "b"]}, "y": {"values": ["p", "q"]}}}

strangely_named = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def _write(frame: pl.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        if path.suffix == ".parquet":
            frame.write_parquet(file)
        else:
            frame.write_csv(file)
    return path


def _claims(first: float) -> pl.DataFrame:
    pairs = [(f"o{i}", f"u{s}", (first + s) % 5) for i in range(2) for s in range(9)]
    return pl.DataFrame(pairs, schema=["object", "user", "value"], orient="row")


def _both(name: str, ending: str, right: pl.DataFrame, wrong: pl.DataFrame) -> tuple[str, str]:
    """A table under a plain name and under that name, beside one that the name could be taken for."""
    _write(wrong, Path(MORE_NAMES[name] + ending))
    plain, strange = (str(_write(right, Path(path + ending))) for path in ("plain", name))
    return plain, strange.replace("s3:/", "s3://").replace("file:/", "file://")


@strangely_named
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_is_of_the_claims_that_are_charged(run: Run, here: Path, name: str, ending: str) -> None:
    _, strange = _both(name, ending, _claims(0), _claims(1).with_columns(object=pl.lit("other")))
    asked = ("--epsilon", 2, "--range", "0:4", "--unit", "claim", "--insist", "-o", "out")
    done = run("release", strange, *asked)
    assert done.code == 0, done.err
    assert set(pl.read_csv("out/claims.csv")["object"]) <= {"o0", "o1"}
    assert pl.read_csv("out-private/statuses.csv")["object"].to_list() == ["o0", "o1"]
    charged = [charge.dataset for charge in Ledger(default_path()).entries()]
    assert charged == [str((here / f"{name}{ending}").resolve())]


@strangely_named
@pytest.mark.parametrize("ending", ENDINGS)
def test_perturb_discover_and_evaluate(run: Run, here: Path, name: str, ending: str) -> None:
    plain, strange = _both(name, ending, _claims(0), _claims(1))
    for mechanism, end in (("laplace", ".csv"), ("laplace", ".parquet"), ("rr", ".parquet")):
        for source, out in ((plain, f"one{end}"), (strange, f"two{end}")):
            done = run("perturb", source, *CELLS, "--mechanism", mechanism, "-o", out, "--force")
            assert done.code == 0, done.err
        assert Path(f"one{end}").read_bytes() == Path(f"two{end}").read_bytes()
    assert run("discover", strange).out == run("discover", plain).out
    assert run("discover", strange, "--labels").out == run("discover", plain, "--labels").out
    released = run("evaluate", plain, "--claims", plain, "--json")
    assert released.code == 0, released.err
    assert run("evaluate", strange, "--claims", strange, "--json").json() == released.json()


@strangely_named
@pytest.mark.parametrize("ending", ENDINGS)
def test_certificates_and_reports(run: Run, here: Path, name: str, ending: str) -> None:
    _write(_claims(0), Path("claims.csv"))
    strange, other = Path(name + ending), Path(MORE_NAMES[name] + ending)
    for path, epsilon in ((strange, 2), (other, 1)):
        path.parent.mkdir(parents=True, exist_ok=True)
        mechanism = "rr" if ending == ".parquet" else "laplace"
        asked = ("--range", "0:4", "--epsilon", epsilon, "--mechanism", mechanism)
        assert run("perturb", "claims.csv", *asked, "-o", path).code == 0
    shutil.copy(strange, f"plain{ending}")
    assert read_certificate(str(strange)).certificate.promise.to_dict()["epsilon"] == pytest.approx(
        2, abs=0.01
    )
    assert run("explain", strange).out == run("explain", f"plain{ending}").out
    assert run("discover", strange).out == run("discover", f"plain{ending}").out
    # Others' rows under this certificate are refused, whatever is beside them.
    metadata = pl.read_parquet_metadata(f"plain{ending}") if ending == ".parquet" else None
    if metadata is not None:
        with strange.open("wb") as file:
            rows = pl.read_parquet(f"plain{ending}")
            rows.reverse().write_parquet(file, metadata={"crowdveil": metadata["crowdveil"]})
        shutil.copy(f"plain{ending}", other)
        assert "its rows are not those" in run("explain", strange).err


@strangely_named
@pytest.mark.parametrize("ending", ENDINGS)
def test_records(run: Run, here: Path, name: str, ending: str) -> None:
    right = pl.DataFrame({"x": ["a", "b"] * 20, "y": ["p", "q"] * 20})
    plain, strange = _both(name, ending, right, right.with_columns(x=pl.lit("a")))
    schema = Path(f"{name}.json")
    schema.write_text(json.dumps(SCHEMA))
    for source, out in ((plain, "one.csv"), (strange, "two.csv")):
        done = run("synthesize", source, "--schema", schema, "--epsilon", 2, "--seed", 1, "-o", out)
        assert done.code == 0, done.err
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    asked = ("--schema", schema, "--json")
    evaluated = run("evaluate", plain, "--real", plain, *asked)
    assert evaluated.code == 0, evaluated.err
    assert run("evaluate", strange, "--real", strange, *asked).json() == evaluated.json()


@pytest.mark.parametrize("name", MORE_NAMES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_reader(here: Path, name: str, ending: str) -> None:
    truths = pl.DataFrame({"object": ["o1", "o2"], "value": [1.0, 2.0]})
    plain, strange = _both(name, ending, truths, truths.reverse())
    for read in (read_truths, read_known_labels, read_frame, lambda path: read_columns(path, ["value"])[0]):
        assert_frame_equal(read(strange), read(plain))
    Path(f"{name}.json").write_text(json.dumps(SCHEMA))
    assert read_schema(Path(f"{name}.json")).names == ("x", "y")
    Path(f"{name}.txt").write_text("one\n")
    assert read_names(Path(f"{name}.txt")) == ("one",)


@strangely_named
@pytest.mark.parametrize("ending", [*ENDINGS, ".csv.gz"])
def test_tables_are_written_where_they_should(run: Run, here: Path, name: str, ending: str) -> None:
    _write(_claims(0), Path("claims.csv"))
    other = Path(MORE_NAMES[name] + ending)
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("untouched")
    for number, command in enumerate((("perturb", "claims.csv", *CELLS), ("discover", "claims.csv"))):
        done = run(*command, "-o", f"{number}/{name}{ending}")
        assert done.code == 0, done.err
        done = run(*command, "-o", f"{name}{ending}", "--force")
        assert done.code == 0, done.err
        assert Path(f"{name}{ending}").read_bytes() == Path(f"{number}/{name}{ending}").read_bytes()
    assert other.read_text() == "untouched"


def test_only_one_file_calls_the_readers_of_polars() -> None:
    folder = Path(crowdveil.__file__).parent
    calls = re.compile(r"\b(pl|polars)\.(read|scan)_\w+\(")
    found = {path.name for path in folder.rglob("*.py") if calls.search(path.read_text(encoding="utf-8"))}
    assert found == {"exact_paths.py"}


@pytest.mark.parametrize("name", MORE_NAMES)
def test_claims_that_do_not_fit_in_memory_are_those_of_the_file(here: Path, name: str) -> None:
    paths = _both(name, ".parquet", _claims(0), _claims(1))
    plain, strange = (read_claims_as_told(path, LocalEngine(1, memory=18 * 99))[0] for path in paths)
    assert strange.values[:].tolist() == plain.values[:].tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [None, 18 * 99])
def test_a_folder_is_the_one_that_is_named(here: Path, name: str, memory: int | None) -> None:
    for folder, first in ((name, 0), (NAMES[name], 1)):
        _write(_claims(first), Path(folder) / "part[1].parquet")
        _write(_claims(2), Path(folder) / "part1.txt")
    found, _ = read_claims_as_told(name, LocalEngine(1, memory=memory))
    _write(_claims(0), Path("plain.parquet"))
    assert found.values[:].tolist() == read_claims_as_told("plain.parquet")[0].values.tolist()
