"""Releases and truths by Spark: the files that the local engine writes; what is refused costs nothing."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.engines.spark import SparkEngine
from crowdveil.engines.spark.blocks import sealed
from crowdveil.errors import CrowdveilError, EngineError, InputError, OutputError, ParameterError
from crowdveil.files.certificates import read_certificate
from crowdveil.ledger import Ledger
from crowdveil.operations.discover import discover
from crowdveil.operations.perturb import Request, perturb
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.certified import Certified
from every_method import RELEASED, crowd


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    """The crowd's claims in a file whose name is a pattern for whoever takes it for one."""
    return written(crowd(), tmp_path / "claims [1]*?{x}.parquet")


def written(claims: Claims, path: Path) -> Path:
    pl.DataFrame(
        {
            "object": claims.objects.gather(claims.owners()),
            "user": claims.users.gather(claims.user_codes),
            "value": claims.values,
        }
    ).sample(fraction=1, shuffle=True, seed=2).write_parquet(path)
    return path


def without_files(certificate: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(certificate.read_text())
    files = told["contents"].pop("files")
    assert {name.split("/")[0] for name in files} == {"claims.parquet", "claims.csv", "public.html"}
    return told


@pytest.mark.parametrize("name", ["certified", "priscrowd", "smoothed"])
def test_bundles_are_those_of_the_local_engine(
    name: str, parquet: Path, spark: SparkEngine, book: Ledger, tmp_path: Path
) -> None:
    def bundle(out: Path, engine: Engine) -> None:
        release(str(parquet), RELEASED[name], out, Account(book, "x"), rng=seeded(7), engine=engine)

    here, there = tmp_path / "here", tmp_path / "there"
    bundle(here, LocalEngine())
    bundle(there, spark)
    assert (there / "claims.parquet").is_dir()
    parts = sorted((there / "claims.parquet").iterdir())
    assert_frame_equal(
        pl.concat(pl.read_parquet(part, glob=False) for part in parts),
        pl.read_parquet(here / "claims.parquet"),
    )
    assert without_files(there / "certificate.json") == without_files(here / "certificate.json")
    for name in ("claims.csv", "public.html"):
        assert (there / name).read_bytes() == (here / name).read_bytes()
    for path in sorted((tmp_path / "here-private").iterdir()):
        assert (tmp_path / "there-private" / path.name).read_bytes() == path.read_bytes()
    assert read_certificate(str(there)).files is not None
    parts[0].write_bytes(parts[0].read_bytes() + b"x")
    with pytest.raises(InputError, match="is not the file of which"):
        read_certificate(str(there))
    parts[0].unlink()
    with pytest.raises(InputError, match="is missing"):
        read_certificate(str(there))


def test_truths_are_those_of_the_local_engine(parquet: Path, spark: SparkEngine, tmp_path: Path) -> None:
    rounded = tmp_path / "rounded.parquet"
    pl.read_parquet(parquet, glob=False).with_columns(pl.col("value").round()).write_parquet(rounded)
    for labels in (False, True):
        files = []
        for engine in (LocalEngine(), spark):
            out = tmp_path / f"{type(engine).__name__} {labels}.csv"
            discovered = discover(str(rounded), out=str(out), labels=labels, engine=engine)
            assert discovered.weights is not None
            files.append((out.read_bytes(), Path(discovered.weights).read_bytes()))
        assert files[0] == files[1]


def test_a_folder_and_a_table_are_read_like_a_file(parquet: Path, spark: SparkEngine, tmp_path: Path) -> None:
    frame = pl.read_parquet(parquet, glob=False)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        frame[number::3].write_parquet(folder / f"{number}.parquet")
    spark.cluster.spark.read.parquet(str(folder)).createOrReplaceTempView("crowd")
    outs: list[Path] = []
    for source in (str(folder), "table:crowd"):
        outs.append(tmp_path / f"{len(outs)}.csv")
        discover(source, out=str(outs[-1]), engine=spark)
    discover(str(parquet), out=str(tmp_path / "file.csv"), engine=LocalEngine())
    assert all(out.read_bytes() == (tmp_path / "file.csv").read_bytes() for out in outs)


def test_unsigned_names_and_long_decimals_are_read_alike(spark: SparkEngine, tmp_path: Path) -> None:
    whole = np.random.default_rng(1).integers(10**17, 10**18, 60)
    values = [Decimal(number).scaleb(-7) for number in whole.tolist()]
    assert any(number / 1e7 != float(value) for number, value in zip(whole, values, strict=True))
    frame = pl.DataFrame(
        {"object": np.arange(60, dtype=np.uint64) // 3, "user": np.arange(60, dtype=np.uint64) % 3}
    ).with_columns(pl.Series("value", values, pl.Decimal(18, 7)), kind=pl.col("object") % 2)
    source, files = tmp_path / "claims.parquet", []
    frame.write_parquet(source)
    for engine in (LocalEngine(), spark):
        out = tmp_path / f"{type(engine).__name__}.csv"
        discover(str(source), out=str(out), method="mean", engine=engine)
        files.append(out.read_bytes())
        discover(str(source), out=str(out), labels=True, value="kind", engine=engine, force=True)
        files.append(out.read_bytes())
    assert files[:2] == files[2:]
    frame.with_columns(pl.col("user") + 2**63 - 1).write_parquet(source)
    for engine in (LocalEngine(), spark):
        with pytest.raises(InputError, match="column 'user' holds a number past 64 bits"):
            discover(str(source), out=str(tmp_path / "none.csv"), engine=engine)


def _no_column(frame: pl.DataFrame, path: Path) -> str:
    frame.drop("user").write_parquet(path)
    return "which column is the user"


def _text(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(value=pl.col("value").cast(pl.String)).write_parquet(path)
    return "column 'value' does not hold numbers"


def _no_name(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(user=pl.when(pl.int_range(pl.len()) > 2).then("user")).write_parquet(path)
    return "column 'user' has no name in 3 rows"


def _blank(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(
        object=pl.when(pl.col("object") == "0").then(pl.lit(" ")).otherwise("object")
    ).write_parquet(path)
    return "column 'object' has an empty name in 1 row"


def _empty(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(value=pl.when(pl.int_range(pl.len()) > 0).then("value")).write_parquet(path)
    return "column 'value' is empty in 1 row"


def _nan(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(value=pl.lit(float("nan"))).write_parquet(path)
    return "column 'value' is NaN in 555 rows"


def _twice(frame: pl.DataFrame, path: Path) -> str:
    pl.concat([frame, frame[:2]]).write_parquet(path)
    return "one user has several claims about one object; 2 rows are too many"


def _none(frame: pl.DataFrame, path: Path) -> str:
    frame[:0].write_parquet(path)
    return "there are no claims"


def _csv(frame: pl.DataFrame, path: Path) -> str:
    frame.write_csv(path)
    return "cannot be read as Parquet"


def _missing(_: pl.DataFrame, __: Path) -> str:
    return "no such file"


def _folder(_: pl.DataFrame, path: Path) -> str:
    path.mkdir()
    return "is a folder without Parquet files"


def _tabs(frame: pl.DataFrame, path: Path) -> str:
    frame.with_columns(
        user=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("\t\u00a0")).otherwise("user")
    ).write_parquet(path)
    return "column 'user' has an empty name in 2 rows"


REFUSED: list[Callable[[pl.DataFrame, Path], str]] = [
    *(_no_column, _text, _no_name, _blank, _tabs, _empty, _nan, _twice, _none, _csv, _missing, _folder)
]


@pytest.mark.parametrize("make", REFUSED)
def test_bad_input_is_one_line_and_costs_nothing(
    make: Callable[[pl.DataFrame, Path], str],
    parquet: Path,
    spark: SparkEngine,
    book: Ledger,
    tmp_path: Path,
) -> None:
    source = tmp_path / "bad.parquet"
    words = make(pl.read_parquet(parquet, glob=False), source)
    with pytest.raises(CrowdveilError) as refused:
        release(
            *(str(source), RELEASED["certified"], tmp_path / "out", Account(book, "x")),
            rng=seeded(1),
            engine=spark,
        )
    assert words in str(refused.value)
    assert len(str(refused.value)) < len(str(tmp_path)) + 150
    assert not book.path.exists() or not book.statement(None)[1]
    assert not list(tmp_path.glob("out*"))


COMING_AND_GOING = Certified(
    4.0, Range(0.0, 10.0), unit="user", cap=3, adjacency="add-remove", objects=(1, 2, 3, 40)
)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_where_claims_come_and_go_a_bundle_looks_the_same_however_few_there_are(
    count: int, pooled: bool, spark: SparkEngine, book: Ledger, tmp_path: Path
) -> None:
    source = tmp_path / "claims.parquet"
    kinds = {"object": pl.Int64, "user": pl.Int64, "value": pl.Float64}
    rows = [(1 + number % 3, number, 5.0 + number) for number in range(count)]
    pl.DataFrame(rows, schema=kinds, orient="row").write_parquet(source)
    method = replace(COMING_AND_GOING, pooled=True, objects=None) if pooled else COMING_AND_GOING
    for name, engine in (("here", LocalEngine()), ("there", spark)):
        release(
            *(str(source), method, tmp_path / name, Account(book, "x")),
            rng=seeded(1),
            engine=engine,
            insist=True,
        )
    here, there = tmp_path / "here", tmp_path / "there"
    assert [path.name for path in (there / "claims.parquet").iterdir()] == ["part-000000000000.parquet"]
    (part,) = (there / "claims.parquet").iterdir()
    assert_frame_equal(pl.read_parquet(part), pl.read_parquet(here / "claims.parquet"))
    assert without_files(there / "certificate.json") == without_files(here / "certificate.json")
    assert (there / "public.html").read_bytes() == (here / "public.html").read_bytes()


def test_files_follow_from_rows_and_not_from_blocks(
    parquet: Path, spark: SparkEngine, book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.engines.spark.writing.ROWS_OF_A_FILE", 200)
    names = []
    for size in (10, 100, 3_000_000):
        monkeypatch.setattr("crowdveil.engines.spark.laying_out.CLAIMS_PER_BLOCK", size)
        out = tmp_path / str(size)
        release(str(parquet), RELEASED["basic"], out, Account(book, "x"), rng=seeded(1), engine=spark)
        names.append({path.name: path.read_bytes() for path in (out / "claims.parquet").iterdir()})
    assert names[0] == names[1] == names[2]
    assert len(names[0]) == 3


def test_rows_beside_a_table_in_parts_are_not_read(
    parquet: Path, spark: SparkEngine, book: Ledger, tmp_path: Path
) -> None:
    noisy = tmp_path / "noisy.parquet"
    request = Request(str(parquet), "laplace", Range(0.0, 10.0), 1.0, seed=3)
    perturb(request, Account(book, "x"), str(noisy), engine=spark)
    discover(str(noisy), out=str(tmp_path / "truths.csv"), engine=spark)
    for name in ("_x=1.parquet", ".hidden.parquet", "more.parquet"):
        (noisy / name).write_bytes(next(noisy.iterdir()).read_bytes())
        for engine in (spark, LocalEngine()):
            with pytest.raises(InputError, match="its parts"):
                discover(str(noisy), out=str(tmp_path / "other.csv"), engine=engine)
        (noisy / name).unlink()


def test_labels_may_have_any_column_names(spark: SparkEngine, tmp_path: Path) -> None:
    source = tmp_path / "labels.parquet"
    labels = [9007199254740993, 9007199254740992, 9007199254740993]
    pl.DataFrame({"code": [1, 1, 1], "user": [1, 2, 3], "label": labels}).write_parquet(source)
    for name, engine in (("here", LocalEngine()), ("there", spark)):
        discover(str(source), out=str(tmp_path / f"{name}.csv"), labels=True, object="code", engine=engine)
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


@pytest.mark.parametrize(
    ("labels", "what"), [(["a", " "], "empty name"), (["a", None], "empty|no name"), ([], "no claims")]
)
def test_labels_that_are_none(labels: list[str], what: str, spark: SparkEngine, tmp_path: Path) -> None:
    source = tmp_path / "labels.parquet"
    columns = {"object": ["1", "2"][: len(labels)], "user": ["1", "1"][: len(labels)], "label": labels}
    pl.DataFrame(columns, dict.fromkeys(columns, pl.String)).write_parquet(source)
    for engine in (LocalEngine(), spark):
        with pytest.raises(InputError, match=what):
            discover(str(source), out=str(tmp_path / "none.csv"), labels=True, engine=engine)


@pytest.mark.parametrize(
    ("limit", "most", "method", "what"),
    [
        ("claims.MOST_NAMED", 1, "basic", "there are more than 1 objects or users"),
        ("claims.MOST_POOLED", 5, "certified, pooled", "Spark pools at most 5 claims, and there are"),
        ("laying_out.MOST_BYTES", 100, "basic", "has more claims than a task of Spark passes on"),
        ("laying_out.MOST_ROWS", 5, "basic", "has more claims than a task of Spark passes on"),
    ],
)
def test_what_is_too_large_for_spark_costs_nothing(
    limit: str,
    most: int,
    method: str,
    what: str,
    parquet: Path,
    spark: SparkEngine,
    book: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, name = limit.split(".")
    found = importlib.import_module(f"crowdveil.engines.spark.{module}")
    monkeypatch.setattr(found, name, most)
    if module == "laying_out":  # workers have the limits of their own module: they are sent this function
        packed = FunctionType(found._packed.__code__, {**vars(found), "__name__": "here"})
        monkeypatch.setattr(found, "_packed", packed)
    with pytest.raises(InputError, match=what):
        release(str(parquet), RELEASED[method], tmp_path / "out", Account(book, "x"), engine=spark)
    assert not book.path.exists() or not book.statement()[1]
    assert not (tmp_path / "out").exists()


def test_what_changes_while_it_is_read_ends_the_run(spark: SparkEngine, tmp_path: Path) -> None:
    source = written(crowd(), tmp_path / "claims.parquet")

    def names(_: int) -> pl.Series:
        return pl.read_parquet(source)["object"]

    there = sealed(spark.cluster.context.parallelize([0], 1).map(names))
    before = there.collect()[0].to_list()
    there.unpersist(True)
    assert there.collect()[0].to_list() == before
    written(crowd(2), source)
    there.unpersist(True)
    with pytest.raises(EngineError, match="the input was changed"), spark.cluster.watched("reading"):
        there.collect()


def test_output_that_cannot_be_written_costs_nothing(
    parquet: Path, spark: SparkEngine, book: Ledger, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        release(
            *(str(parquet), RELEASED["certified"], tmp_path / "file" / "out", Account(book, "x")),
            rng=seeded(1),
            engine=spark,
        )
    assert not book.path.exists() or not book.statement(None)[1]


def test_standard_input_is_for_the_local_engine(spark: SparkEngine) -> None:
    with pytest.raises(ParameterError, match="standard input"):
        discover("-", engine=spark)


@pytest.mark.parametrize("source", ["table:claims", "s3://bucket/claims"])
def test_tables_are_for_spark(source: str) -> None:
    with pytest.raises(InputError, match="--engine spark"):
        discover(source)


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path) -> Iterator[None]:
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)
