"""The table of Laplace noise gives the law on paper: its bits are those of chances, ties are settled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from test_samplers import Ints, binomial_accepts, follows_discrete_laplace, fresh_state

from crowdveil.errors import ParameterError
from crowdveil.randomness.laplace_table import (
    LARGEST_SCALE,
    MOST_SIZES,
    LaplaceTable,
    fill_sizes,
    first_bits,
)

SCALES = [Fraction(1, 3), Fraction(1), Fraction(10, 3), Fraction(9), Fraction(20_000, 223)]


def drawn(scale: Fraction, name: str, count: int = 1_000_000) -> Ints:
    out = np.empty(count, dtype=np.int64)
    LaplaceTable.of(scale).fill(fresh_state(f"table {scale} {name}"), out)
    return out


def exp_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of exp(-x), x > 0: the alternating series of exp(-x / n), to the power of n."""
    parts = max(1, floor(x) + 1)
    term, total, before = Fraction(1), Fraction(1), Fraction(0)
    for k in range(1, 60):
        term *= -x / parts / k
        before, total = total, total + term
    low, high = sorted((before, total))
    return low**parts, high**parts


def chance_between(scale: Fraction, size: int, *, beyond: bool) -> tuple[Fraction, Fraction]:
    (low, high), (least, most) = exp_between(size / scale), exp_between(1 / scale)
    return (low, high) if beyond else (2 * low / (1 + most), 2 * high / (1 + least))


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("beyond", [False, True])
def test_the_tables_bits_are_those_of_the_chances_in_exact_fractions(scale: Fraction, beyond: bool) -> None:
    chances = LaplaceTable.of(scale).chances[int(beyond)]
    assert chances.size == min(MOST_SIZES, np.ceil(16 * float(scale)))
    for size in {1, 2, chances.size // 3, chances.size // 2, chances.size} & set(range(1, 400)):
        low, high = chance_between(scale, size, beyond=beyond)
        for bits in (1, 32, 64, 150):
            found = first_bits(scale, size, bits, beyond=beyond)
            assert found <= low * 2**bits
            assert high * 2**bits <= found + 1
        assert chances[size - 1] == first_bits(scale, size, 32, beyond=beyond)


def test_each_size_of_a_table_has_its_own_bits() -> None:
    table = LaplaceTable.of(Fraction(90))
    for row, beyond in enumerate((False, True)):
        bits = [first_bits(table.scale, k + 1, 32, beyond=beyond) for k in range(table.chances.shape[1])]
        assert table.chances[row].tolist() == bits
        last = (np.arange(2**10) + 1) * 2**22 - 1
        assert table.guide[row].tolist() == [int((table.chances[row] > number).sum()) for number in last]


@pytest.mark.parametrize(
    "scale", [*SCALES, Fraction(90), Fraction(2000), Fraction(2**40 - 1, 2**37)], ids=str
)
def test_draws_follow_the_law(scale: Fraction) -> None:
    assert follows_discrete_laplace(drawn(scale, "law"), scale.numerator, scale.denominator)


@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(9), Fraction(255)], ids=str)
def test_ten_million_draws_follow_the_law(scale: Fraction) -> None:
    with ThreadPoolExecutor(2) as pool:
        draws = list(pool.map(lambda part: drawn(scale, f"many {part}", 5_000_000), range(2)))
    assert follows_discrete_laplace(np.concatenate(draws), scale.numerator, scale.denominator, reach=10)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_scale_wrong_by_5_percent_is_caught(scale: Fraction) -> None:
    draws = drawn(scale * Fraction(21, 20), "5 %")
    assert not follows_discrete_laplace(draws, scale.numerator, scale.denominator)


def test_some_draws_are_not_told_by_the_table_and_their_bits_equal_a_chance() -> None:
    table, state = LaplaceTable.of(Fraction(255)), fresh_state("not told")
    out, place, ties = np.empty(5_000_000, dtype=np.int64), 0, 0
    while place < out.size:
        place, row, begun = fill_sizes(state, table.chances, table.guide, place, out)
        if place < out.size:
            assert begun in table.chances[row]
            ties, place = ties + 1, place + 1
    assert 0 < ties < 30  # five million times 4080 / 2^32 are 5


@pytest.mark.parametrize(("row", "size"), [(0, 3), (0, 30), (1, 5)])
def test_a_tie_is_settled_with_the_chance_that_is_left(row: int, size: int) -> None:
    scale, count = Fraction(9), 4000
    table, state = LaplaceTable.of(scale), fresh_state(f"tie {row} {size}")
    begun = int(table.chances[row, size - 1])
    found = [table.settled(state, row, begun) for _ in range(count)]
    assert set(found) <= {size - 1, size}
    left = first_bits(scale, size, 96, beyond=row == 1) / 2.0**64 - begun
    assert binomial_accepts(found.count(size), count, float(left))


def test_a_tie_at_the_tables_end_may_go_beyond_it() -> None:
    table, state = LaplaceTable.of(Fraction(9)), fresh_state("end")
    begun = int(table.chances[0, -1])
    found = np.array([table.settled(state, 0, begun) for _ in range(4000)])
    last = table.chances.shape[1]
    beyond = found[found >= last] - last
    assert found.min() == last - 1
    assert np.mean(beyond) == pytest.approx(1 / np.expm1(1 / 9), rel=5 / np.sqrt(beyond.size))


def test_noise_of_a_tiny_scale_is_zero_and_so_are_its_ties() -> None:
    table = LaplaceTable.of(Fraction(1, 2**39))
    assert table.chances.tolist() == [[0], [0]]
    assert {table.settled(fresh_state("tiny"), 0, 0) for _ in range(20)} == {0}
    assert not drawn(table.scale, "tiny").any()


def test_a_table_is_made_once_and_not_for_large_scales() -> None:
    assert LaplaceTable.of(Fraction(7)) is LaplaceTable.of(Fraction(7))
    for scale in (Fraction(0), Fraction(-1), Fraction(LARGEST_SCALE + 1), Fraction(1, 2**40)):
        with pytest.raises(ParameterError, match="scales up to 8192"):
            LaplaceTable.of(scale)
