"""A release as one table, and the same table in parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crowdveil.errors import ParameterError
from crowdveil.guarantee import NoGuarantee
from crowdveil.public_range import Range
from crowdveil.releases.result import Release, Status


def release_of(counts: list[int]) -> Release:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Release(
        objects=pl.Series("object", [f"o{i}" for i in range(len(counts))]),
        offsets=offsets,
        values=np.arange(float(offsets[-1])),
        statuses=np.full(len(counts), Status.released, dtype=np.int8),
        method="test",
        parameters={},
        promise=NoGuarantee("a test."),
        seeded=False,
    )


@pytest.mark.parametrize("counts", [[3], [0], [5, 5, 5], [0, 0, 4, 0, 9, 1], [2] * 50, [100, 1, 1]])
@pytest.mark.parametrize("rows", [1, 4, 7, 1000])
def test_parts_are_whole_objects_and_add_up_to_the_table(counts: list[int], rows: int) -> None:
    release = release_of(counts)
    parts = list(release.parts(rows))
    assert_frame_equal(pl.concat(parts), release.to_frame())
    assert all(part.height <= max(rows, *counts) for part in parts)
    owners = [set(part["object"]) for part in parts]
    assert sum(map(len, owners)) == len(set().union(*owners))


def test_a_release_of_nothing_is_one_empty_part() -> None:
    (part,) = release_of([0, 0]).parts(10)
    assert part.height == 0
    assert part.columns == ["object", "value"]


@pytest.mark.parametrize("ends", [(0.0, 5e-324), (0, 1e-170), (1e15, 1e15 + 100), (10**400, 1), (0, 10**400)])
def test_ranges_that_numbers_are_too_coarse_for_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="range"):
        Range(*ends)


def test_ends_of_a_range_are_floats() -> None:
    assert isinstance(Range(0, 10).low, float)
