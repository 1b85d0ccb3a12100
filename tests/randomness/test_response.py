"""Randomized response has the law and the epsilon it says, and never more epsilon than was asked for."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from crowdveil.errors import ParameterError
from crowdveil.randomness import Words, chacha, seeded
from crowdveil.randomness.response import Response

Ints = NDArray[np.int64]

ERROR = 1e-6
DRAWS = 1_000_000
modest = settings(deadline=None, derandomize=True, max_examples=300)


def state(name: str) -> Words:
    words = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(5).streams([name], purpose="test response")
    chacha.start(words, key, nonces[0])
    return words


def law(response: Response, code: int) -> list[Fraction]:
    """The chance of every output."""
    return [
        response.keep_chance if told == code else response.other_chance for told in range(response.symbols)
    ]


def follows(observed: Ints, response: Response, code: int) -> bool:
    expected = np.array([float(chance) for chance in law(response, code)]) * observed.sum()
    assert expected.min() >= 20
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return statistic <= float(chi2.isf(ERROR, response.symbols - 1))


@pytest.mark.parametrize(
    ("symbols", "epsilon"), [(2, 1.0), (6, 1.0), (6, 0.1), (25, 4.0), (100, 1e-6), (3, 20.0), (2, 42.0)]
)
def test_the_largest_log_ratio_is_the_epsilon_realised(symbols: int, epsilon: float) -> None:
    response = Response.of(symbols, epsilon)
    laws = [law(response, code) for code in range(min(symbols, 8))]
    assert all(sum(chances) == 1 for chances in laws)
    largest = max(a / b for first in laws for second in laws for a, b in zip(first, second, strict=True))
    with localcontext(prec=50):
        exact = float((Decimal(largest.numerator) / Decimal(largest.denominator)).ln())
    assert response.epsilon == pytest.approx(exact, abs=1e-12, rel=0)
    assert response.epsilon == pytest.approx(log(largest), abs=1e-12, rel=1e-15)


@modest
@given(symbols=st.integers(2, 2**40 - 1), epsilon=st.floats(1e-12, 1e9))
def test_the_epsilon_realised_is_never_above_the_one_asked_for(symbols: int, epsilon: float) -> None:
    response = Response.of(symbols, epsilon)
    with localcontext(prec=80):
        realised = (Decimal(response.keep) / Decimal(response.other)).ln()
        assert realised <= Decimal(epsilon)
        assert realised <= Decimal(response.epsilon)
    assert response.epsilon <= epsilon
    assert response.total < 2**62


@modest
@given(symbols=st.integers(2, 1000), epsilon=st.floats(1e-4, 20.0))
def test_the_epsilon_realised_is_close_to_the_one_asked_for(symbols: int, epsilon: float) -> None:
    assert Response.of(symbols, epsilon).epsilon == pytest.approx(epsilon, rel=1e-8)


SMALL = [Response(2, 3, 1), Response(4, 5, 2), Response(5, 1, 1), Response.of(6, 1.0), Response.of(30, 3.0)]


@pytest.mark.parametrize("response", SMALL, ids=str)
@pytest.mark.parametrize("code", [0, 1, -1])
def test_reports_follow_the_law(response: Response, code: int) -> None:
    code %= response.symbols
    told = response.perturb(np.full(DRAWS, code), state=state(f"law {response} {code}"))
    assert told.min() >= 0
    assert follows(np.bincount(told, minlength=response.symbols), response, code)


def test_ten_million_reports_follow_the_law() -> None:
    response = Response.of(6, 1.0)
    told = response.perturb(np.full(10 * DRAWS, 3), state=state("many"))
    assert follows(np.bincount(told, minlength=6), response, 3)


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_an_epsilon_wrong_by_5_percent_is_caught(factor: float) -> None:
    told = Response.of(6, factor).perturb(np.full(DRAWS, 3), state=state(f"5 % {factor}"))
    assert not follows(np.bincount(told, minlength=6), Response.of(6, 1.0), 3)


def test_mixed_codes_are_randomized_one_by_one() -> None:
    response = Response(4, 5, 2)
    codes = np.tile(np.arange(4), DRAWS // 4)
    told = response.perturb(codes, state=state("mixed"))
    for code in range(4):
        assert follows(np.bincount(told[codes == code], minlength=4), response, code)
    # A report says nothing about its neighbours.
    noise = (told - codes) % 4
    pairs = np.bincount(4 * noise[0::2] + noise[1::2], minlength=16)
    chance = np.array([float(c) for c in law(response, 0)])
    expected = np.outer(chance, chance).ravel() * pairs.sum()
    assert float(((pairs - expected) ** 2 / expected).sum()) <= float(chi2.isf(ERROR, 15))


def test_an_empty_row_of_codes_stays_empty() -> None:
    assert Response(2, 3, 1).perturb(np.empty(0, dtype=np.int64), state=state("empty")).size == 0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, nan, inf])
def test_bad_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        Response.of(3, epsilon)


@pytest.mark.parametrize("symbols", [1, 0, -4, 2**40])
def test_bad_numbers_of_symbols_are_refused(symbols: int) -> None:
    with pytest.raises(ParameterError, match="symbols"):
        Response.of(symbols, 1.0)
    with pytest.raises(ParameterError, match="symbols"):
        Response(symbols, 2, 1)


@pytest.mark.parametrize(("keep", "other"), [(1, 2), (0, 0), (3, 0), (2**62, 1)])
def test_bad_weights_are_refused(keep: int, other: int) -> None:
    with pytest.raises(ParameterError, match="weights"):
        Response(3, keep, other)


@pytest.mark.parametrize("code", [-1, 6, 2**50])
def test_codes_outside_are_refused_without_being_shown(code: int) -> None:
    with pytest.raises(ParameterError, match="a code lies outside") as refused:
        Response.of(6, 1.0).perturb(np.array([0, code]), state=state("bad"))
    assert str(code) not in str(refused.value).replace("0 ... 5", "")
