"""Reports as a server keeps them: shape and type of a row are known beforehand, and bytes give it back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from device_cases import FOR_CELLS, FOR_CLAIMS, OBJECTS, said

from crowdveil.errors import InputError
from crowdveil.local.bloom import Bloom
from crowdveil.local.description import Description
from crowdveil.local.device_input import public_objects
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import Oracle
from crowdveil.local.oue import OUE
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import seeded

ORACLES: list[Oracle] = [KRR(1.0, 9), KRR(1.0, 70_000), OUE(1.0, 9), OUE(1.0, 16), OLH(1.0, 9), Bloom(1.0, 9)]
ORACLES += [SplitKRR.of(1.0, (3, 4))]
SENT = {name: case for name, case in FOR_CELLS.items() if case.mechanism != "mf"}  # which has no wire form


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_the_row_of_an_oracle_has_the_shape_and_type_that_it_says(oracle: Oracle) -> None:
    shape, kind = oracle.row
    drawn = oracle.perturb(np.arange(9), rng=seeded(1))
    assert drawn.shape == (9, *shape)
    assert drawn.dtype == kind
    for row in drawn:
        received = oracle.from_wire(json.loads(json.dumps(oracle.to_wire(row))))
        assert received.shape == shape
        assert received.dtype == kind
        kept = received.astype(received.dtype.newbyteorder("<")).tobytes()
        again = np.frombuffer(kept, dtype=np.dtype(kind).newbyteorder("<")).reshape(shape)
        assert (again == row).all()


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_rows_that_were_kept_are_counted_as_they_were_drawn(oracle: Oracle) -> None:
    shape, kind = oracle.row
    drawn = oracle.perturb(np.arange(9).repeat(5), rng=seeded(2))
    kept = b"".join(row.astype(row.dtype.newbyteorder("<")).tobytes() for row in drawn)
    again = np.frombuffer(kept, dtype=np.dtype(kind).newbyteorder("<")).astype(kind).reshape(-1, *shape)
    assert (oracle.support(again) == oracle.support(drawn)).all()


@pytest.mark.parametrize("case", SENT.values(), ids=SENT)
def test_an_unpacked_row_is_the_one_that_comes_from_the_wire(case: Description) -> None:
    mechanism = case.build()
    for place in range(6):
        wire = json.loads(
            json.dumps(
                mechanism.report_one(said(place, nothing=True), OBJECTS, place=place, rng=seeded(place))
            )
        )
        row = mechanism.unpacked(wire, len(OBJECTS), place)
        assert (row == mechanism.from_wire(wire, OBJECTS, place=place)).all()
        assert (row.size, row.dtype) == mechanism.row(len(OBJECTS))
        with pytest.raises(InputError):
            mechanism.unpacked({**wire, "payload": [*wire["payload"], 0]}, len(OBJECTS), place)
        with pytest.raises(InputError):
            mechanism.unpacked({**wire, "payload": [10**9 for _ in wire["payload"]]}, len(OBJECTS), place)


@pytest.mark.parametrize("case", FOR_CLAIMS.values(), ids=FOR_CLAIMS)
def test_unpacked_claims_are_those_that_come_from_the_wire(case: Description) -> None:
    mechanism = case.build()
    known = public_objects(OBJECTS).to_list()
    wire: Any = json.loads(json.dumps(mechanism.report_one(said(1, nothing=False), OBJECTS, rng=seeded(1))))
    codes = {name: code for code, name in enumerate(known)}
    together = mechanism.unpacked([wire, wire], codes)
    sent = mechanism.from_wire(wire, OBJECTS)
    assert together.lengths == [len(sent), len(sent)]
    assert together.objects == [codes[name] for name in sent] * 2
    assert together.steps == [*sent.values()] * 2
    for others in ([], known[:1], [name + "x" for name in known]):
        with pytest.raises(InputError):
            mechanism.unpacked([wire], {name: code for code, name in enumerate(others)})


@pytest.mark.parametrize("case", FOR_CLAIMS.values(), ids=FOR_CLAIMS)
def test_claims_of_a_report_may_come_in_any_order_and_no_object_twice(case: Description) -> None:
    mechanism = case.build()
    first, second = public_objects(OBJECTS).to_list()[:2]
    codes = {first: 0, second: 1}

    def report(*pairs: tuple[str, int]) -> Any:
        return {"v": 1, "mechanism": mechanism.name, "payload": [list(pair) for pair in pairs]}

    swapped = report((second, 5), (first, 6))
    assert mechanism.unpacked([swapped, report((second, 7))], codes).steps == [5, 6, 7]
    for twice in (report((first, 5), (first, 6)), report((second, 5), (first, 5), (second, 5))):
        for reports in ([twice], [swapped, twice], [twice, swapped]):
            with pytest.raises(InputError):
                mechanism.unpacked(reports, codes)
