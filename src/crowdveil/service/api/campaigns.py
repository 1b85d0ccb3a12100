"""Campaigns: create, see, open, pause, close, share, invite, delete."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from crowdveil.errors import ParameterError
from crowdveil.service.auth import Owned, Service, SignedIn, Viewed
from crowdveil.service.models import (
    CampaignIn,
    CampaignOut,
    CampaignPatch,
    CampaignsOut,
    InvitationsIn,
    InvitationsOut,
    JournalOut,
    LedgerOut,
    ListedOut,
    RoleIn,
    RolesOut,
)
from crowdveil.service.openapi import problems
from crowdveil.service.problems import Refused
from crowdveil.service.store import campaigns, operators, times
from crowdveil.service.store.campaigns import Kept

SEEDS = 2**32
PRIVATE, VIEWERS = problems(401), problems(401, 404)
OWNERS, WRITERS = problems(401, 403, 404), problems(400, 401, 403, 404, 409, 415)

router = APIRouter(prefix="/api/v1/campaigns", tags=["campaigns"])


def shown(campaign: Kept) -> CampaignOut:
    """A campaign with the addresses of what can be asked about it."""
    own = f"/api/v1/campaigns/{campaign.id}"
    links = {
        "self": own,
        "page": f"/c/{campaign.id}",
        **{name: f"{own}/{name}" for name in ("places", "reports", "results", "invitations", "ledger")},
    }
    return CampaignOut(**campaign.to_dict(), links=links)


@router.post("", status_code=201, summary="Create a campaign", responses=problems(400, 401, 415))
def create(body: CampaignIn, service: Service, operator: SignedIn) -> CampaignOut:
    """A draft; what it promises is frozen, and nobody can answer before it is opened."""
    import secrets

    request = body.model_dump(by_alias=True, exclude_none=True)
    if body.kind == "records":  # a public seed decides who is asked what
        request["options"] = {"seed": secrets.randbelow(SEEDS), **(body.options or {})}
    campaign = campaigns.asked(request)
    retention = retention_of(body)
    if body.round_hours is not None and body.kind != "records":
        raise ParameterError("round_hours goes with records campaigns")
    with service.database.writing() as connection:
        kept = campaigns.create(
            connection, operator, campaign, retention=retention, round_hours=body.round_hours
        )
        operators.note(connection, operator.name, "create", kept.id)
    return shown(kept)


def retention_of(body: CampaignIn) -> str | None:
    """When everything is to be deleted; a time that is to come."""
    retention = None if body.retention is None else times.time_of(body.retention, "retention")
    if retention is not None and retention <= times.now():
        raise ParameterError("retention lies in the past: everything would be deleted at once")
    return retention


@router.get("", summary="List your campaigns", responses=PRIVATE)
def listed(service: Service, operator: SignedIn) -> CampaignsOut:
    """The newest first."""
    with service.database.reading() as connection:
        mine = campaigns.of_operator(connection, operator)
    return CampaignsOut(campaigns=[_listed(kept, role) for kept, role in mine])


def _listed(kept: Kept, role: Any) -> ListedOut:
    document = kept.to_dict()
    return ListedOut(
        **{name: document[name] for name in ("id", "title", "kind", "state", "wave", "created")}, role=role
    )


@router.get("/{id}", summary="See a campaign", responses=problems(404))
def see(id: str, service: Service) -> CampaignOut:
    """Public: all that a device needs to perturb an answer, and to refuse."""
    with service.database.reading() as connection:
        return shown(campaigns.find(connection, id))


@router.patch("/{id}", summary="Open, pause, close or publish a campaign", responses=WRITERS)
def change(body: CampaignPatch, service: Service, operator: SignedIn, campaign: Owned) -> CampaignOut:
    """draft -> open <-> paused -> closed; a campaign that is closed stays closed."""
    asked = body.model_dump(exclude_unset=True)
    given = {name: value for name, value in asked.items() if value is not None or name == "retention"}
    if not given:
        raise ParameterError("nothing is to be changed: give a state, wave, retention or published")
    with service.database.writing() as connection:
        if body.state is not None:
            campaigns.move(connection, campaign, body.state)
        if body.wave is not None:
            campaigns.next_wave(connection, campaign, body.wave)
        if "retention" in given:
            until = None if body.retention is None else times.time_of(body.retention, "retention")
            if until is not None and until <= times.now():
                raise ParameterError("retention lies in the past: delete the campaign instead")
            campaigns.change(connection, campaign, retention=until)
        if body.published is not None:
            campaigns.change(connection, campaign, published=body.published)
        operators.note(connection, operator.name, "change", campaign.id, _said(given))
        return shown(campaigns.find(connection, campaign.id))


def _said(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in given.items())


@router.delete("/{id}", status_code=204, summary="Delete a campaign with everything in it", responses=OWNERS)
def delete(service: Service, operator: SignedIn, campaign: Owned) -> Response:
    """Reports, results, invitations and the campaign; the journal keeps that it was there."""
    with service.database.writing() as connection:
        campaigns.remove(connection, campaign)
        operators.note(connection, operator.name, "delete", campaign.id)
    service.forget(campaign.id)
    service.database.erase_freed()
    return Response(status_code=204)


@router.post("/{id}/invitations", status_code=201, summary="Invite people", responses=WRITERS)
def invite(body: InvitationsIn, service: Service, operator: SignedIn, campaign: Owned) -> InvitationsOut:
    """Tokens for so many people, shown this once."""
    if campaign.campaign.admission != "invited":
        raise Refused(409, "admission", "this campaign is open: whoever has its link can take part")
    if campaign.state == "closed":
        raise Refused(409, "closed", "this campaign is closed")
    with service.database.writing() as connection:
        tokens = campaigns.invite(connection, campaign, body.count)
        operators.note(connection, operator.name, "invite", campaign.id, f"{body.count} people")
    return InvitationsOut(tokens=tokens)


@router.get("/{id}/roles", summary="Who may do what", responses=VIEWERS)
def roles(service: Service, campaign: Viewed) -> RolesOut:
    """Owners and viewers."""
    with service.database.reading() as connection:
        return RolesOut(roles=campaigns.shared_with(connection, campaign))


@router.put("/{id}/roles/{name}", summary="Share a campaign", responses=WRITERS)
def share(name: str, body: RoleIn, service: Service, operator: SignedIn, campaign: Owned) -> RolesOut:
    """Make an operator an owner or a viewer, or take the role away."""
    with service.database.writing() as connection:
        try:
            other = operators.named(connection, name)
        except ParameterError:
            raise Refused(404, "unknown-operator", "there is no such operator") from None
        campaigns.share(connection, campaign, other, None if body.role == "none" else body.role)
        operators.note(connection, operator.name, "share", campaign.id, f"{name}: {body.role}")
        return RolesOut(roles=campaigns.shared_with(connection, campaign))


@router.get("/{id}/ledger", summary="What taking part costs", responses=VIEWERS)
def ledger(service: Service, campaign: Viewed) -> LedgerOut:
    """A charge for each wave, recorded before anybody could report in it."""
    with service.database.reading() as connection:
        charged = campaigns.ledger(connection, campaign)
    levels = campaign.campaign.guarantee["all_waves"]
    return LedgerOut(campaign=campaign.id, entries=charged, all_waves=levels)


@router.get("/{id}/journal", summary="What operators did", responses=OWNERS)
def journal(service: Service, campaign: Owned) -> JournalOut:
    """In the order of time."""
    with service.database.reading() as connection:
        return JournalOut(entries=campaigns.entries(connection, campaign))
