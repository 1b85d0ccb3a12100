"""Reports about every cell in files: those of devices that were given places, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.errors import InputError
from crowdveil.files import (
    read_cell_reports,
    read_claims_as_told,
    reserved_cell_reports,
    write_cell_reports,
)
from crowdveil.local.description import Description
from crowdveil.randomness import seeded

SLOTS = Description("slots", {"epsilon": 3.0, "range": [0, 4], "slots": 2, "listed": 2, "unnamed": 3})
OBJECTS = [f"object {k}" for k in range(7)]
PLACES = {"ann": 7, "ben": 2, "cy": 30, "di": 3}


def written(path: Path, places: dict[str, int] | None = PLACES) -> Any:
    mechanism = SLOTS.build()
    wires = {
        user: mechanism.report_one(
            {OBJECTS[1]: 3, OBJECTS[4]: 0}, OBJECTS, place=place, user=user, rng=seeded(1)
        )
        for user, place in (places or dict(zip(PLACES, range(4), strict=True))).items()
    }
    reports = mechanism.collected(wires, OBJECTS, places)
    with reserved_cell_reports(str(path), force=False) as reserved:
        write_cell_reports(reports, SLOTS, reserved)
    return reports


def test_places_that_devices_were_given_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    reports = written(path)
    again = read_cell_reports(str(path))
    assert again is not None
    assert again.places is not None
    assert again.places.tolist() == [7, 2, 30, 3]
    assert (again.rows == reports.rows).all()
    assert np.array_equal(again.read().lists, reports.read().lists)
    assert again.promise == reports.promise == SLOTS.build().promise("cell")


@pytest.mark.parametrize(
    "places", [[1, 1, 2, 3], [-1, 0, 1, 2], [0.5, 1.0, 2.0, 3.0], [None, 0, 1, 2]], ids=str
)
def test_places_that_no_device_was_given_are_refused(tmp_path: Path, places: list[Any]) -> None:
    path, bad = tmp_path / "reports.parquet", tmp_path / "bad.parquet"
    written(path)
    metadata = pl.read_parquet_metadata(path)
    frame = pl.read_parquet(path).with_columns(pl.Series("place", places))
    frame.write_parquet(bad, metadata={"crowdveil": metadata["crowdveil"]})
    with pytest.raises(InputError, match="place"):
        read_cell_reports(str(bad))


def test_reports_about_cells_are_not_taken_for_noisy_claims(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    written(path)
    with pytest.raises(InputError, match="holds reports about every cell, not claims"):
        read_claims_as_told(str(path))


@pytest.mark.parametrize("of_ann", ["missing", None, 1.0, -1, PLACES["ben"]])
def test_a_server_takes_only_places_that_it_can_have_given(of_ann: Any) -> None:
    mechanism, places = SLOTS.build(), {**PLACES, "ann": of_ann}
    if of_ann == "missing":
        del places["ann"]
    wires = {user: mechanism.report_one({}, OBJECTS, place=7, rng=seeded(1)) for user in PLACES}
    with pytest.raises(InputError, match="place"):
        mechanism.collected(wires, OBJECTS, places)
