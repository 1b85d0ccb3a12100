"""Claims: what is accepted, what is refused and in which words, and the canonical layout."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.claims import Claims
from crowdveil.errors import InputError

modest = settings(deadline=None, derandomize=True, max_examples=60)

TABLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "arrow": pa.table,
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "polars": pl.Series,
    "pandas": pd.Series,
    "arrow": pa.array,
    "arrow in chunks": lambda cells: pa.chunked_array([cells[:1], cells[1:]]),
}
THINGS = ["lamp", "anvil", "lamp", "anvil", "crate"]
WHO = ["Zebedee", "Zebedee", "Waldo", "Plugh", "Waldo"]
SCORES = [31337.5, -2.25, 4.75, 0.5, 808.125]
CELLS = [*THINGS, *WHO, *map(str, SCORES), "Secret", "31337"]


def from_table(cells: dict[str, Any], make: Callable[[dict[str, Any]], Any] = pl.DataFrame) -> Claims:
    return Claims.from_frame(make(cells), object="thing", user="who", value="score", source="here.csv")


def good() -> dict[str, Any]:
    return {"thing": list(THINGS), "who": list(WHO), "score": list(SCORES)}


def everything(claims: Claims) -> tuple[Any, ...]:
    arrays = (claims.offsets, claims.user_codes, claims.values)
    names = [(series.dtype, series.to_list()) for series in (claims.objects, claims.users)]
    return *names, *[(array.dtype, array.tobytes()) for array in arrays]


def said(error: BaseException | None) -> str:
    """All that a traceback would print of an error and of those it came from."""
    if error is None:
        return ""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{said(before)} {error}"


def refusal(build: Callable[[], Claims]) -> str:
    """What is said when the data are refused, and nothing of it comes from a cell."""
    with pytest.raises(InputError) as caught:
        build()
    words = said(caught.value)
    assert not [cell for cell in CELLS if cell in words]
    return words


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_every_kind_of_table_gives_the_same_claims(make: Callable[[dict[str, Any]], Any]) -> None:
    assert everything(from_table(good(), make)) == everything(from_table(good()))


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_every_kind_of_column_gives_the_same_claims(make: Callable[[list[Any]], Any]) -> None:
    claims = Claims.from_columns(make(THINGS), make(WHO), make(SCORES))
    assert everything(claims) == everything(Claims.from_columns(THINGS, WHO, SCORES))


def test_claims_lie_by_object_and_ascend_inside_it() -> None:
    claims = Claims.from_columns(THINGS, WHO, SCORES)
    assert claims.objects.to_list() == ["anvil", "crate", "lamp"]
    assert claims.users.to_list() == ["Plugh", "Waldo", "Zebedee"]
    assert [claims.of(i).tolist() for i in range(3)] == [[-2.25, 0.5], [808.125], [4.75, 31337.5]]
    assert claims.user_codes.tolist() == [2, 0, 1, 1, 2]
    assert claims.counts().tolist() == [2, 1, 2]
    assert claims.claims_per_user().tolist() == [1, 2, 2]


def test_equal_values_lie_in_the_order_of_users() -> None:
    claims = Claims.from_columns(["o"] * 3, ["c", "a", "b"], [0.0, -0.0, 0.0])
    assert claims.user_codes.tolist() == [0, 1, 2]


def test_a_claims_object_shows_only_how_large_it_is() -> None:
    claims = Claims.from_columns(THINGS, WHO, SCORES)
    assert repr(claims) == "Claims(5 claims, 3 objects, 3 users)"
    assert len(claims) == 5


@pytest.mark.parametrize(
    ("names", "ascending"),
    [
        (["7", "007", "10"], ["007", "10", "7"]),
        ([10, 7, 9], [7, 9, 10]),
        (np.array([10, 7, 9], dtype=np.uint8), [7, 9, 10]),
        (["b", "B", "a "], ["B", "a ", "b"]),
        (pl.Series(["b", "a", "c"], dtype=pl.Categorical), ["a", "b", "c"]),
        (pl.Series(["b", "a", "c"], dtype=pl.Enum(["c", "b", "a"])), ["a", "b", "c"]),
    ],
    ids=["text", "integers", "bytes", "case and blanks", "categories", "enum"],
)
def test_names_stay_what_they_are(names: Any, ascending: list[Any]) -> None:
    claims = Claims.from_columns(["o"] * 3, names, [1.0, 2.0, 3.0])
    assert claims.users.to_list() == ascending


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_text_that_looks_like_a_number_stays_text(make: Callable[[dict[str, Any]], Any]) -> None:
    claims = from_table({"thing": ["007", "7"], "who": [7, 7], "score": [1, 2]}, make)
    assert claims.objects.to_list() == ["007", "7"]
    assert claims.users.to_list() == [7]


def test_composed_and_decomposed_names_are_one_name() -> None:
    claims = Claims.from_columns(["x", "y"], ["Ren\u00e9", "Rene\u0301"], [1.0, 2.0])
    assert claims.users.to_list() == ["Ren\u00e9"]


def test_one_name_in_two_spellings_cannot_claim_twice() -> None:
    with pytest.raises(InputError, match=r"several claims about one object, .* rows 1 and 3 "):
        Claims.from_columns(["x", "y", "x"], ["Ren\u00e9", "Ren\u00e9", "Rene\u0301"], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("values", [[-0.0, 0.0], ["-0.0", "0"], [-0.0, 1.0]], ids=["both", "text", "one"])
def test_minus_zero_becomes_zero(values: list[Any]) -> None:
    assert not np.signbit(Claims.from_columns(["o", "o"], ["a", "b"], values).values).any()


def test_numbers_written_as_text_are_read() -> None:
    written: list[Any] = ["1.5", " 2e3 ", "-4"]
    claims = Claims.from_columns(["o"] * 3, ["a", "b", "c"], written)
    assert claims.values.tolist() == [-4.0, 1.5, 2000.0]


@pytest.mark.parametrize("field", ["offsets", "user_codes", "values"])
@pytest.mark.parametrize("clamp", [False, True], ids=["as built", "clamped"])
def test_arrays_are_read_only(field: str, clamp: bool) -> None:
    claims = Claims.from_columns(THINGS, WHO, SCORES)
    claims = claims.clamped(0.0, 1.0)[0] if clamp else claims
    with pytest.raises(ValueError, match="read-only"):
        getattr(claims, field)[0] = 1


def test_the_callers_arrays_are_left_alone() -> None:
    values: Any = np.array(SCORES)
    Claims.from_columns(THINGS, WHO, values)
    assert values.tolist() == SCORES
    assert values.flags.writeable


WRONG_CELLS = {
    "NaN": ("score", float("nan"), "is NaN in row 3 "),
    "infinity": ("score", float("inf"), "is infinite in row 3 "),
    "minus infinity": ("score", float("-inf"), "is infinite in row 3 "),
    "no value": ("score", None, "is empty in row 3 "),
    "no object": ("thing", None, "has no name in row 3 "),
    "no user": ("who", None, "has no name in row 3 "),
    "empty object": ("thing", "", "has an empty name in row 3 "),
    "blank user": ("who", " \t", "has an empty name in row 3 "),
}


@pytest.mark.parametrize(("column", "cell", "words"), WRONG_CELLS.values(), ids=WRONG_CELLS)
def test_a_wrong_cell_is_refused_with_its_column_and_row(column: str, cell: Any, words: str) -> None:
    cells = good()
    cells[column][2] = cell
    assert f"here.csv: column {column!r} {words}" in refusal(lambda: from_table(cells))


@pytest.mark.parametrize("make", [TABLES["pandas"], TABLES["arrow"]], ids=["pandas", "arrow"])
@pytest.mark.parametrize(("column", "cell"), [("score", float("nan")), ("thing", None), ("who", "")])
def test_other_tables_are_refused_with_column_and_row_too(
    make: Callable[[dict[str, Any]], Any], column: str, cell: Any
) -> None:
    cells = good()
    cells[column][2] = cell
    words = refusal(lambda: from_table(cells, make))
    assert f"column {column!r}" in words
    assert "row 3 " in words


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("Secret", "holds text instead of a number in row 3 "),
        ("", "is empty in row 3 "),
        ("1,5", "holds text instead of a number in row 3 "),
        ("nan", "is NaN in row 3 "),
        ("1e999", "is infinite in row 3 "),
    ],
)
def test_text_that_is_no_number_is_refused_with_its_row(cell: str, words: str) -> None:
    cells = good() | {"score": [*map(str, SCORES[:2]), cell, *map(str, SCORES[3:])]}
    assert f"column 'score' {words}" in refusal(lambda: from_table(cells))


MIXED_CELLS = {
    "text among values": ("score", "Secret"),
    "a number among objects": ("thing", 31337.5),
    "a number among users": ("who", 31337),
    "an endless number": ("score", 31337 * 10**400),
}


@pytest.mark.parametrize(("column", "cell"), MIXED_CELLS.values(), ids=MIXED_CELLS)
def test_a_column_of_mixed_cells_is_refused_by_name(column: str, cell: Any) -> None:
    cells = good()
    cells[column][2] = cell
    words = refusal(lambda: Claims.from_columns(cells["thing"], cells["who"], cells["score"]))
    assert {"thing": "objects", "who": "users", "score": "values"}[column] in words


@pytest.mark.parametrize(("column", "cell"), MIXED_CELLS.values(), ids=MIXED_CELLS)
def test_a_pandas_column_of_mixed_cells_is_refused_by_name(column: str, cell: Any) -> None:
    cells = good()
    cells[column][2] = cell
    table = pd.DataFrame(cells, dtype=object)  # pandas itself refuses endless numbers otherwise
    assert repr(column) in refusal(lambda: from_table(table, lambda frame: frame))


def test_text_that_cannot_be_encoded_is_refused() -> None:
    assert "users" in refusal(lambda: Claims.from_columns(["o"], ["Secret\ud800"], [1.0]))


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("thing", [1.0, 2.0, 3.0, 4.0, 5.0], "neither text nor whole numbers"),
        ("who", [1.5, 2.5, 3.5, 4.5, 5.5], "neither text nor whole numbers"),
        ("who", [True, False, True, False, True], "neither text nor whole numbers"),
        ("score", [True, False, True, False, True], "does not hold numbers"),
        ("score", pl.Series([1, 2, 3, 4, 5]).cast(pl.Date), "does not hold numbers"),
    ],
    ids=["float objects", "float users", "boolean users", "boolean values", "dates"],
)
def test_a_column_of_the_wrong_kind_is_refused_by_name(column: str, cells: Any, words: str) -> None:
    message = refusal(lambda: from_table(good() | {column: cells}))
    assert repr(column) in message
    assert words in message


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128])
def test_a_whole_number_past_64_bits_is_refused_with_its_row(kind: type[pl.DataType]) -> None:
    names: Any = pl.Series([1, 2**63], dtype=kind)
    words = refusal(lambda: Claims.from_columns(names, ["a", "a"], [1.0, 2.0]))
    assert "column 'objects' holds a number past 64 bits in row 2 " in words
    assert str(2**63) not in words


def test_the_first_rows_are_named_and_the_others_counted() -> None:
    words = refusal(lambda: Claims.from_columns(["o"] * 9, list(range(9)), [0.0, *[float("nan")] * 8]))
    assert "rows 2, 3, 4, 5, 6 and 3 more (the header not counted)" in words


def test_a_second_claim_about_an_object_is_refused_with_both_rows() -> None:
    cells = {"thing": [*THINGS, "anvil"], "who": [*WHO, "Plugh"], "score": [*SCORES, 0.5]}
    assert "rows 4 and 6 (the header not counted); 1 row is too many" in refusal(lambda: from_table(cells))


@pytest.mark.parametrize(("column", "short"), [("objects", 0), ("users", 1), ("values", 2)])
def test_columns_of_different_length_are_refused(column: str, short: int) -> None:
    cells: list[list[Any]] = [list(THINGS), list(WHO), list(SCORES)]
    cells[short].pop()
    words = refusal(lambda: Claims.from_columns(*cells))
    assert column in words
    assert "differ in length" in words


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("column", ["thing", "who", "score"])
def test_a_missing_column_is_named(make: Callable[[dict[str, Any]], Any], column: str) -> None:
    cells = good()
    del cells[column]
    assert f"here.csv: there is no column {column!r}" in refusal(lambda: from_table(cells, make))


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_without_rows_is_refused(make: Callable[[dict[str, Any]], Any]) -> None:
    assert "no claims" in refusal(lambda: from_table({"thing": [], "who": [], "score": []}, make))


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_without_rows_is_taken_where_there_may_be_none(
    make: Callable[[dict[str, Any]], Any],
) -> None:
    table = make(good())[:0]
    claims = Claims.from_frame(table, object="thing", user="who", value="score", if_any=True)
    assert (len(claims), len(claims.objects), len(claims.users)) == (0, 0, 0)
    listed = claims.about(["b", "a"]).capped(3, keep_objects=True)
    assert listed.objects.to_list() == ["a", "b"]
    assert listed.counts().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        *[("v", dtype) for dtype in (pl.Boolean, pl.Date, pl.Binary, pl.List(pl.Float64))],
        *[(name, dtype) for name in "ou" for dtype in (pl.Float64, pl.Boolean, pl.Date, pl.Binary)],
    ],
)
def test_a_column_of_the_wrong_kind_is_refused_with_rows_and_without(column: str, dtype: Any) -> None:
    kinds = {"o": pl.String, "u": pl.String, "v": pl.Float64} | {column: dtype}
    cells = {pl.String: "a", pl.Float64: 1.5, pl.Boolean: True, pl.Date: date(2020, 1, 1), pl.Binary: b"a"}
    row = {name: [cells.get(kind, [1.0])] for name, kind in kinds.items()}
    one = pl.DataFrame(row, schema=kinds)
    for table in (one, one.head(0)):
        words = refusal(lambda: Claims.from_frame(table, object="o", user="u", value="v", if_any=True))  # noqa: B023
        assert f"column {column!r}" in words


def test_columns_without_cells_and_types_are_taken_where_there_may_be_none() -> None:
    nothing: list[Any] = [[], np.array([], dtype=object), pl.Series([])]
    for column in nothing:
        assert len(Claims.from_columns(column, column, column, if_any=True)) == 0
    assert "differ in length" in refusal(lambda: Claims.from_columns([], [], [1.0], if_any=True))


HUGE = [1e151, 1e308, float("inf"), -1e151, float("-inf"), "1e400", "-inf", "9" * 400]


@pytest.mark.parametrize("huge", HUGE, ids=str)
def test_a_range_clamps_every_number(huge: float | str) -> None:
    values: list[Any] = [huge, str(3.0)] if isinstance(huge, str) else [huge, 3.0]
    columns: Any = (["a", "a"], ["u", "v"], values)
    assert "row 1 " in refusal(lambda: Claims.from_columns(*columns))
    claims, outside = Claims.from_columns(*columns, saturate=True).clamped(0.0, 10.0)
    assert outside == 1
    assert claims.values.tolist() == ([0.0, 3.0] if str(huge).startswith("-") else [3.0, 10.0])


@pytest.mark.parametrize("wrong", [float("nan"), None, "text"])
def test_what_is_no_number_is_refused_in_a_range_too(wrong: Any) -> None:
    values = [wrong, "inf"] if isinstance(wrong, str) else [wrong, float("inf")]
    assert "row 1 " in refusal(lambda: Claims.from_columns(["a", "b"], ["u", "u"], values, saturate=True))


def test_whole_numbers_stay_whole_numbers_without_rows() -> None:
    table = pl.DataFrame(schema={"o": pl.Int32, "u": pl.String, "v": pl.Float64})
    claims = Claims.from_frame(table, object="o", user="u", value="v", if_any=True)
    assert claims.about([2, 10]).objects.to_list() == [2, 10]


def test_listed_names_may_be_spelled_in_any_unicode_form() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for claimed, listed in ((composed, decomposed), (decomposed, composed)):
        claims = Claims.from_columns([claimed], ["u"], [1.0]).about([listed])
        assert claims.objects.to_list() == [composed]
        assert len(claims) == 1


def test_columns_without_rows_are_refused() -> None:
    assert "no claims" in refusal(lambda: Claims.from_columns([], [], []))


names = (
    st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF), min_size=1, max_size=3)
    .map(lambda name: unicodedata.normalize("NFC", name))
    .filter(lambda name: bool(name.strip()))
)
numbers = st.one_of(st.sampled_from([-0.0, 0.0, 1.0, 1e8]), st.floats(-1e100, 1e100))
rows = st.dictionaries(st.tuples(names, names), numbers, min_size=1, max_size=30)


@modest
@given(rows=rows, data=st.data())
def test_the_order_of_rows_changes_nothing(rows: dict[tuple[str, str], float], data: st.DataObject) -> None:
    written = [(thing, who, value) for (thing, who), value in rows.items()]
    shuffled = data.draw(st.permutations(written))
    one, other = (Claims.from_columns(*map(list, zip(*order, strict=True))) for order in (written, shuffled))
    assert everything(one) == everything(other)


@modest
@given(rows=rows)
def test_every_row_is_found_again(rows: dict[tuple[str, str], float]) -> None:
    claims = Claims.from_columns([o for o, _ in rows], [u for _, u in rows], list(rows.values()))
    objects = np.repeat(np.arange(len(claims.objects)), claims.counts())
    found = {
        (claims.objects[int(i)], claims.users[int(s)]): value
        for i, s, value in zip(objects, claims.user_codes, claims.values, strict=True)
    }
    assert found == rows


@modest
@given(rows=rows, row=st.integers(0, 29))
def test_a_refusal_depends_on_rows_and_not_on_cells(rows: dict[tuple[str, str], float], row: int) -> None:
    row %= len(rows)
    values = [float("nan") if at == row else value for at, value in enumerate(rows.values())]
    plain = range(len(rows))
    with pytest.raises(InputError) as caught:
        Claims.from_columns([o for o, _ in rows], [u for _, u in rows], values)
    with pytest.raises(InputError) as expected:
        Claims.from_columns(plain, plain, [float("nan") if at == row else 0.0 for at in plain])
    assert said(caught.value) == said(expected.value)


@modest
@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=20), size=st.integers(1, 40))
def test_blocks_cover_all_objects_once_and_hold_whole_ones(counts: list[int], size: int) -> None:
    objects = [i for i, count in enumerate(counts) for _ in range(count)]
    claims = Claims.from_columns(objects, range(len(objects)), [0.0] * len(objects))
    blocks = list(claims.blocks(size))
    assert [i for first, last in blocks for i in range(first, last)] == list(range(len(counts)))
    assert all(sum(counts[first:last]) <= size or last == first + 1 for first, last in blocks)


def test_clamping_pulls_values_in_and_counts_them() -> None:
    claims = Claims.from_columns(THINGS, WHO, SCORES)
    inside, moved = claims.clamped(0.0, 100.0)
    assert inside.values.tolist() == [0.0, 0.5, 100.0, 4.75, 100.0]
    assert moved == 3
    assert claims.clamped(-1e9, 1e9) == (claims, 0)


def test_joined_claims_are_the_claims_of_both() -> None:
    first = Claims.from_columns(["a", "a", "b"], ["u", "v", "u"], [1.0, 2.0, 3.0])
    more = Claims.from_columns(["b", "c", "a"], ["w", "u", "w"], [0.0, 5.0, 1.5])
    whole = Claims.from_columns(
        ["a", "a", "b", "b", "c", "a"], ["u", "v", "u", "w", "u", "w"], [1.0, 2.0, 3.0, 0.0, 5.0, 1.5]
    )
    for made in (first.joined(more), more.joined(first)):
        assert made.objects.to_list() == whole.objects.to_list()
        assert made.users.to_list() == whole.users.to_list()
        assert made.values.tolist() == whole.values.tolist()
        assert made.user_codes.tolist() == whole.user_codes.tolist()


def test_a_claim_cannot_be_joined_twice() -> None:
    first = Claims.from_columns(["a", "a"], ["u", "v"], [1.0, 2.0])
    with pytest.raises(InputError, match="several claims"):
        first.joined(Claims.from_columns(["a"], ["u"], [3.0]))
    with pytest.raises(InputError, match="text in one"):
        first.joined(Claims.from_columns([1], ["w"], [3.0]))


def test_decimals_without_a_fraction_are_names() -> None:
    """As which unsigned numbers may come."""
    rows = {"object": [7, 7, 2**63 - 1], "user": [1, 2, 1], "value": [1.0, 2.0, 3.0]}
    names = pl.DataFrame(rows).with_columns(pl.col("object").cast(pl.Decimal(20, 0)))
    claims = Claims.from_frame(names, object="object", user="user", value="value")
    assert claims.objects.to_list() == [7, 2**63 - 1]
    for column, what in (
        (pl.col("object") + 1, "'object' holds a number past 64 bits in row 3 "),
        (pl.col("object").cast(pl.Decimal(21, 1)), "'object' are neither text nor whole numbers"),
    ):
        with pytest.raises(InputError, match=what):
            Claims.from_frame(names.with_columns(column), object="object", user="user", value="value")
