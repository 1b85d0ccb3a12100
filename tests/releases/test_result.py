"""A release, and what belongs to some of its objects."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdveil.engines import LocalEngine
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
def test_some_objects_have_the_values_that_each_has_alone(counts: list[int]) -> None:
    release = release_of(counts)
    every = range(0, len(counts), 2)
    some = release.some(every, LocalEngine())
    assert [values.tolist() for values in some] == [release.of(i).tolist() for i in every]
    assert release.some([], LocalEngine()) == []


@pytest.mark.parametrize("ends", [(0.0, 5e-324), (0, 1e-170), (1e15, 1e15 + 100), (10**400, 1), (0, 10**400)])
def test_ranges_that_numbers_are_too_coarse_for_are_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="range"):
        Range(*ends)


def test_ends_of_a_range_are_floats() -> None:
    assert isinstance(Range(0, 10).low, float)
