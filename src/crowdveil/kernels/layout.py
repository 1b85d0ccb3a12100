"""Loops behind `Claims`: rows in any order are laid out by object."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.ranges import longest
from crowdveil.kernels.sorting import ascending, sort


@compiled
def starts(codes: Codes, count: int) -> Ints:
    """Offset of the first row of each code if rows are sorted by code, and the number of rows at the end."""
    begins = np.zeros(count + 1, dtype=np.int64)
    for row in range(codes.size):
        begins[codes[row] + 1] += 1
    for code in range(count):
        begins[code + 1] += begins[code]
    return begins


@compiled
def order_by_code(codes: Codes, count: int) -> Codes:
    """The rows sorted by code (stable)."""
    place = starts(codes, count)
    order = np.empty(codes.size, dtype=np.int32)
    for row in range(codes.size):
        order[place[codes[row]]] = row
        place[codes[row]] += 1
    return order


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
    """Fill `to_users` and `to_values` with claims sorted by object, then user; false if a pair repeats.

    Two counting sorts: by user, and then by object, which is stable and keeps the order of users.
    """
    by_user = order_by_code(users, user_count)
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
    """Sort the claims of each object by value (stable)."""
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
    """Clamp ascending values to [low, high]; values that become equal at an end are sorted by user."""
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
