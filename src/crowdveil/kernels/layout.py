"""Rows in any order laid out by object: the loops behind `Claims`."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled

_FEW = 32  # claims that are sorted by insertion


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
    for i in range(offsets.size - 1):
        x = values[offsets[i] : offsets[i + 1]]
        of = users[offsets[i] : offsets[i + 1]]
        if x.size <= _FEW:
            for s in range(1, x.size):
                value, user = x[s], of[s]
                t = s
                while t > 0 and x[t - 1] > value:
                    x[t], of[t] = x[t - 1], of[t - 1]
                    t -= 1
                x[t], of[t] = value, user
        else:
            order = np.argsort(x, kind="mergesort")
            x[:] = x[order]
            of[:] = of[order]


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
        users[begin:inside].sort()
        users[beyond:end].sort()
