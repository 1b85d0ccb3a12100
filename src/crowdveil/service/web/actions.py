"""What operators do on their pages: each form is one request of the API, made for whoever signed in.

After a form that changed something the browser is led to a page, so that loading it again changes nothing.
Invitations are the exception: they are shown in the answer itself, as they can be had only once.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError

from crowdveil.service.api import campaigns as api
from crowdveil.service.api import results as files
from crowdveil.service.auth import Service
from crowdveil.service.models import CampaignPatch, InvitationsIn, RoleIn
from crowdveil.service.problems import Refused
from crowdveil.service.web.operators import Wave, campaign_values
from crowdveil.service.web.page import page
from crowdveil.service.web.session import Fields, OwnedHere, Posted, Seated, ViewedHere

Model = TypeVar("Model", bound=BaseModel)

router = APIRouter(include_in_schema=False)


def model_of(model: type[Model], **values: Any) -> Model:
    """The body of a request of the API, from the fields of a form."""
    try:
        return model(**values)
    except ValidationError as error:
        first = max(error.errors(include_input=False), key=lambda each: len(each["loc"]))
        raise Refused(422, "invalid", f"{_place(first['loc'])}: {first['msg'].lower()}") from None


def _place(place: tuple[int | str, ...]) -> str:
    """Where in a form something is wrong: a field, or a line of the list and a part of it."""
    if place[:1] == ("objects",) and len(place) > 1:
        part = place[-1] if len(place) > 2 and place[-1] != "str" else "name"
        return f"line {int(place[1]) + 1} of the list, {part}"
    return str(place[0]) if place else "this form"


def whole(fields: Fields, name: str) -> int:
    """A whole number in a field."""
    text = fields.get(name, "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Refused(422, "invalid", f"{name} is a whole number")
    return int(text)


def _back(id: str, tab: str = "") -> Response:
    return RedirectResponse(f"/campaigns/{id}{tab}", 303)


@router.post("/campaigns/{id}/change")
def change(service: Service, session: Seated, campaign: OwnedHere, fields: Posted) -> Response:
    """Open, pause, close; the next wave; publish or not; when everything is deleted."""
    values: dict[str, Any] = {}
    if fields.get("state"):
        values["state"] = fields["state"]
    if "wave" in fields:
        values["wave"] = whole(fields, "wave")
    if "published" in fields:
        if fields["published"] not in ("yes", "no"):
            raise Refused(422, "invalid", "published is yes or no")
        values["published"] = fields["published"] == "yes"
    if "retention" in fields:
        day = fields["retention"].strip()
        if day != (campaign.to_dict()["retention"] or "")[:10]:  # a time of that day stays
            values["retention"] = day or None
    if values:
        api.change(model_of(CampaignPatch, **values), service, session.operator, campaign)
    return _back(campaign.id)


@router.post("/campaigns/{id}/invite")
def invite(
    request: Request, service: Service, session: Seated, campaign: OwnedHere, fields: Posted
) -> Response:
    """Links for so many people, shown this once."""
    body = model_of(InvitationsIn, count=whole(fields, "count"))
    tokens = api.invite(body, service, session.operator, campaign).tokens
    values = campaign_values(request, service, session, campaign)
    links = [f"{values['link']}#i={token}" for token in tokens]
    return page(request, "invited.html", **values, tab="people", links=links)


@router.post("/campaigns/{id}/share")
def share(service: Service, session: Seated, campaign: OwnedHere, fields: Posted) -> Response:
    """Make another operator an owner or a viewer, or take the role away."""
    body = model_of(RoleIn, role=fields.get("role", ""))
    name = fields.get("name", "").strip()
    api.share(name, body, service, session.operator, campaign)
    if name == session.operator.name and body.role == "none":
        return RedirectResponse("/", 303)
    return _back(campaign.id, "/people")


@router.post("/campaigns/{id}/delete")
def delete(service: Service, session: Seated, campaign: OwnedHere, fields: Posted) -> Response:
    """Delete a campaign with everything in it, if the operator said that she is sure."""
    if fields.get("sure") != "yes":
        raise Refused(422, "invalid", "nothing was deleted: tick the box if you are sure")
    api.delete(service, session.operator, campaign)
    return RedirectResponse("/", 303)


@router.get("/campaigns/{id}/files/{name}.{ending}")
def download(
    name: str, ending: str, service: Service, session: Seated, campaign: ViewedHere, wave: Wave = None
) -> Response:
    """A file to take away: the same as those of the API."""
    tables = {"results": files.results_table, "weights": files.weights, "records": files.records}
    whole_files = {("reports", "parquet"): files.reports, ("bundle", "zip"): files.bundle}
    if name in tables and ending in get_args(files.Ending):
        return tables[name](cast(files.Ending, ending), service, campaign, wave)
    if (name, ending) in whole_files:
        return whole_files[name, ending](service, campaign, session.operator, wave)
    raise Refused(404, "unknown-file", "there is no such file")
