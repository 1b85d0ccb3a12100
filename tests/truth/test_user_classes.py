"""Classes of users are told by other objects than those that they are used for."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.truth.user_classes import PARTS, Classes, Parts

SPREADS = np.array([0.5, 1.0, 4.0])
EVEN = np.full(3, 1 / 3)


def test_parts_give_the_sums_and_counts_of_slow_twins() -> None:
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 4, (8, 23)).astype(np.uint8)
    rates, table = rng.integers(0, 2, 8), rng.normal(size=(2, 23, 4, 3))
    parts = Parts.of(symbols)
    assert np.concatenate(parts.symbols, axis=1).tolist() == symbols.tolist()
    assert len(parts.symbols) == PARTS
    part_of = np.repeat(np.arange(PARTS), [part.shape[1] for part in parts.symbols])
    fits = parts.fits(rates, table, LocalEngine(2))
    groups = rng.integers(0, 5, (PARTS, 8))
    counts = parts.counts(groups, 5, 4, LocalEngine(2))
    for u in range(8):
        for f in range(PARTS):
            own = sum(table[rates[u], j, symbols[u, j]] for j in np.flatnonzero(part_of == f))
            assert fits[f, u] == pytest.approx(own)
    for g in range(5):
        for j in range(23):
            there = symbols[groups[part_of[j]] == g, j]
            assert counts[g, j].tolist() == np.bincount(there, minlength=4).tolist()


def test_a_users_own_reports_about_a_part_do_not_tell_the_class_there() -> None:
    fits = np.random.default_rng(2).normal(size=(4, 50, 3))
    before = Classes.from_fits(fits, EVEN, SPREADS, 3).of_users
    fits[1] = np.random.default_rng(3).normal(size=(50, 3))
    after = Classes.from_fits(fits, EVEN, SPREADS, 3).of_users
    assert before[1].tolist() == after[1].tolist()
    assert (before[[0, 2, 3]] != after[[0, 2, 3]]).any()


def test_careful_users_come_first_and_classes_have_the_chances_of_their_users() -> None:
    fits = np.zeros((2, 30, 3))
    fits[:, :10, 0], fits[:, 20:, 2] = 9.0, 9.0
    classes = Classes.from_fits(fits, EVEN, SPREADS, 3)
    assert classes.of_users.tolist() == 2 * [10 * [0] + 10 * [1] + 10 * [2]]
    assert classes.sizes.tolist() == [20, 20, 20]
    assert classes.expected[1] == pytest.approx(EVEN)
    assert classes.expected[0, 0] > 0.99
    assert classes.expected[2, 2] > 0.99


def test_users_who_cannot_be_told_apart_are_one_class() -> None:
    classes = Classes.from_fits(np.zeros((1, 9, 3)), EVEN, SPREADS, 4)  # of one part, no other tells
    assert classes.sizes.tolist() == [9, 0, 0, 0]
    assert classes.expected == pytest.approx(np.full((4, 3), 1 / 3))
