"""Records: public domains, and rows of codes inside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from crowdveil.columns import MISSING
from crowdveil.errors import InputError, ParameterError
from crowdveil.records import Column, Records, Schema

SECRET = "nobody-may-read-this"
AGE = Column("age", None, (0, 30, 60))
JOB = Column("job", ("a", "b"), None, missing=True)
SCHEMA = Schema((AGE, JOB))


def test_a_column_has_a_code_for_each_value_bin_and_for_missing() -> None:
    assert AGE.size == 2
    assert AGE.labels() == ["0..30", "30..60"]
    assert JOB.size == 3
    assert JOB.labels() == ["a", "b", MISSING]
    assert Column("x", None, (-0.5, 1234567, 2.5e20)).labels() == ["-0.5..1234567", "1234567..2.5e+20"]
    assert SCHEMA.sizes == (2, 3)
    assert (AGE.ordered, JOB.ordered) == (True, False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "", "values": ("a", "b")},
        {"name": "x"},
        {"name": "x", "values": ("a", "b"), "edges": (0, 1, 2)},
        {"name": "x", "values": ("a",)},
        {"name": "x", "values": ("a", "a")},
        {"name": "x", "values": ("é", "é")},
        {"name": "x", "values": ("a", " ")},
        {"name": "x", "values": ("a", 7)},
        {"name": "x", "values": ("a", MISSING), "missing": True},
        {"name": "x", "edges": (0, 1)},
        {"name": "x", "edges": (0,)},
        {"name": "x", "edges": (0, 2, 1)},
        {"name": "x", "edges": (0, 1, float("inf"))},
        {"name": "x", "edges": (0, float("nan"), 1)},
        {"name": "x", "values": tuple(map(str, range(20_000)))},
        {"name": "x", "values": ("a", "b"), "missing": 1},
    ],
)
def test_impossible_domains_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Column(**wrong)


def test_one_value_and_missing_are_a_domain() -> None:
    assert Column("x", ("a",), missing=True).size == 2


def test_a_schema_goes_to_a_dictionary_and_back() -> None:
    told = SCHEMA.to_dict()
    assert told == {
        "columns": {"age": {"edges": [0.0, 30.0, 60.0]}, "job": {"values": ["a", "b"], "missing": True}}
    }
    assert Schema.from_dict(told) == SCHEMA
    guessed = Schema(SCHEMA.columns, declared=False)
    assert Schema.from_dict(guessed.to_dict()) == guessed
    assert Schema.from_dict({"columns": {"x": {"values": [1, 2]}}}).columns[0].values == ("1", "2")


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"columns": {}},
        {"columns": []},
        {"columns": {"x": ["a", "b"]}},
        {"columns": {"x": {"values": "ab"}}},
        {"columns": {"x": {"values": [True, False]}}},
        {"columns": {"x": {"values": [1.5, 2]}}},
        {"columns": {"x": {"values": ["a", None]}}},
        {"columns": {"x": {"edges": [0, "1", 2]}}},
        {"columns": {"x": {"edges": [0, 10**400, 2]}}},
        {"columns": {"x": {"edges": [0, True, 2]}}},
        {"columns": {"x": {"values": ["a", "b"], "missing": "yes"}}},
        {"columns": {"x": {"values": ["a", "b"], "weight": 1}}},
        {"columns": {"x": {"values": ["a", "b"]}}, "rows": 3},
        {"columns": {"x": {"values": ["a", "b"]}}, "declared": "no"},
        {"columns": {3: {"values": ["a", "b"]}}},
    ],
)
def test_what_is_no_schema_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        Schema.from_dict(wrong)


def test_columns_are_found_by_name_and_place() -> None:
    assert SCHEMA.index("job") == SCHEMA.index(1) == 1
    assert SCHEMA.select(["job"]).names == ("job",)
    for missing in ("jobs", 2, -1):
        with pytest.raises(ParameterError):
            SCHEMA.index(missing)
    with pytest.raises(ParameterError, match="twice"):
        SCHEMA.select(["job", "job"])


@pytest.mark.parametrize("kind", ["polars", "pandas", "text"])
def test_records_are_coded_and_come_back(kind: str) -> None:
    ages: list[Any] = [0, 29.5, 30, 60]
    jobs = ["a", None, "b", "a"]
    frame: Any = pl.DataFrame({"other": [1, 2, 3, 4], "job": jobs, "age": ages}, strict=False)
    if kind == "pandas":
        frame = pd.DataFrame({"job": jobs, "age": ages})
    if kind == "text":
        frame = pl.DataFrame({"job": ["a", " ", "b", MISSING], "age": [" 0", "29.5", "3e1", "60.0"]})
    records = Records.from_frame(frame, SCHEMA)
    assert records.codes.tolist()[:3] == [[0, 0], [0, 2], [1, 1]]
    assert records.codes[3].tolist() == [1, 2 if kind == "text" else 0]
    assert not records.codes.flags.writeable
    shown = records.to_frame()
    assert shown["age"].to_list() == ["0..30", "0..30", "30..60", "30..60"]
    assert shown["job"].to_list()[:3] == ["a", None, "b"]
    assert np.array_equal(Records.from_frame(shown, SCHEMA).codes, records.codes)
    middles = records.to_frame(midpoints=True)
    assert middles["age"].to_list() == [15.0, 15.0, 45.0, 45.0]
    assert np.array_equal(Records.from_frame(middles, SCHEMA).codes, records.codes)


def test_names_keep_their_zeros_and_whole_numbers_lose_their_point() -> None:
    schema = Schema((Column("x", ("7", "007")),))
    assert Records.from_frame(pl.DataFrame({"x": ["007", "7"]}), schema).codes.ravel().tolist() == [1, 0]
    numbers = Schema((Column("x", ("1", "2"), missing=True),))
    floats = pd.DataFrame({"x": [1.0, float("nan"), 2.0]})
    assert Records.from_frame(floats, numbers).codes.ravel().tolist() == [0, 2, 1]
    truths = Schema((Column("x", ("true", "false")),))
    assert Records.from_frame(pl.DataFrame({"x": [False]}), truths).codes.tolist() == [[1]]


@pytest.mark.parametrize(
    ("cells", "column", "named"),
    [
        (["a", SECRET, "b", SECRET], Column("x", ("a", "b")), "rows 2, 4 "),
        (["a", None, "b", "a"], Column("x", ("a", "b")), "is empty"),
        (["a", "  ", "b", "a"], Column("x", ("a", "b")), "row 2 "),
        (["1", SECRET, "3", "4"], Column("x", None, (0, 2, 5)), "row 2 "),
        ([1.0, 2.0, 3.0, 5.5], Column("x", None, (0, 2, 5)), "row 4 "),
        ([1.0, -1e-9, 3.0, 5.0], Column("x", None, (0, 2, 5)), "row 2 "),
        ([1.0, float("nan"), 3.0, 5.0], Column("x", None, (0, 2, 5)), "is empty"),
    ],
)
def test_cells_outside_their_domain_are_refused_and_not_shown(
    cells: list[Any], column: Column, named: str
) -> None:
    with pytest.raises(InputError) as told:
        Records.from_frame(pl.DataFrame({"x": cells}), Schema((column,)), source="some.csv")
    assert "some.csv: column 'x'" in str(told.value)
    assert named in str(told.value)
    assert SECRET not in str(told.value)


def test_numbers_can_be_clamped() -> None:
    schema = Schema((Column("x", None, (0, 2, 5)),))
    frame = pl.DataFrame({"x": [-9.0, 9.0, float("inf")]})
    assert Records.from_frame(frame, schema, clamp=True).codes.ravel().tolist() == [0, 1, 1]


def test_other_odd_tables_are_refused() -> None:
    with pytest.raises(InputError, match="no column 'age'"):
        Records.from_frame(pl.DataFrame({"job": ["a"]}), SCHEMA)
    with pytest.raises(InputError, match="no records"):
        Records.from_frame(pl.DataFrame({"job": [], "age": []}), SCHEMA)
    with pytest.raises(InputError, match="cannot be used"):
        Records.from_frame(pl.DataFrame({"job": [["a"]], "age": [1]}), SCHEMA)


@pytest.mark.parametrize("codes", [[[0, 3]], [[-1, 0]], [[0]], [0, 1], [[0.0, 1.0]], [[2**32, 0]]])
def test_codes_outside_their_domain_are_refused(codes: Any) -> None:
    with pytest.raises(ParameterError):
        Records(SCHEMA, np.array(codes))


def test_the_callers_array_stays_the_callers() -> None:
    mine = np.zeros((2, 2), dtype=np.int32)
    records = Records(SCHEMA, mine)
    mine[0, 0] = 1
    assert records.codes[0, 0] == 0


def test_counts_pairs_and_parts() -> None:
    records = Records(SCHEMA, np.array([[0, 2], [1, 0], [1, 0], [0, 1]]))
    assert records.counts("job").tolist() == [2, 1, 1]
    assert records.pair("age", "job").tolist() == [[0, 1, 1], [2, 0, 0]]
    assert records.pair(1, 0).T.tolist() == records.pair(0, 1).tolist()
    assert records.select(["job", "age"]).codes.tolist() == [[2, 0], [0, 1], [0, 1], [1, 0]]
    assert records.take(np.array([3, 0])).codes.tolist() == [[0, 1], [0, 2]]
    assert len(records) == 4


def test_a_schema_of_data_says_that_it_is_none() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "job": ["a", "b", None, "a"] * 100,
            "age": rng.normal(40, 10, 400),
            "children": rng.integers(0, 4, 400),
            "gain": [0.0] * 398 + [1.0, 1000.0],
            "many": [0.0] * 380 + list(range(1, 21)),
            "zip": [f"{code:03d}" for code in range(100)] * 4,
        },
        strict=False,
    )
    schema = Schema.of_data(frame)
    assert not schema.declared
    assert schema.to_dict()["declared"] is False
    assert schema.columns[0] == Column("job", ("a", "b"), missing=True)
    assert schema.columns[1].size == 16
    assert schema.columns[2].values == ("0", "1", "2", "3")
    assert schema.columns[3].values == ("0", "1", "1000")
    assert schema.columns[4].edges is not None
    assert len(schema.columns[5].values or ()) == 100
    records = Records.from_frame(frame, schema)
    assert records.counts("age").min() >= 20
    with pytest.raises(InputError, match="'x' has one value"):
        Schema.of_data(pl.DataFrame({"x": ["a", "a"]}))
