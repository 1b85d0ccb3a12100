"""The page on which a campaign is created: what it would promise and the error to expect, while one types."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from crowdveil.errors import CrowdveilError
from crowdveil.report import numbers
from crowdveil.report.language import speaking
from crowdveil.service.api import campaigns as api
from crowdveil.service.auth import Service
from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import campaigns
from crowdveil.service.web.drafts import KINDS, MECHANISMS, UNITS, first_values, request_of, sparsity_of
from crowdveil.service.web.guesses import advice, guesses
from crowdveil.service.web.page import page, texts_of
from crowdveil.service.web.session import Fields, Posted, Seated, Session
from crowdveil.service.web.texts import Texts
from crowdveil.service.web.understood import understood

OPTION = re.compile(r"--([a-z][a-z-]*)")

router = APIRouter(include_in_schema=False)


@router.get("/new/{kind}")
def ask(kind: str, request: Request, session: Seated) -> Response:
    """The form of a new campaign."""
    values = first_values(_known(kind))
    return _form(request, session, kind, values, None)


@router.post("/new/{kind}")
def create(kind: str, request: Request, service: Service, session: Seated, fields: Posted) -> Response:
    """Create the campaign as a draft, and show it; where it cannot be, say why beside the form."""
    values = first_values(_known(kind)) | dict(fields)
    try:
        made = api.create(request_of(kind, values), service, session.operator)
    except (CrowdveilError, Refused) as error:
        return _form(request, session, kind, values, _words(error), 422)
    return RedirectResponse(f"/campaigns/{made.id}", 303)


@router.post("/new/{kind}/look")
async def look(kind: str, request: Request, service: Service, session: Seated, fields: Posted) -> Response:
    """The form with what it would promise, for browsers without scripts."""
    values = first_values(_known(kind)) | dict(fields)
    shown = await _preview(request, service, session, kind, values)
    return _form(request, session, kind, values, None, preview=shown)


@router.post("/new/{kind}/preview")
async def preview(kind: str, request: Request, service: Service, session: Seated, fields: Posted) -> Response:
    """What the campaign would promise, what could still be guessed, and the error to expect."""
    values = first_values(_known(kind)) | dict(fields)
    shown = await _preview(request, service, session, kind, values)
    return page(request, "preview.html", session=session, kind=kind, preview=shown)


def _form(
    request: Request,
    session: Session,
    kind: str,
    values: Fields,
    wrong: str | None,
    status: int = 200,
    preview: dict[str, Any] | None = None,
) -> Response:
    return page(
        request,
        "new.html",
        status,
        session=session,
        kind=kind,
        kinds=KINDS,
        units=UNITS[kind],
        mechanisms=MECHANISMS[kind],
        values=values,
        wrong=wrong,
        preview=preview,
    )


async def _preview(
    request: Request, service: State, session: Session, kind: str, values: Fields
) -> dict[str, Any]:
    """The promise and the curve, or what is missing.

    One is computed at a time, as each keeps a processor busy for a second; whoever waits takes no thread. Of
    an operator's requests the newest alone is computed, and none whose browser has gone.
    """
    previews, operator = service.previews, session.operator.id
    previews.newest[operator] = request
    try:
        async with previews.lock:
            if previews.newest.get(operator) is not request or await request.is_disconnected():
                return {"wrong": texts_of(request)("op.preview.busy")}
            return await run_in_threadpool(_computed, kind, values, texts_of(request))
    finally:
        if previews.newest.get(operator) is request:
            del previews.newest[operator]


def _computed(kind: str, values: Fields, texts: Texts) -> dict[str, Any]:
    try:
        body = request_of(kind, {**values, "title": "-"})
        asked = body.model_dump(by_alias=True, exclude_none=True)
        campaign = campaigns.asked(asked)
        api.retention_of(body)
        if kind == "sparse":
            asked["sparsity"] = sparsity_of(values)
    except (CrowdveilError, Refused) as error:
        return {"wrong": _words(error)}
    with speaking(texts.spoken):
        return {
            "guesses": guesses(campaign.guarantee),
            "advice": advice(campaign.guarantee),
            "curve": _drawn(json.dumps(asked), texts.language),
            "understood": understood(asked, texts),
            "wrong": None,
        }


@lru_cache(maxsize=64)
def _drawn(asked: str, language: str) -> dict[str, str] | None:  # noqa: ARG001
    from crowdveil.campaigns.error_curves import error_curves
    from crowdveil.report.error_curve import error_curve

    curves = error_curves(json.loads(asked))
    if curves is None:
        return None
    svg = error_curve(
        curves.epsilons, curves.errors, epsilon=curves.epsilon, people=curves.people, label=curves.label
    )
    at = numbers.number(float(curves.errors[curves.people][curves.epsilons == curves.epsilon][0]), 2)
    return {
        "svg": svg,
        "label": curves.label,
        "people": numbers.count(curves.people),
        "epsilon": numbers.number(curves.epsilon),
        "error": at,
        "assumes": curves.assumptions,
    }


def _words(error: CrowdveilError | Refused) -> str:
    """What is wrong, in the words of the form: messages name options as the command line has them."""
    words = error.refusal.detail if isinstance(error, Refused) else str(error)
    return OPTION.sub(lambda found: found[1].replace("-", " "), words)


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise Refused(404, "unknown-kind", "there is no such kind of campaign")
    return kind
