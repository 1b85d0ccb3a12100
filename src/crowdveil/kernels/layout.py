"""Rows in any order laid out by object: the loops behind `Claims`."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.ranges import longest
from crowdveil.kernels.sorting import ascending, sort


@compiled
def starts(codes: Codes, count: int) -> Ints:
    """Where each code's rows begin if rows are ordered by code, and where the last one's end."""
    begins = np.zeros(count + 1, dtype=np.int64)
    for row in range(codes.size):
        begins[codes[row] + 1] += 1
    for code in range(count):
        begins[code + 1] += begins[code]
    return begins


@compiled
def lay_out(
    objects: Codes,
    users: Codes,
    values: Floats,
    offsets: Ints,
    user_count: int,
    to_users: Codes,
    to_values: Floats,
) -> bool:
    """Claims by object, users ascending inside each; false if some (object, user) is there twice.

    Two counting sorts, by user and then by object, which keeps the order of users.
    """
    place = starts(users, user_count)
    by_user = np.empty(users.size, dtype=np.int32)
    for row in range(users.size):
        by_user[place[users[row]]] = row
        place[users[row]] += 1
    place = offsets.copy()
    distinct = True
    for i in range(users.size):
        row = by_user[i]
        code = objects[row]
        to = place[code]
        distinct &= to == offsets[code] or to_users[to - 1] != users[row]
        to_users[to] = users[row]
        to_values[to] = values[row]
        place[code] += 1
    return distinct


@compiled
def sort_values(offsets: Ints, users: Codes, values: Floats) -> None:
    """Order the claims of each object by value, equal ones as they were."""
    most = longest(offsets, 0, offsets.size - 1)
    order, spare = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    old_users, old_values = np.empty(most, dtype=np.int32), np.empty(most)
    for i in range(offsets.size - 1):
        a, n = offsets[i], offsets[i + 1] - offsets[i]
        ascending(values[a : a + n], order[:n], spare[:n])
        for s in range(n):
            old_users[s], old_values[s] = users[a + s], values[a + s]
        for s in range(n):
            users[a + s], values[a + s] = old_users[order[s]], old_values[order[s]]


@compiled
def clamp(offsets: Ints, low: float, high: float, users: Codes, values: Floats) -> None:
    """Pull ascending values into [low, high]; those that meet at an end are put in the order of users."""
    for i in range(offsets.size - 1):
        begin, end = offsets[i], offsets[i + 1]
        inside = begin
        while inside < end and values[inside] <= low:
            values[inside] = low
            inside += 1
        beyond = end
        while beyond > inside and values[beyond - 1] >= high:
            values[beyond - 1] = high
            beyond -= 1
        sort(users[begin:inside])
        sort(users[beyond:end])
