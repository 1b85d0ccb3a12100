"""Simulated crowds for truth discovery: many users and a few claims about each object, grouped by object.

Unlike in claims.py, an object's users are spread over the whole crowd, as in sparse data, so reading their
weights is random access to memory. Claims are simulated in blocks of objects, so that a hundred million of
them need little more memory than the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.stopwatch import Arrays

CLAIMS_PER_USER = 100
OBJECTS_AT_ONCE = 100_000
LIARS = 0.1


def numbers(objects: int, per_object: int) -> dict[str, np.ndarray]:
    """Offsets, users' codes and values; values are truths plus noise with a standard deviation of the user.

    Values ascend within an object. The claims of one user in ten are uniform in the range.
    """
    rng = np.random.default_rng(1)
    crowd = _crowd(objects, per_object)
    spread = rng.uniform(0.3, 1.5, crowd)
    liar = rng.random(crowd) < LIARS
    claimed = np.empty(objects * per_object, dtype=np.int32), np.empty(objects * per_object)
    for block in _blocks(objects):
        count = block.stop - block.start
        users = _users(rng, count, per_object, crowd)
        truths = rng.uniform(0.0, 10.0, (count, 1))
        honest = truths + spread[users] * rng.standard_normal(users.shape)
        values = np.where(liar[users], rng.uniform(0.0, 10.0, users.shape), honest)
        _put(claimed, block, per_object, users, values)
    return _laid_out(objects, per_object, crowd, *claimed)


def labels(objects: int, per_object: int, choices: int) -> dict[str, np.ndarray]:
    """Offsets, users' codes, labels 0, 1, ... and the right labels; users have different error rates."""
    rng = np.random.default_rng(2)
    crowd = _crowd(objects, per_object)
    skill = rng.uniform(0.4, 0.95, crowd)
    claimed = np.empty(objects * per_object, dtype=np.int32), np.empty(objects * per_object)
    right = rng.integers(choices, size=objects)
    for block in _blocks(objects):
        users = _users(rng, block.stop - block.start, per_object, crowd)
        wrong = (right[block, None] + rng.integers(1, choices, users.shape)) % choices
        picked = np.where(rng.random(users.shape) < skill[users], right[block, None], wrong)
        _put(claimed, block, per_object, users, picked)
    arrays = _laid_out(objects, per_object, crowd, *claimed)
    return {**arrays, "choices": np.array(choices), "right": right}


def owners(arrays: Arrays) -> NDArray[np.int64]:
    """The object of each claim."""
    offsets = arrays["offsets"]
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def _crowd(objects: int, per_object: int) -> int:
    return max(per_object, objects * per_object // CLAIMS_PER_USER)


def _blocks(objects: int) -> Iterator[slice]:
    for first in range(0, objects, OBJECTS_AT_ONCE):
        yield slice(first, min(first + OBJECTS_AT_ONCE, objects))


def _users(rng: np.random.Generator, objects: int, per_object: int, crowd: int) -> NDArray[np.int64]:
    """One user from each of `per_object` equal parts of the crowd: distinct and equally likely."""
    ends = np.arange(per_object + 1) * crowd // per_object
    return rng.integers(ends[:-1], ends[1:], (objects, per_object))


def _put(
    claimed: tuple[NDArray[np.int32], NDArray[np.float64]],
    block: slice,
    per_object: int,
    users: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Store a block's claims, ordered by value and then by user within an object."""
    order = np.argsort(values, axis=1, kind="stable")
    place = slice(block.start * per_object, block.stop * per_object)
    claimed[0][place] = np.take_along_axis(users, order, axis=1).ravel()
    claimed[1][place] = np.take_along_axis(values, order, axis=1).ravel()


def _laid_out(
    objects: int, per_object: int, crowd: int, users: NDArray[np.int32], values: NDArray[np.float64]
) -> dict[str, np.ndarray]:
    return {
        "offsets": np.arange(0, objects * per_object + 1, per_object, dtype=np.int64),
        "users": users,
        "values": values,
        "user_count": np.array(crowd),
    }
