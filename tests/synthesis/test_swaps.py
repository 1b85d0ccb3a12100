"""Swaps keep single columns exactly and bring pairs nearer."""

from __future__ import annotations

import numpy as np
from small_tables import SIZES, dependent, pair_distance, pairs_of

from crowdveil.evaluation.marginals import independent
from crowdveil.kernels.swaps import swap
from crowdveil.randomness import seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.records import Records
from crowdveil.synthesis import swaps


def _side_by_side(real: Records, rows: int) -> Records:
    alone = [real.counts(column) / len(real) for column in range(len(SIZES))]
    return Records(real.schema, swaps.independent_columns(alone, rows, rng=seeded(3)))


def test_independent_columns_have_their_shares() -> None:
    real = dependent(700)
    made = _side_by_side(real, 700)
    for column in range(len(SIZES)):
        assert np.abs(made.counts(column) - real.counts(column)).max() <= 1
    assert abs(pair_distance(made, pairs_of(real)) - independent(real, 2)) < 0.03


def test_swaps_keep_columns_and_bring_pairs_nearer() -> None:
    real = dependent(2000)
    before = _side_by_side(real, 2000)
    after = Records(real.schema, swaps.swapped(before.codes, SIZES, pairs_of(real), rng=seeded(4)))
    for column in range(len(SIZES)):
        np.testing.assert_array_equal(after.counts(column), before.counts(column))
    far = pair_distance(before, pairs_of(real))
    assert far > 0.1
    assert pair_distance(after, pairs_of(real)) < far / 20


def test_a_pair_that_is_not_told_is_free() -> None:
    real = dependent(1000)
    before = _side_by_side(real, 1000)
    told = {(0, 1): pairs_of(real)[0, 1]}
    after = Records(real.schema, swaps.swapped(before.codes, SIZES, told, rng=seeded(4)))
    assert pair_distance(after, told) < pair_distance(before, told) / 10
    np.testing.assert_array_equal(after.codes[:, 2:], before.codes[:, 2:])
    np.testing.assert_array_equal(swaps.swapped(before.codes, SIZES, {}, rng=seeded(4)), before.codes)


def test_the_loop_knows_what_it_did() -> None:
    """The excess that it carries along is that of the rows that it leaves, and squares only ever fall."""
    real = dependent(300)
    codes = _side_by_side(real, 300).codes.copy()
    pairs = pairs_of(real)
    bases, strides, excess = swaps._excess(codes, SIZES, pairs)
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(0).streams(["swaps"], purpose="rows")
    start(state, key, nonces[0])
    squares = float(excess @ excess)
    for column in [0, 1, 2, 3, 0, 1]:
        done = swap(state, codes, column, 300, bases, strides, excess)
        fresh = swaps._excess(codes, SIZES, pairs)[2]
        np.testing.assert_allclose(excess, fresh, atol=1e-9)
        assert done > 0
        assert float(fresh @ fresh) < squares
        squares = float(fresh @ fresh)


def test_the_callers_rows_stay_as_they_are() -> None:
    real = dependent(200)
    codes = _side_by_side(real, 200).codes.copy()
    kept = codes.copy()
    swaps.swapped(codes, SIZES, pairs_of(real), rng=seeded(1))
    np.testing.assert_array_equal(codes, kept)
