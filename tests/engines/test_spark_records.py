"""Records that Spark's workers hold: the same reports and tables as here, to the last bit, in any blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.engines import RECORDS_TOGETHER, LocalEngine, RecordBlock
from crowdveil.engines.spark import Cluster, SparkEngine, SparkRecords, lay_out_records
from crowdveil.engines.spark.tables import table
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.files import write_schema
from crowdveil.ledger import Ledger
from crowdveil.local.krr import KRR
from crowdveil.operations.spending import Account
from crowdveil.operations.synthesize import Synthesized, synthesize
from crowdveil.randomness import secure, seeded
from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis.all_columns import Devices, reports_of
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.samprivsyn import SamPrivSyn

SCHEMA = Schema(
    (
        Column("job", ("cook", "nurse", "é", "7")),
        Column("age", edges=(0.0, 30.0, 60.0, 99.0), missing=True),
        Column("told", ("true", "false")),
        Column("score", ("1", "2", "3"), missing=True),
    )
)
MANY = RECORDS_TOGETHER + 9_000
Lay = Callable[..., SparkRecords]
_ALL: Any = ("object",) * 4


def people(many: int) -> pl.DataFrame:
    """Text, floats with empty cells, truth values, and floats that are whole numbers."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 4, many)
    age = np.where(rng.random(many) < 0.1, np.nan, 20.0 * kind + rng.random(many) * 30)
    score = np.where(rng.random(many) < 0.1, np.nan, 1.0 + kind % 3)
    return pl.DataFrame(
        {
            "not asked": np.arange(many),
            "score": pl.Series(score).fill_nan(None),
            "job": np.array(["cook", "nurse", "e\u0301", "7"])[kind],
            "age": pl.Series(age),
            "told": rng.random(many) < 0.4 + 0.1 * kind,
        }
    )


PEOPLE = people(MANY)
RECORDS = Records.from_frame(PEOPLE, SCHEMA)


@pytest.fixture(autouse=True)
def _functions_of_this_file() -> None:
    """Workers do not find this module: its functions are sent to them whole."""
    pytest.importorskip("pyspark").cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The people in three files of many row groups, which were not written in the order of their names.

    Spark tells addresses, in which é would come first.
    """
    place = tmp_path_factory.mktemp("people") / "records with [blanks]"
    place.mkdir()
    for first, last, name in ((70_000, MANY, "é"), (0, 7, "a"), (7, 70_000, "b")):
        PEOPLE[first:last].write_parquet(place / f"{name}.parquet", row_group_size=9_000)
    return place


@pytest.fixture(scope="session")
def lay(cluster: Cluster, folder: Path) -> Lay:
    """The people in so many blocks."""

    @cache
    def laid_out(blocks: int) -> SparkRecords:
        found = table(cluster, str(folder))
        return lay_out_records(cluster, found, SCHEMA, source="people", blocks=blocks)

    return laid_out


def codes_of(block: Any, _: None) -> tuple[Any]:
    return (block.codes,)


def sent_alike(block: Any, devices: Devices) -> tuple[Any, ...]:
    """What devices send if all of them hold the same."""
    return reports_of(RecordBlock(block.first, np.zeros_like(block.codes)), devices)


def collected(spark: SparkEngine, records: SparkRecords) -> Any:
    return spark.collect(spark.map("codes", records, codes_of, None)[0])


def test_rows_have_the_order_of_files_however_they_are_divided(spark: SparkEngine, lay: Lay) -> None:
    assert (len(lay(3)), lay(3).firsts) == (MANY, [0, RECORDS_TOGETHER, MANY])
    assert (collected(spark, lay(3)) == RECORDS.codes).all()
    session, limit = spark.cluster.spark, "spark.sql.files.maxPartitionBytes"
    before = session.conf.get(limit)
    session.conf.set(limit, "60k")
    try:
        assert lay(1).firsts == [0, MANY]
    finally:
        session.conf.set(limit, before or "128m")
    assert (collected(spark, lay(1)) == RECORDS.codes).all()


def test_records_can_be_put_in_any_order(spark: SparkEngine, lay: Lay) -> None:
    order = np.random.default_rng(2).permutation(MANY)
    assert (collected(spark, lay(3).take(order)) == RECORDS.codes[order]).all()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_the_same_table_here_and_there(name: str, spark: SparkEngine, lay: Lay) -> None:
    parameters = SamPrivSyn(2.0, batch=30_000) if name == "samprivsyn" else METHODS[name].parameters(2.0)
    blocks = [1, 3] if name in ("crowdveil", "krr") else [3]
    made = [
        METHODS[name].synthesize(each, parameters, rows=500, rng=seeded(4), engine=engine)
        for each, engine in [(RECORDS, LocalEngine(2)), *((lay(many), spark) for many in blocks)]
    ]
    for each in made[1:]:
        assert each.records.codes.tobytes() == made[0].records.codes.tobytes()
        assert (each.report_bits, each.promise, each.parameters) == (
            *(made[0].report_bits, made[0].promise),
            made[0].parameters,
        )


def test_secure_devices_draw_the_same_again_and_never_what_others_draw(spark: SparkEngine, lay: Lay) -> None:
    alike = np.zeros((MANY, 4), dtype=np.int32)
    devices = Devices.of([KRR(0.1, 4)] * 4, rng=secure())
    records, operation = lay(3), (sent_alike, devices)
    first, again = (
        np.column_stack([spark.collect(each) for each in spark.map("all", records, *operation, per=_ALL)])
        for _ in range(2)
    )
    here = np.column_stack(LocalEngine().map("all", Records(SCHEMA, alike), *operation, per=_ALL))
    assert (first == again).all()
    assert (first == here).all()
    apart = [first[begin : begin + 9_000, column] for begin in records.firsts[:-1] for column in range(4)]
    for one, other in combinations(apart, 2):
        assert (one == other).mean() < 0.4  # by chance .25


def test_a_table_without_files_is_read_once(spark: SparkEngine, lay: Lay, folder: Path) -> None:
    session = spark.cluster.spark
    table(spark.cluster, str(folder)).filter("job = 'nurse'").createOrReplaceTempView("nurses")
    session.sql("select *, uuid() as u from nurses").createOrReplaceTempView("made_up")
    nurses = RECORDS.take(RECORDS.column("job") == 1)
    for source in ("table:nurses", "table:made_up"):
        records = lay_out_records(spark.cluster, table(spark.cluster, source), SCHEMA, source=source)
        found = Records(SCHEMA, collected(spark, records))
        assert len(found) == len(nurses)
        for column in range(4):
            assert (found.counts(column) == nurses.counts(column)).all()
    frame = session.range(3).selectExpr("'cook' job", "id * 1.0D age", "true told", "id + 1 score")
    few = lay_out_records(spark.cluster, frame, SCHEMA, source="few")
    assert collected(spark, few).tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"age": "100.0D"}, "'age' is neither a number .* in 4 rows$"),
        ({"job": "if(id > 0, 'cook', ' ')"}, "'job' is empty .* in 1 row$"),
        ({"score": "id / 2"}, "'score' is not one of .* in 4 rows$"),  # 0.5 among them, and so no 1 but 1.0
        ({"score": None}, "there is no column 'score'$"),
        ({"score": "array(1)"}, "'score' holds something that cannot be used$"),
    ],
    ids=str,
)
def test_what_is_refused_is_told_in_numbers_of_rows(
    told: dict[str, str | None], message: str, cluster: Cluster
) -> None:
    cells = {"job": "'cook'", "age": "1", "told": "true", "score": "1"} | told
    columns = [f"{cell} as {name}" for name, cell in cells.items() if cell]
    frame = cluster.spark.range(0, 4, 1, 2).selectExpr(*columns)
    with pytest.raises(InputError, match=f"^s: .*{message}"):
        lay_out_records(cluster, frame, SCHEMA, source="s")


def test_what_is_beyond_edges_may_be_clamped_and_no_rows_are_refused(spark: SparkEngine) -> None:
    frame = spark.cluster.spark.range(2).selectExpr("'7' job", "id * 1e9 age", "false told", "null score")
    clamped = lay_out_records(spark.cluster, frame, SCHEMA, source="s", clamp=True)
    assert collected(spark, clamped).tolist() == [[3, 0, 1, 3], [3, 2, 1, 3]]
    with pytest.raises(InputError, match="no records"):
        lay_out_records(spark.cluster, frame.limit(0), SCHEMA, source="s")


def test_a_file_is_synthesized_there_as_here(spark: SparkEngine, tmp_path: Path) -> None:
    """With the same seed; a file that Spark cannot use costs nothing."""
    PEOPLE[:5_000].write_parquet(tmp_path / "people.parquet")
    write_schema(SCHEMA, tmp_path / "schema.json", force=False)
    account = Account(Ledger(tmp_path / "ledger.db"), "people")

    def made(out: str, source: str = "people.parquet", **options: Any) -> Synthesized:
        asked: dict[str, Any] = {"schema": tmp_path / "schema.json", "rng": seeded(3)} | options
        return synthesize(str(tmp_path / source), str(tmp_path / out), account, epsilon=2.0, **asked)

    here, there = made("here.parquet"), made("there.parquet", engine=spark)
    assert here.to_dict() | {"out": ""} == there.to_dict() | {"out": ""}
    assert pl.read_parquet(here.out).equals(pl.read_parquet(there.out))
    refused: list[dict[str, Any]] = [
        {"out": "more.csv", "source": "schema.json"},
        {"out": "more.csv", "source": "none.parquet"},
        {"out": "more.csv", "schema": None, "domain_from_data": True},
        {"out": "people.parquet", "force": True},
    ]
    for options in refused:
        with pytest.raises(CrowdveilError):
            made(engine=spark, **options)
    assert [charge.status for charge in account.ledger.entries()] == ["released", "released"]
