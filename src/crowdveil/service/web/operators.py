"""Pages of operators: their campaigns, and for each of them an overview, results, people, and a record."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from crowdveil.report.language import speaking
from crowdveil.service.api.results import current
from crowdveil.service.auth import Service
from crowdveil.service.state import State
from crowdveil.service.store import campaigns
from crowdveil.service.store.campaigns import MOVES, Kept
from crowdveil.service.web.guesses import guesses, own_level
from crowdveil.service.web.page import page, texts_of
from crowdveil.service.web.session import Seated, Session, ViewedHere
from crowdveil.service.web.understood import understood

MOST_LINES = 200  # of what a campaign asks

Wave = Annotated[int | None, Query(ge=1, le=1000)]

router = APIRouter(include_in_schema=False)


@router.get("/")
def listed(request: Request, service: Service, session: Seated) -> Response:
    """The operator's campaigns, the newest first."""
    with service.database.reading() as connection:
        mine = campaigns.of_operator(connection, session.operator)
        rows = [
            {
                **kept.to_dict(),
                "reports": sum(wave["reports"] for wave in campaigns.waves_of(connection, kept)),
                "spent": own_level(kept.to_dict()["guarantee"]),
            }
            for kept, _ in mine
        ]
    return page(request, "campaigns.html", session=session, campaigns=rows)


def campaign_values(request: Request, service: State, session: Session, campaign: Kept) -> dict[str, Any]:
    """What all pages of a campaign show: its document, its link, and what the operator may do."""
    with service.database.reading() as connection:
        role = campaigns.role_of(connection, campaign, session.operator)
        waves = campaigns.waves_of(connection, campaign)
    return {
        "session": session,
        "campaign": campaign.to_dict(),
        "owner": role == "owner",
        "link": f"{str(request.base_url).rstrip('/')}/c/{campaign.id}",
        "moves": MOVES[campaign.state],
        "waves": waves,
    }


@router.get("/campaigns/{id}")
def overview(request: Request, service: Service, session: Seated, campaign: ViewedHere) -> Response:
    """The state, the link, how many have answered, what is promised, and what can be done."""
    values = campaign_values(request, service, session, campaign)
    return page(
        request,
        "overview.html",
        **values,
        tab="overview",
        code=qr_code(values["link"]),
        result=current(service, campaign, None),
        guesses=guesses(values["campaign"]["guarantee"]),
        understood=understood(values["campaign"], texts_of(request), MOST_LINES),
    )


@router.get("/campaigns/{id}/progress")
def progress(request: Request, service: Service, session: Seated, campaign: ViewedHere) -> Response:
    """The part of the overview that changes while people answer."""
    values = campaign_values(request, service, session, campaign)
    return page(request, "progress.html", **values, result=current(service, campaign, None))


@router.get("/campaigns/{id}/results")
def result(
    request: Request, service: Service, session: Seated, campaign: ViewedHere, wave: Wave = None
) -> Response:
    """Estimates with intervals and weights, or tables and a synthetic table; files to take away."""
    values = campaign_values(request, service, session, campaign)
    return page(request, "results.html", **values, tab="results", **_shown(request, service, campaign, wave))


@router.get("/campaigns/{id}/findings")
def findings(
    request: Request, service: Service, session: Seated, campaign: ViewedHere, wave: Wave = None
) -> Response:
    """The part of the results that changes while people answer."""
    values = campaign_values(request, service, session, campaign)
    return page(request, "findings.html", **values, **_shown(request, service, campaign, wave))


@router.get("/campaigns/{id}/people")
def people(request: Request, service: Service, session: Seated, campaign: ViewedHere) -> Response:
    """Invitations, and with whom the campaign is shared."""
    values = campaign_values(request, service, session, campaign)
    with service.database.reading() as connection:
        shared = campaigns.shared_with(connection, campaign)
        invited = campaigns.invited(connection, campaign)
    return page(request, "people.html", **values, tab="people", shared=shared, invited=invited)


@router.get("/campaigns/{id}/record")
def record(request: Request, service: Service, session: Seated, campaign: ViewedHere) -> Response:
    """What taking part costs, wave by wave, and for owners what operators did."""
    values = campaign_values(request, service, session, campaign)
    with service.database.reading() as connection:
        ledger = campaigns.ledger(connection, campaign)
        journal = campaigns.entries(connection, campaign) if values["owner"] else []
    return page(request, "record.html", **values, tab="record", ledger=ledger, journal=journal)


def _shown(request: Request, service: State, campaign: Kept, wave: int | None) -> dict[str, Any]:
    """Pictures are imported when they are needed: a server should start quickly."""
    from crowdveil.service.web.findings import shown

    with speaking(texts_of(request).spoken):
        return shown(service, campaign, wave)


def qr_code(link: str) -> str:
    """The link for the camera of a phone: black on white, also on dark pages."""
    import segno

    code = segno.make(link, error="m")
    return str(code.svg_inline(scale=5, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None))
