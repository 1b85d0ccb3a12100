"""Sparse campaigns: answers about few of many objects, and whether there is one is hidden too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Ints
from crowdveil.campaigns.items import Items
from crowdveil.campaigns.kind import Asked, Batch, Gathered, Kind, Plans, Result, numbers_in
from crowdveil.campaigns.request import described, epsilon_of, unit_of
from crowdveil.campaigns.results import truths_result
from crowdveil.certificates.certificate import Certificate, of_reports
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.description import Description
from crowdveil.local.device_input import finite_numbers
from crowdveil.local.reports import CellMechanism, Reports
from crowdveil.local.wire import Wire
from crowdveil.operations.cell_truths import estimators
from crowdveil.public_range import Range
from crowdveil.randomness import Name, Randomness

MECHANISMS = ("cell-response", "slots")


@dataclass(frozen=True)
class Sparse(Kind):
    """Objects, and the mechanism by which a device reports about all of them."""

    items: Items
    description: Description
    unit: Literal["cell", "person"] = "cell"

    name: ClassVar[str] = "sparse"

    def __post_init__(self) -> None:
        if self.description.mechanism not in MECHANISMS:
            raise ParameterError("a sparse campaign takes auto, rr, three-symbols or slots")
        if (self.unit == "person") != (self.description.mechanism == "slots"):
            raise ParameterError("slots protects the unit person, the other mechanisms protect the unit cell")
        scale = Range(self.cell_mechanism.domain.low, self.cell_mechanism.domain.high)
        if any(own != scale for own in self.items.ranges([scale.low, scale.high]).values()):
            raise ParameterError("all objects of a sparse campaign are answered on one scale")
        self.cell_mechanism.row(len(self.items.listed))  # refuses too few objects
        _ = self.certificate()

    @classmethod
    def asked(cls, request: Mapping[str, Any]) -> Sparse:
        """Persons are protected by slots, cells by randomized response."""
        items = Items.from_list(request.get("objects"))
        ranges = set(items.ranges(request.get("range")).values())
        if len(ranges) > 1:
            raise ParameterError("all objects of a sparse campaign are answered on one scale")
        unit, mechanism = request.get("unit"), request.get("mechanism") or "auto"
        if mechanism == "slots" or (mechanism == "auto" and unit == "person"):
            request = {**request, "mechanism": "slots", "unit": unit or "person"}
        names = {name: name for name in ("auto", "rr", "three-symbols", "slots")}
        epsilon = epsilon_of(request)
        description = described(request, names, ranges.pop(), epsilon, objects=len(items.listed))
        return cls(items, description, unit_of(request, "cell", "person"))

    def to_dict(self) -> dict[str, Any]:
        """Objects, their scale, and the unit that is protected."""
        return {
            "objects": self.items.to_list(),
            "unit": self.unit,
            "range": list(self.description.parameters["range"]),
        }

    @classmethod
    def from_dict(cls, public: Mapping[str, Any]) -> Sparse:
        """From the public document of a campaign."""
        mechanism = public["mechanism"]
        return cls(
            Items.from_list(public["objects"]),
            Description(mechanism["name"], mechanism["parameters"]),
            unit_of(public, "cell", "person"),
        )

    @property
    def asks_by_place(self) -> bool:  # type: ignore[override]
        """Slots ask different people about different objects."""
        return self.description.mechanism == "slots"

    @cached_property
    def cell_mechanism(self) -> CellMechanism:
        """What devices do."""
        built: CellMechanism = self.description.build()
        return built

    def mechanism(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.description.mechanism, "parameters": dict(self.description.parameters)}

    def _certified(self) -> Certificate:
        """Of a cell, and of a person with all of them."""
        objects = len(self.items.listed)
        return Certificate(
            kind="reports",
            method=self.description.mechanism,
            parameters=self.description.parameters,
            public={"objects": objects, "declared": True},
            promise=self.cell_mechanism.promise("cell"),
            user_promise=self.cell_mechanism.promise("user", objects),
            seeded=False,
            synthetic=False,
            contents={"users": 0, "objects": self.items.names.to_list()},
        )

    # --- the device ----------------------------------------------------------------------------------------

    def report_one(
        self,
        answer: Mapping[str, Any],
        asked: Asked,
        question: Mapping[str, Any] | None = None,  # noqa: ARG002
        *,
        rng: Randomness | None = None,
    ) -> Wire:
        """A report about all objects, whatever there is an answer to."""
        if not answer.keys() <= self.items.codes.keys():
            raise InputError("there is an answer about an object that is not listed")
        numbers = finite_numbers(list(answer.values())).tolist()
        values: dict[Name, float] = dict(zip(answer, numbers, strict=True))
        return self.cell_mechanism.report_one(values, self.items.names, place=asked.place, rng=rng)

    # --- the server ----------------------------------------------------------------------------------------

    def receive(self, report: Any, wave: int, asked: Asked, plans: Plans) -> bytes:  # noqa: ARG002
        """The numbers of a row, as little-endian bytes."""
        row = self.cell_mechanism.unpacked(report, len(self.items.listed), asked.place)
        return row.astype(row.dtype.newbyteorder("<"), copy=False).tobytes()

    def gather(self, wave: int) -> Gathered:  # noqa: ARG002
        """No rows yet."""
        return _Gathered(self)


class _Gathered(Gathered):
    """The rows of all reports, and the places that they come from."""

    def __init__(self, kind: Sparse) -> None:
        self._kind = kind
        self._width, self._dtype = kind.cell_mechanism.row(len(kind.items.listed))
        self._rows: list[NDArray[Any]] = []
        self._places: list[Ints] = []

    def add(self, batch: Batch, plans: Plans) -> None:  # noqa: ARG002
        """Take in more reports."""
        numbers = numbers_in(batch.payloads, np.dtype(self._dtype).newbyteorder("<"))
        self._rows.append(numbers.astype(self._dtype, copy=False).reshape(-1, self._width))
        self._places.append(batch.places)

    def result(self) -> Result:
        """Truths by the mechanism's own estimator."""
        truths, _ = estimators(self._reports().read(), None).infer(None, None)
        return truths_result(truths)

    def exported(self) -> tuple[pl.DataFrame, Certificate]:
        """Reports as `perturb` writes them; users are places."""
        reports = self._reports()
        rows = reports.rows.astype(reports.rows.dtype.newbyteorder("<"), copy=False)
        payloads = pl.Series([row.tobytes() for row in rows], dtype=pl.Binary)
        frame = pl.DataFrame({"user": reports.users, "report": payloads, "place": reports.places})
        return frame, of_reports(reports, self._kind.description)

    def _reports(self) -> Reports:
        """All rows by place."""
        rows, places = np.concatenate(self._rows), np.concatenate(self._places)
        order = np.argsort(places, kind="stable")
        self._rows, self._places = [rows[order]], [places[order]]
        users = pl.Series("user", self._places[0])
        return Reports(
            *(self._kind.items.names, users, self._kind.cell_mechanism, self._rows[0]),
            seeded=False,
            declared=True,
            places=self._places[0],
        )
