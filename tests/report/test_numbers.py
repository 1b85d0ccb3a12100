"""Numbers on pages: readable, true to what is shown, and told apart where they differ."""

from __future__ import annotations

from math import floor, inf, log10, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.report.numbers import UNKNOWN, count, decimal, interval, number, share, together

modest = settings(deadline=None, derandomize=True, max_examples=200)
written_out = st.floats(1e-15, 9.99e14) | st.floats(-9.99e14, -1e-15)
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def parsed(text: str) -> float:
    """The number that a text states."""
    plain = text.replace(",", "").replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", "")
    mantissa, _, power = plain.partition("\N{MULTIPLICATION SIGN}10")
    return float(f"{mantissa}e{power.translate(RAISED) or 0}")


def precision(text: str) -> float:
    """Half of the last digit that is shown."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1260.0, "1,260"),
        (0.0012, "0.0012"),
        (12_300_000, "12,300,000"),
        (1_234_567.8, "1,234,568"),
        (0.1 + 0.2, "0.3"),
        (9.99999, "10"),
        (-2.5, "\N{MINUS SIGN}2.5"),
        (-0.0, "0"),
        (0, "0"),
        (1e15, "1\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10¹⁵"),
        (-1.5e-20, "\N{MINUS SIGN}1.5\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10⁻²⁰"),
        (None, UNKNOWN),
        (nan, UNKNOWN),
        (inf, UNKNOWN),
        (-inf, UNKNOWN),
    ],
)
def test_numbers_as_people_write_them(value: float | None, expected: str) -> None:
    assert number(value) == expected


@modest
@given(value=written_out, digits=st.integers(1, 9))
def test_a_number_read_back_is_within_the_shown_precision(value: float, digits: int) -> None:
    text = number(value, digits)
    assert "e" not in text
    assert "\N{MULTIPLICATION SIGN}" not in text
    assert text not in ("-0", "\N{MINUS SIGN}0")
    shown = 10.0 ** max(-18, min(0, floor(log10(abs(value))) - digits + 1))
    assert abs(parsed(text) - value) <= 0.5 * shown * (1 + 1e-9) + 1e-15 * abs(value)


@modest
@given(value=st.floats(1e15, 1e300) | st.floats(1e-300, 1e-15))
def test_powers_of_ten_are_read_back_too(value: float) -> None:
    assert parsed(number(value)) == pytest.approx(value, rel=1e-3)


@modest
@given(value=st.floats(-1e14, 1e14), places=st.integers(0, 6))
def test_fixed_decimals_are_fixed_and_never_a_negative_zero(value: float, places: int) -> None:
    text = decimal(value, places)
    assert len(text.partition(".")[2]) == places
    assert abs(parsed(text) - value) <= precision(text) * (1 + 1e-9) + 1e-15 * abs(value)
    assert not (text.startswith("\N{MINUS SIGN}") and parsed(text) == 0)


@modest
@given(middle=st.floats(-1e9, 1e9), half=st.floats(1e-6, 1e6))
def test_the_ends_of_an_interval_are_told_apart(middle: float, half: float) -> None:
    lower, upper = middle - half, middle + half
    texts = interval(middle, lower, upper)
    assert len(set(texts)) == 3
    assert parsed(texts[1]) < parsed(texts[0]) < parsed(texts[2])
    assert len({len(text.partition(".")[2]) for text in texts}) == 1


def test_an_interval_has_the_digits_that_it_is_worth() -> None:
    assert interval(20.4567, 20.1234, 20.7912) == ("20.46", "20.12", "20.79")
    assert interval(1260.4, 1200.1, 1320.8) == ("1,260", "1,200", "1,321")
    assert interval(2.0, 2.0, 2.0) == ("2", "2", "2")
    assert interval(2.0, None, 3.0) == ("2", UNKNOWN, "3")
    assert interval(None, None, None) == (UNKNOWN,) * 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1234, "12.3"), (0.0, "0.0"), (1.0, "100.0"), (0.00012, "0.012"), (-0.25, "\N{MINUS SIGN}25.0")],
)
def test_shares_are_percents(value: float, expected: str) -> None:
    assert share(value) == f"{expected}\N{NO-BREAK SPACE}%"
    assert share(None) == share(nan) == UNKNOWN


@modest
@given(values=st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=8, unique=True))
def test_numbers_that_stand_together_are_told_apart(values: list[int]) -> None:
    texts = together([value / 100 for value in values])
    assert len(set(texts)) == len(values)


def test_numbers_that_stand_together_share_their_decimals() -> None:
    assert together([0.0, 2.5, 5.0]) == ["0.0", "2.5", "5.0"]
    assert together([0.0, 2.5e6, None]) == ["0", "2,500,000", UNKNOWN]
    assert together([7.0, 7.0]) == ["7", "7"]
    assert together([]) == []
    assert len(set(together([1e16, 1e16 + 2]))) == 2


def test_counts_have_commas() -> None:
    assert count(15_200) == "15,200"
    assert count(-3) == "\N{MINUS SIGN}3"
    assert count(None) == UNKNOWN
