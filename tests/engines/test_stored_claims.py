"""Claims on disk are the claims of their file, and what is made of them is what `Claims` makes."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.claims import Claims
from crowdveil.engines.memory import Memory
from crowdveil.engines.stored import StoredClaims
from crowdveil.engines.stored.laying_out import lay_out
from crowdveil.engines.stored.rows import Rows
from crowdveil.errors import InputError, ParameterError
from every_method import crowd
from storing import BOUNDS, frame_of, same_claims, stored

modest = settings(deadline=None, derandomize=True, max_examples=60)
COLUMNS = ("thing", "who", "score")
LEAST = 192 * 6  # bytes: room for six claims of an object


def laid_out(
    frame: pl.DataFrame, memory: int = LEAST, *, saturate: bool = False, progress: Any = lambda *_: None
) -> StoredClaims:
    rows = Rows(lambda rows: frame.iter_slices(rows), frame.height, COLUMNS, "here.parquet")
    return lay_out(rows, Memory(memory), progress, saturate=saturate)


def at_once(frame: pl.DataFrame, *, saturate: bool = False) -> Claims:
    thing, who, score = COLUMNS
    return Claims.from_frame(
        frame, object=thing, user=who, value=score, source="here.parquet", saturate=saturate
    )


texts = st.sampled_from(["a", "b", "é", "e\u0301", "ﬁ", "B ", "007", "7", "å", "A\u030a", "Ω", "\u2126"])
names = st.one_of(texts, texts)
numbers = st.integers(-4, 12)


@st.composite
def tables(draw: Any) -> pl.DataFrame:
    """Tables without repeated pairs, in any order, with names of either kind."""
    objects, users = draw(st.sampled_from([texts, numbers])), draw(st.sampled_from([texts, numbers]))
    value = st.sampled_from([-0.0, 0.0, 1.5, 2.0, -3.25, 1e150])
    pairs = st.lists(
        st.tuples(objects, users), min_size=1, max_size=30, unique_by=lambda pair: tuple(map(_form, pair))
    )
    rows = [(*pair, draw(value)) for pair in draw(pairs)]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _form(name: str | int) -> str | int:
    return unicodedata.normalize("NFC", name) if isinstance(name, str) else name


@given(tables(), st.integers(192 * 30, 192 * 60))
@modest
def test_claims_are_laid_out_as_in_memory(frame: pl.DataFrame, memory: int) -> None:
    same_claims(laid_out(frame, memory), at_once(frame))


@pytest.mark.parametrize("kinds", [1, 3])
def test_names_with_the_same_hash_are_not_confused(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(names: pl.Series) -> Any:
        return names.hash().to_numpy() % kinds

    monkeypatch.setattr("crowdveil.engines.stored.names._keys", few)
    monkeypatch.setattr("crowdveil.engines.stored.names.FEWEST_MERGED", 3)
    frame = frame_of(crowd()).rename(_told)
    same_claims(laid_out(frame, 9_000), at_once(frame))


@pytest.mark.parametrize("fewest", [0, 5, 100])
def test_names_are_learnt_from_any_number_of_batches(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.engines.stored.names.FEWEST_MERGED", fewest)
    texts = frame_of(crowd()).rename(_told)
    for frame in (texts, texts.with_columns(pl.col("who").rank("dense").cast(pl.Int32) - 20)):
        same_claims(laid_out(frame, 9_000), at_once(frame))


def test_many_claims_are_laid_out_and_capped_as_in_memory() -> None:
    rng = np.random.default_rng(3)
    rows = 60_000
    frame = pl.DataFrame(
        {
            "thing": pl.Series(rng.integers(0, 5000, rows)).cast(pl.String),
            "who": rng.integers(0, 900, rows),
            "score": np.round(rng.normal(0, 3, rows), 1),
        }
    ).unique(["thing", "who"], keep="first")
    mine, others = laid_out(frame, 500_000), at_once(frame)
    same_claims(mine, others)
    for most in (1, 20, 60):
        same_claims(mine.capped(most), others.capped(most))
    same_claims(mine.clamped(-2.0, 3.0)[0], others.clamped(-2.0, 3.0)[0])


@pytest.mark.parametrize("memory", BOUNDS)
def test_claims_of_a_file_are_the_same(memory: int, tmp_path: Path) -> None:
    claims = stored(crowd(), tmp_path, memory)
    same_claims(claims, crowd())
    assert repr(claims) == repr(crowd())
    assert len(claims) == len(crowd())
    assert claims.counts().tolist() == crowd().counts().tolist()
    assert claims.claims_per_user().tolist() == crowd().claims_per_user().tolist()
    assert claims.of(4).tolist() == crowd().of(4).tolist()
    assert claims.without_claims().objects.to_list() == crowd().objects.to_list()


TRANSFORMED: dict[str, Callable[[Claims], Claims]] = {
    "clamped": lambda claims: claims.clamped(4.0, 5.5)[0],
    "clamped to one number": lambda claims: claims.clamped(4.0, 4.0)[0],
    "capped at one": lambda claims: claims.capped(1),
    "capped": lambda claims: claims.capped(3),
    "capped, all objects": lambda claims: claims.capped(1, keep_objects=True),
    "capped at many": lambda claims: claims.capped(1000),
    "about some": lambda claims: claims.about(["3", "17", "nothing", "0", "z"]),
    "about none": lambda claims: claims.about(["nothing"]),
    "about all, capped": lambda claims: claims.about(map(str, range(99))).capped(2, keep_objects=True),
    "capped and clamped": lambda claims: claims.capped(4).clamped(3.0, 6.0)[0],
    "picked": lambda claims: claims.picked(np.array([0, 3, 29])),
    "picked none": lambda claims: claims.picked(np.zeros(0, dtype=np.int64)),
    "about none, capped": lambda claims: claims.about(["nothing"]).capped(2),
}


@pytest.mark.parametrize("memory", BOUNDS)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_what_is_made_of_claims_is_the_same(name: str, memory: int, tmp_path: Path) -> None:
    make = TRANSFORMED[name]
    same_claims(make(stored(crowd(), tmp_path, memory)), make(crowd()))


@given(tables(), st.integers(1, 4), st.booleans())
@modest
def test_caps_keep_the_same_claims(frame: pl.DataFrame, most: int, keep_objects: bool) -> None:
    kept = (
        claims.capped(most, keep_objects=keep_objects)
        for claims in (laid_out(frame, 192 * 30), at_once(frame))
    )
    same_claims(*kept)


def test_claims_with_the_same_hash_are_kept_in_the_order_of_the_layout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def alike(names: pl.Series) -> Any:
        return np.zeros(len(names), dtype=np.uint64)

    monkeypatch.setattr("crowdveil.claims.name_hashes", alike)
    monkeypatch.setattr("crowdveil.engines.stored.caps.name_hashes", alike)
    same_claims(stored(crowd(), tmp_path, 9_000).capped(2), crowd().capped(2))


@given(tables(), st.sampled_from([-3.25, 0.0, 1.0]), st.sampled_from([1.0, 1.75, 1e150]))
@modest
def test_clamped_values_lie_in_the_same_order(frame: pl.DataFrame, low: float, high: float) -> None:
    (mine, outside), (other, count) = (
        claims.clamped(low, high) for claims in (laid_out(frame, 192 * 30), at_once(frame))
    )
    same_claims(mine, other)
    assert outside == count


def test_numbers_outside_are_counted(tmp_path: Path) -> None:
    claims = stored(crowd(), tmp_path, 9_000)
    assert claims.outside(3.0, 6.0) == crowd().outside(3.0, 6.0) == crowd().clamped(3.0, 6.0)[1] > 0
    assert claims.clamped(-100.0, 100.0) == (claims, 0)


@pytest.mark.parametrize("memory", [40 * 555, 55_000])
def test_a_pool_that_fits_is_in_memory(memory: int, tmp_path: Path) -> None:
    pooled = stored(crowd(), tmp_path, memory).pooled("all")
    assert not isinstance(pooled, StoredClaims)
    same_claims(pooled, crowd().pooled("all"))


def test_a_pool_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"as one object do not fit .* they need 22 KiB \(--memory\)"):
        stored(crowd(), tmp_path, 40 * 555 - 1).pooled("all")


def test_claims_on_disk_are_not_joined(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="join the files"):
        stored(crowd(), tmp_path, 9_000).joined(crowd())


def test_an_object_that_does_not_fit_is_refused() -> None:
    frame = pl.DataFrame({"thing": ["a"] * 7 + ["b"], "who": list(range(8)), "score": [1.0] * 8})
    with pytest.raises(InputError, match=r"here\.parquet: one object has more claims than fit in memory"):
        laid_out(frame, LEAST)
    same_claims(laid_out(frame, 192 * 7), at_once(frame))


def test_progress_tells_of_all_passes() -> None:
    heard: list[tuple[str, float]] = []
    laid_out(frame_of(crowd()).rename(_told), 9_000, progress=lambda *told: heard.append(told))
    stages = list(dict.fromkeys(stage for stage, _ in heard))
    assert stages == ["names", "dividing", "laying out"]
    for stage in stages:
        shares = [share for each, share in heard if each == stage]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0.0, 1.0)
        assert len(shares) > 3


def _told(column: str) -> str:
    return dict(zip(("object", "user", "value"), COLUMNS, strict=True))[column]


def test_no_file_has_a_name_after_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    frame = pl.DataFrame({"thing": ["a"] * 20, "who": [1] * 20, "score": [1.0] * 20})
    with pytest.raises(InputError):
        laid_out(frame, 192 * 30)
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_changes_meanwhile_is_refused() -> None:
    def frame(names: list[Any]) -> pl.DataFrame:
        return pl.DataFrame({"thing": names, "who": list(range(len(names))), "score": [1.0] * len(names)})

    for first, second in [(["a", "b"], ["a", "c"]), (["a", "b"], ["a"]), (["a", "b"], ["a", "a", "b"])]:
        versions = iter([frame(first), frame(second)])
        rows = Rows(lambda _: iter([next(versions)]), 2, COLUMNS, "here.parquet")  # noqa: B023
        with pytest.raises(InputError, match=r"here\.parquet: was changed while it was read"):
            lay_out(rows, Memory(192), lambda *_: None)


# --- refusals -----------------------------------------------------------------------------------------------

MANY = 40


def good() -> dict[str, Any]:
    return {
        "thing": [f"o{row % 8}" for row in range(MANY)],
        "who": [f"u{row // 8}" for row in range(MANY)],
        "score": [float(row) for row in range(MANY)],
    }


def _with(column: str, cells: dict[int, Any], kind: Any = None) -> pl.DataFrame:
    table = good()
    for row, cell in cells.items():
        table[column][row] = cell
    return pl.DataFrame({**table, column: pl.Series(table[column], dtype=kind)})


def _text(cells: dict[int, Any]) -> pl.DataFrame:
    table = good()
    return pl.DataFrame({**table, "score": [cells.get(row, str(row)) for row in range(MANY)]})


BAD: dict[str, pl.DataFrame] = {
    "no value": _with("score", {3: None, 30: None}),
    "many without a value": _with("score", dict.fromkeys(range(5, 39, 4))),
    "no number": _with("score", {2: float("nan"), 39: float("nan"), 3: float("inf")}),
    "infinite": _with("score", {20: float("inf"), 39: 1e200}),
    "minus infinite": _with("score", {20: -float("inf")}),
    "too large": _with("score", {33: 1e151, 34: -1e151}),
    "text": _text({4: "x", 5: "y", 38: "z"}),
    "empty text": _text({4: "x", 37: " "}),
    "missing text": _text({4: "x", 36: None, 37: " "}),
    "dates": _with("score", {}, None).with_columns(score=pl.lit("2020-01-01").str.to_date()),
    "nothing": _with("score", {}, None).with_columns(score=pl.lit(None)),
    "truth": _with("score", {}, None).with_columns(score=pl.lit(value=True)),
    "no object": _with("thing", {11: None, 12: None}),
    "no user": _with("who", {11: None}),
    "empty object": _with("thing", {0: "", 39: "  "}),
    "empty user": _with("who", {17: "\u2003"}),
    "no object and an empty one": _with("thing", {1: "", 39: None}),
    "no user and no number": _with("who", {1: None}).with_columns(score=pl.Series([None, *range(39)])),
    "floats for objects": _with("thing", {}).with_columns(thing=pl.Series([0.5] * MANY)),
    "truths for users": _with("who", {}).with_columns(who=pl.lit(value=True)),
    "nothing for users": _with("who", {}).with_columns(who=pl.lit(None)),
    "large numbers for users": _with("who", {}).with_columns(
        who=pl.Series([2**64 - 1 if row in (3, 37) else row for row in range(MANY)], dtype=pl.UInt64)
    ),
    "kinds and cells": _with("thing", {}).with_columns(thing=pl.lit(0.5), who=pl.lit("")),
    "repeated": _with("thing", {39: "o1"}),
    "repeated often": _with("thing", dict.fromkeys((8, 10, 18, 20), "o1")),
    "repeated in two objects": pl.concat([pl.DataFrame(good()), pl.DataFrame(good())[[31, 8, 3, 31]]]),
    "repeated in other forms": _with("thing", {0: "é", 1: "e\u0301"}),
}


def refusal(build: Callable[[], Claims]) -> str:
    with pytest.raises(InputError) as caught:
        build()
    return str(caught.value)


@pytest.mark.parametrize("memory", [192 * 9, 192 * 16, 192 * 41])
@pytest.mark.parametrize("name", BAD)
def test_the_same_is_refused_in_the_same_words(name: str, memory: int) -> None:
    frame = BAD[name]
    assert refusal(lambda: laid_out(frame, memory)) == refusal(lambda: at_once(frame))


@pytest.mark.parametrize("name", ["infinite", "minus infinite", "too large"])
def test_the_same_numbers_count_as_the_largest(name: str) -> None:
    frame = BAD[name]
    same_claims(laid_out(frame, 192 * 9, saturate=True), at_once(frame, saturate=True))


KINDS: dict[str, pl.DataFrame] = {
    "text": _text({4: " 7.5 ", 5: "1e3"}),
    "integers": _with("score", {}).with_columns(pl.col("score").cast(pl.Int16)),
    "singles": _with("score", {}).with_columns(pl.col("score").cast(pl.Float32) / 3),
    "decimals": _with("score", {}).with_columns(pl.col("score").cast(pl.Decimal(10, 2))),
    "categories": pl.DataFrame(good()).with_columns(pl.col("thing", "who").cast(pl.Categorical)),
    "categories as numbers": _text({}).with_columns(pl.col("score").cast(pl.Categorical)),
    "small integers for names": pl.DataFrame(good()).with_columns(
        thing=pl.Series([row % 8 for row in range(MANY)], dtype=pl.UInt8),
        who=pl.Series([-(row // 8) for row in range(MANY)], dtype=pl.Int32),
    ),
    "zeros": _with("score", dict.fromkeys(range(0, MANY, 3), -0.0)),
}


@pytest.mark.parametrize("name", KINDS)
def test_columns_of_every_kind_give_the_same_claims(name: str) -> None:
    same_claims(laid_out(KINDS[name], 192 * 9), at_once(KINDS[name]))


@pytest.mark.parametrize("memory", BOUNDS)
def test_claims_by_user_and_back(memory: int, tmp_path: Path) -> None:
    claims = crowd()
    here, there = claims.by_user(), stored(claims, tmp_path, memory).by_user()
    assert here.offsets.tolist() == there.offsets.tolist()
    for name in ("order", "user_codes", "values"):
        assert getattr(here, name)[:].tolist() == getattr(there, name)[:].tolist()
    numbers = np.sqrt(np.arange(len(claims)))
    assert here.returned(numbers).tobytes() == there.returned(numbers)[:].tobytes()
    same_claims(claims.with_values(numbers[::-1].copy()), there.claims.with_values(numbers[::-1].copy()))
