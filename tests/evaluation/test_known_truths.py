"""Inferred truths against known ones."""

from __future__ import annotations

import polars as pl
import pytest

from crowdveil.errors import ParameterError
from crowdveil.evaluation.known_truths import accuracy_of_labels, errors_of_numbers


def test_errors_and_coverage_are_over_objects_in_both() -> None:
    inferred = pl.DataFrame(
        {
            "object": [1, 2, 3, 4],
            "estimate": [1.0, 2.0, 3.0, 9.0],
            "lower": [0.5, 1.9, None, 9.0],
            "upper": [1.5, 2.1, None, 9.0],
            "error": [0.3, 0.1, None, 0.0],
        }
    )
    known = pl.DataFrame({"object": ["1", "2", "3", "5"], "value": [1.0, 5.0, 7.0, 0.0]})
    figures = errors_of_numbers(inferred, known, source="known.csv")
    # Distances 0, 3 and 4; an interval without ends covers everything.
    expected = {"compared": 3, "mae": 7 / 3, "rmse": (25 / 3) ** 0.5, "covered": 2 / 3}
    assert figures == pytest.approx(expected)
    without = inferred.with_columns(pl.lit(None, dtype=pl.Float64).alias("error"))
    assert "covered" not in errors_of_numbers(without, known, source="known.csv")


def test_labels_are_compared_as_text() -> None:
    inferred = pl.DataFrame({"object": ["a", "b", "c"], "estimate": [1, 2, 3]})
    known = pl.DataFrame({"object": ["a", "b"], "value": ["1", "1"]})
    assert accuracy_of_labels(inferred, known, source="k.csv") == {"compared": 2, "accuracy": 0.5}
    with pytest.raises(ParameterError, match=r"k\.csv: no object is in both files"):
        accuracy_of_labels(inferred, known.with_columns(object=pl.lit("z")), source="k.csv")
