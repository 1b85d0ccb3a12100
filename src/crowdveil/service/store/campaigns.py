"""Campaigns in the database: their states, waves, roles, invitations and ledger."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from crowdveil.service.problems import Refused
from crowdveil.service.store import times
from crowdveil.service.store.operators import Operator
from crowdveil.service.store.reports import Opened, digest, lock_waves
from crowdveil.service.store.schema import (
    campaigns,
    charges,
    invitations,
    journal,
    operators,
    plans,
    reports,
    result_files,
    results,
    roles,
    waves,
)

if TYPE_CHECKING:  # imported when it is needed: a server should start quickly
    from crowdveil.campaigns.campaign import Campaign

State = Literal["draft", "open", "paused", "closed"]
Role = Literal["owner", "viewer"]
MOVES: dict[str, tuple[str, ...]] = {
    "draft": ("open",),
    "open": ("paused", "closed"),
    "paused": ("open", "closed"),
    "closed": (),
}
MOST_INVITATIONS = 10**6
_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class Kept:
    """A campaign and its state."""

    number: int
    id: str
    document: str
    state: State
    wave: int
    created: str
    opened: str | None
    closed: str | None
    retention: str | None
    round_hours: float | None
    published: bool

    @property
    def campaign(self) -> Campaign:
        """What is asked, and how it is protected."""
        return built(self.document)

    @property
    def intake(self) -> Opened:
        """What intake needs to know."""
        campaign = self.campaign
        return Opened(self.number, self.id, campaign.kind, campaign.admission == "invited")

    def to_dict(self) -> dict[str, Any]:
        """The public document with the state."""
        return {
            "id": self.id,
            "state": self.state,
            "wave": self.wave,
            **json.loads(self.document),
            "created": self.created,
            "opened": self.opened,
            "closed": self.closed,
            "retention": self.retention,
            "published": self.published,
        }


@lru_cache(maxsize=256)
def built(document: str) -> Campaign:
    """The campaign of a document that was kept."""
    from crowdveil.campaigns.campaign import Campaign

    return Campaign.kept(json.loads(document))


def _kept(row: RowMapping) -> Kept:
    return Kept(**row)


def asked(request: Mapping[str, Any]) -> Campaign:
    """The campaign that an operator asks for; `ParameterError` if there cannot be one."""
    from crowdveil.campaigns.campaign import Campaign

    return Campaign.asked(request)


def create(
    connection: Connection,
    operator: Operator,
    campaign: Campaign,
    *,
    retention: str | None,
    round_hours: float | None,
) -> Kept:
    """A new campaign in the state draft, which its operator owns."""
    row = {
        "id": secrets.token_hex(16),
        "document": json.dumps(campaign.to_dict(), allow_nan=False),
        "state": "draft",
        "wave": 1,
        "created": times.now(),
        "opened": None,
        "closed": None,
        "retention": retention,
        "round_hours": round_hours,
        "published": False,
    }
    key = connection.execute(insert(campaigns).values(**row)).inserted_primary_key
    assert key is not None
    connection.execute(insert(roles).values(campaign=key[0], operator=operator.id, role="owner"))
    return Kept(number=key[0], **row)  # type: ignore[arg-type]


def find(connection: Connection, id: str) -> Kept:
    """The campaign of that id; `Refused` if there is none."""
    known = _ID.fullmatch(id) is not None  # PostgreSQL takes not every text
    query = select(campaigns).where(campaigns.c.id == id)
    row = connection.execute(query).mappings().first() if known else None
    if row is None:
        raise Refused(404, "unknown-campaign", "there is no such campaign")
    return _kept(row)


def found(connection: Connection, ids: Collection[str]) -> dict[str, Kept]:
    """Those campaigns of these ids that there are."""
    rows = connection.execute(select(campaigns).where(campaigns.c.id.in_(ids))).mappings()
    return {row["id"]: _kept(row) for row in rows}


def role_of(connection: Connection, campaign: Kept, operator: Operator) -> Role | None:
    """What an operator may do with a campaign."""
    where = (roles.c.campaign == campaign.number, roles.c.operator == operator.id)
    return connection.execute(select(roles.c.role).where(*where)).scalar_one_or_none()


def of_operator(connection: Connection, operator: Operator) -> list[tuple[Kept, Role]]:
    """All campaigns that an operator may see, the newest first."""
    rows = connection.execute(
        select(campaigns, roles.c.role)
        .join(roles, roles.c.campaign == campaigns.c.number)
        .where(roles.c.operator == operator.id)
        .order_by(campaigns.c.number.desc())
    ).mappings()
    return [(_kept({k: v for k, v in row.items() if k != "role"}), row["role"]) for row in rows]  # type: ignore[arg-type]


def move(connection: Connection, campaign: Kept, state: State) -> None:
    """Take a campaign to another state; with its first opening its cost is on record."""
    current = _locked(connection, campaign)
    if state == current["state"]:
        return
    if state not in MOVES[current["state"]]:
        raise Refused(409, "state", f"a campaign that is {current['state']} cannot become {state}")
    changes: dict[str, Any] = {"state": state}
    if current["state"] == "draft":
        changes["opened"] = times.now()
        open_wave(connection, campaign, 1)
    if state == "closed":
        changes["closed"] = times.now()
    connection.execute(update(campaigns).where(campaigns.c.number == campaign.number).values(**changes))


def next_wave(connection: Connection, campaign: Kept, wave: int) -> None:
    """Open the next wave; the one before takes late reports."""
    current = _locked(connection, campaign)
    if wave == current["wave"]:
        return
    if current["state"] not in ("open", "paused"):
        raise Refused(409, "state", f"a campaign that is {current['state']} opens no wave")
    if wave != current["wave"] + 1 or wave > campaign.campaign.waves:
        raise Refused(
            409,
            "wave",
            f"wave {current['wave']} of {campaign.campaign.waves} is open: only the next can follow",
        )
    open_wave(connection, campaign, wave)
    connection.execute(update(campaigns).where(campaigns.c.number == campaign.number).values(wave=wave))


def open_wave(connection: Connection, campaign: Kept, wave: int) -> None:
    """Record what a wave costs, before anybody can report in it."""
    from crowdveil.campaigns.statement import own_promise

    promise = own_promise(campaign.campaign.kind)
    assert promise is not None
    stated = json.dumps(promise.to_dict(), allow_nan=False)
    connection.execute(
        insert(charges).values(campaign=campaign.number, wave=wave, time=times.now(), promise=stated)
    )
    connection.execute(
        insert(waves).values(
            campaign=campaign.number,
            wave=wave,
            seats=0,
            received=0,
            withdrawn=0,
            round=0,
            round_opened=times.now(),
        )
    )
    planned = campaign.campaign.kind.first_round(wave)
    if planned is not None:
        write_plan(connection, campaign, wave, 0, planned)


def write_plan(
    connection: Connection, campaign: Kept, wave: int, number: int, planned: Sequence[float]
) -> None:
    """Fix what the places of a round are asked: later versions may plan in another way."""
    stated = json.dumps(planned, allow_nan=False)
    connection.execute(
        insert(plans).values(campaign=campaign.number, wave=wave, round=number, planned=stated)
    )


def _locked(connection: Connection, campaign: Kept) -> RowMapping:
    """The campaign's row as it is now; no report comes in until the transaction ends."""
    lock_waves(connection, campaign.number)
    row = (
        connection.execute(select(campaigns).where(campaigns.c.number == campaign.number).with_for_update())
        .mappings()
        .first()
    )
    if row is None:
        raise Refused(404, "unknown-campaign", "there is no such campaign")
    return row


def change(connection: Connection, campaign: Kept, **values: Any) -> None:
    """Set what is not frozen: when it is deleted, and whether its result is public."""
    connection.execute(update(campaigns).where(campaigns.c.number == campaign.number).values(**values))


def remove(connection: Connection, campaign: Kept) -> None:
    """Delete a campaign with everything in it."""
    _locked(connection, campaign)
    for table in (result_files, results, reports, invitations, plans, charges, waves, roles):
        connection.execute(delete(table).where(table.c.campaign == campaign.number))
    connection.execute(delete(campaigns).where(campaigns.c.number == campaign.number))


def remove_if_past(connection: Connection, id: str, now: str) -> bool:
    """Delete a campaign whose retention has come; not one whose retention was changed, or that is gone."""
    there = found(connection, [id])
    if not there:
        return False
    try:
        current = _locked(connection, there[id])
    except Refused:
        return False
    if current["retention"] is None or current["retention"] > now:
        return False
    remove(connection, there[id])
    return True


def invite(connection: Connection, campaign: Kept, count: int) -> list[str]:
    """New invitations, which are shown this once: only their digests are kept."""
    if invited(connection, campaign) + count > MOST_INVITATIONS:
        raise Refused(409, "full", f"a campaign has at most {MOST_INVITATIONS:,} invitations")
    new = [secrets.token_urlsafe(24) for _ in range(count)]
    now = times.now()
    connection.execute(
        insert(invitations),
        [
            {"campaign": campaign.number, "digest": digest(campaign.id, token), "created": now}
            for token in new
        ],
    )
    return new


def share(connection: Connection, campaign: Kept, operator: Operator, role: Role | None) -> None:
    """Give an operator a role, or take it; somebody must own a campaign."""
    _locked(connection, campaign)
    mine = (roles.c.campaign == campaign.number, roles.c.operator == operator.id)
    connection.execute(delete(roles).where(*mine))
    if role is not None:
        connection.execute(insert(roles).values(campaign=campaign.number, operator=operator.id, role=role))
    owners = (
        select(func.count())
        .select_from(roles)
        .where(roles.c.campaign == campaign.number, roles.c.role == "owner")
    )
    if not connection.execute(owners).scalar_one():
        raise Refused(409, "owner", "a campaign needs an owner")


def shared_with(connection: Connection, campaign: Kept) -> list[dict[str, str]]:
    """Who may do what."""
    rows = connection.execute(
        select(operators.c.name, roles.c.role)
        .join(roles, roles.c.operator == operators.c.id)
        .where(roles.c.campaign == campaign.number)
        .order_by(operators.c.name)
    )
    return [{"operator": row.name, "role": row.role} for row in rows]


def waves_of(connection: Connection, campaign: Kept) -> list[dict[str, int]]:
    """The waves that were opened, and how many reports are in each."""
    rows = connection.execute(select(waves).where(waves.c.campaign == campaign.number).order_by(waves.c.wave))
    return [
        {
            "wave": row.wave,
            "participants": row.seats,
            "reports": row.received - row.withdrawn,
            "withdrawn": row.withdrawn,
            "round": row.round,
        }
        for row in rows
    ]


def invited(connection: Connection, campaign: Kept) -> int:
    """How many invitations were made."""
    made = select(func.count()).select_from(invitations).where(invitations.c.campaign == campaign.number)
    return int(connection.execute(made).scalar_one())


def ledger(connection: Connection, campaign: Kept) -> list[dict[str, Any]]:
    """What each wave costs whoever reports in it, and how many did."""
    counted = {row["wave"]: row for row in waves_of(connection, campaign)}
    rows = connection.execute(
        select(charges).where(charges.c.campaign == campaign.number).order_by(charges.c.wave)
    )
    return [
        {
            "wave": row.wave,
            "time": row.time,
            "promise": json.loads(row.promise),
            "reports": counted[row.wave]["reports"],
            "withdrawn": counted[row.wave]["withdrawn"],
        }
        for row in rows
    ]


def entries(connection: Connection, campaign: Kept) -> list[dict[str, Any]]:
    """The journal of a campaign."""
    rows = connection.execute(select(journal).where(journal.c.campaign == campaign.id).order_by(journal.c.id))
    return [
        {"time": row.time, "operator": row.operator, "action": row.action, "detail": row.detail}
        for row in rows
    ]
