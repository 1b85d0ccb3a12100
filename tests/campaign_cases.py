"""Campaigns for tests: one of each sort, what people answer in it, and their reports as they are kept."""

from __future__ import annotations

import json
from typing import Any

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked, Batch, Plans, Result
from crowdveil.randomness import seeded

SENSING = {"kind": "sensing", "objects": ["a", "b", "c"], "range": [0, 10]}
OWN_RANGES = {
    "kind": "sensing",
    "objects": [{"name": "heat", "range": [-40, 60], "unit": "°C"}, {"name": "ph", "range": [0, 14]}],
}
SPARSE = {"kind": "sparse", "objects": ["a", "b", "c", "d", "e"], "range": [1, 5]}
SCHEMA = {
    "columns": {
        "job": {"values": ["cook", "nurse", "smith"]},
        "town": {"values": ["x", "y"], "missing": True},
        "age": {"edges": [0, 30, 60, 120]},
    }
}
RECORDS = {"kind": "records", "schema": SCHEMA, "people": 40}

REQUESTS: dict[str, dict[str, Any]] = {
    "sensing": SENSING,
    "sensing gaussian": {**SENSING, "mechanism": "gaussian-exponential"},
    "sensing person": {**SENSING, "unit": "person"},
    "sensing own ranges": OWN_RANGES,
    "sensing waves": {**SENSING, "waves": 3, "admission": "invited", "about": "opinions"},
    "sparse": SPARSE,
    "sparse three symbols": {**SPARSE, "mechanism": "three-symbols"},
    "slots": {**SPARSE, "unit": "person"},
    "records": RECORDS,
    "records person": {**RECORDS, "unit": "person", "waves": 2},
    "samprivsyn": {**RECORDS, "mechanism": "samprivsyn"},
    "calm": {**RECORDS, "mechanism": "calm"},
    "independent": {**RECORDS, "mechanism": "independent"},
}


def asked(name: str = "sensing", **more: Any) -> Campaign:
    """The campaign of that name."""
    return Campaign.asked({"title": "Title", "epsilon": 1.0, **REQUESTS[name], **more})


def document(campaign: Campaign) -> dict[str, Any]:
    """Its public document, as a device gets it."""
    plain: dict[str, Any] = json.loads(json.dumps(campaign.to_dict(), allow_nan=False))
    return plain


def answer(campaign: Campaign, person: int) -> dict[str, Any]:
    """What a person says."""
    kind = campaign.kind
    if kind.name == "records":
        return {
            "job": ["cook", "nurse", "smith"][person % 3],
            "town": [None, "x", "y"][person % 2],
            "age": 13 * person % 130,
        }
    names = [each["name"] for each in kind.to_dict()["objects"]]
    return {name: 1 + (person + at) % 5 for at, name in enumerate(names) if (person + at) % 3}


def wire(
    campaign: Campaign, where: Asked, plans: Plans | None = None, *, wave: int = 1, seed: int = 0
) -> Any:
    """What the device in a place sends, as JSON brings it to the server."""
    question = campaign.kind.question(wave, where, plans or {})
    rng = seeded(seed).part(f"{wave} {where.place}")
    sent = campaign.kind.report_one(answer(campaign, where.place), where, question, rng=rng)
    return json.loads(json.dumps(sent))


def kept(campaign: Campaign, wheres: list[Asked], plans: Plans | None = None, *, wave: int = 1) -> Batch:
    """The reports of these places, as they are kept."""
    return Batch.of(
        [
            (
                where.place,
                where.round,
                campaign.kind.receive(wire(campaign, where, plans, wave=wave), wave, where, plans or {}),
            )
            for where in wheres
        ]
    )


def summary(result: Result) -> str:
    """All that a result says, to the last bit; synthetic records are drawn anew each time."""
    tables = {name: frame.to_dicts() for name, frame in result.tables.items() if name != "records"}
    return json.dumps([result.summary, tables])
