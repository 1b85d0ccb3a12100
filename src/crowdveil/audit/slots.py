"""Audits of slot response, whose epsilon covers all answers of a user: neighbouring inputs differ in a row.

Users answered nothing in one world, and about every object in the other. The attacker sees the integer that
a device sends. Devices are independent, so one call on many users with the same answers gives as many draws.
"""

from __future__ import annotations

from crowdveil.answers import Domain
from crowdveil.audit.case import Audit, Draws, Outputs, column, equal
from crowdveil.audit.cells import NULL, Row, rows, same_users, sent
from crowdveil.local.reports import report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.randomness import Randomness

FIVE = Domain(0, 4)
SLOTS = SlotResponse(1.0, FIVE, slots=2, listed=2, levels=2)
ONE_IN_TWO = SlotResponse(1.0, FIVE, levels=2, unnamed=2)
OBJECTS = 6
NOTHING: Row = (NULL,) * OBJECTS
HIGHEST: Row = (FIVE.high,) * OBJECTS


def unnamed(parameters: SlotResponse, *worlds: Row) -> Draws:
    """Draws of the reports of devices that name no object."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        crowd = same_users(worlds[world], parameters.domain, count * (parameters.unnamed or 1))
        reports: Outputs = report(crowd, parameters, rng=rng).read().unnamed
        return reports[:, None]

    return draws


SLOTS_AUDIT = Audit(
    name="slot-response",
    epsilon=SLOTS.promise("user", OBJECTS).epsilon,
    delta=0.0,
    unit="a user, local",
    whose="ours",
    worlds=f"no answer at all or the highest about all of {OBJECTS} objects, two lists of two",
    draws=sent(rows(SLOTS), FIVE, NOTHING, HIGHEST),
    events=equal(range(SLOTS.response.symbols), "symbol", column(0)),
)

UNNAMED_AUDIT = Audit(
    name="slot-response-unnamed",
    epsilon=ONE_IN_TWO.promise("user", OBJECTS).epsilon,
    delta=0.0,
    unit="a user, local",
    whose="ours",
    worlds=f"no answer at all or the highest about all of {OBJECTS} objects, of which none is named",
    draws=unnamed(ONE_IN_TWO, NOTHING, HIGHEST),
    events=equal(range(ONE_IN_TWO.unnamed_response.symbols), "symbol", column(0)),
)
