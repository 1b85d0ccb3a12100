"""Rows laid out by object, against sorting whole tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.kernels import layout

modest = settings(deadline=None, derandomize=True, max_examples=80)

rows = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 60)), st.integers(-3, 3), min_size=1, max_size=120
)


@modest
@given(drawn=rows, seed=st.integers(0, 1000))
def test_claims_are_ordered_by_object_value_and_user(drawn: dict[tuple[int, int], int], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(np.array([(*key, v) for key, v in drawn.items()]))
    objects, users = shuffled[:, 0].astype(np.int32), shuffled[:, 1].astype(np.int32)
    values = shuffled[:, 2].astype(np.float64)
    offsets = layout.starts(objects, 5)
    assert offsets.tolist() == [0, *np.cumsum(np.bincount(objects, minlength=5))]
    to_users, to_values = np.empty(users.size, dtype=np.int32), np.empty(users.size)
    assert layout.lay_out(objects, users, values, offsets, 61, to_users, to_values)
    layout.sort_values(offsets, to_users, to_values)
    order = np.lexsort((users, values, objects))
    assert to_users.tolist() == users[order].tolist()
    assert to_values.tolist() == values[order].tolist()


@pytest.mark.parametrize("apart", [1, 2, 39])
def test_a_user_with_two_claims_about_an_object_is_noticed(apart: int) -> None:
    objects, users = np.arange(40, dtype=np.int32) % 3, np.arange(40, dtype=np.int32)
    objects[0], users[0] = objects[apart], users[apart]
    offsets = layout.starts(objects, 3)
    to_users, to_values = np.empty(40, dtype=np.int32), np.empty(40)
    assert not layout.lay_out(objects, users, np.zeros(40), offsets, 40, to_users, to_values)


@modest
@given(drawn=rows, low=st.integers(-3, 0), high=st.integers(1, 3))
def test_clamped_claims_are_ordered_by_value_and_user(
    drawn: dict[tuple[int, int], int], low: int, high: int
) -> None:
    table = np.array([(*key, v) for key, v in drawn.items()])
    objects, users, values = table[:, 0], table[:, 1].astype(np.int32), table[:, 2].astype(np.float64)
    order = np.lexsort((users, values, objects))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(objects, minlength=5))])
    made_users, made_values = users[order], values[order]
    layout.clamp(offsets, float(low), float(high), made_users, made_values)
    clipped = np.clip(values, low, high)
    expected = np.lexsort((users, clipped, objects))
    assert made_users.tolist() == users[expected].tolist()
    assert made_values.tolist() == clipped[expected].tolist()
