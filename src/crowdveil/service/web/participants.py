"""The page of a participant: what is asked, what is promised, and the script that randomizes the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from crowdveil.service.auth import Service
from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import campaigns
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.web import assets
from crowdveil.service.web.guesses import BARE, own_level, right_at_most
from crowdveil.service.web.page import POLICY, page
from crowdveil.service.web.texts import wanted
from crowdveil.service.web.understood import understood

router = APIRouter(include_in_schema=False)
MOST_LINES = 100  # of what is asked, on the first page
ASKED = {"sensing": "ask.sensing", "sparse": "ask.sparse", "records": "ask.records"}


@router.get("/c/worker.js")
async def worker() -> Response:
    """The script that keeps a page that was opened before for when there is no connection."""
    found = assets.assets()["worker.js"]
    text = found.content.decode().replace("VERSION", assets.digest())
    headers = {"Content-Type": found.kind, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
    return Response(text, headers=headers)


@router.get("/c/{id}")
async def take_part(id: str, service: Service, request: Request) -> Response:
    """What is asked, what is promised, and the way to answer or to refuse."""
    try:
        campaign = await run_in_threadpool(_found, service, id)
    except Refused:
        return page(request, "gone.html", 404)
    document = json.loads(campaign.document)
    guarantee = document["guarantee"]
    guess, once = right_at_most(own_level(guarantee)), right_at_most(own_level(guarantee, "levels"))
    person = right_at_most(guarantee["all_waves"][-1])
    texts = wanted(request.headers.get("accept-language", ""))
    return page(
        request,
        "participant.html",
        campaign=campaign,
        document=document,
        guarantee=guarantee,
        asked=ASKED[document["kind"]],
        guess=guess,
        once=once,
        guessed="none" if guess >= BARE else _guessed(document),
        added="none" if once >= BARE else "once" if guess >= BARE else "up",
        person=person,
        whole="none" if person >= BARE else "share",
        seated=_seated(document),
        understood=understood(document, texts, MOST_LINES),
        script_texts=texts.beginning("script."),
    )


def _guessed(document: Mapping[str, Any]) -> str:
    """The name of the text about guesses: in sensing, which things somebody answers about is not hidden."""
    unit = document["guarantee"]["unit"]
    return "numbers" if document["kind"] == "sensing" and unit == "person" else unit


def _seated(document: Mapping[str, Any]) -> bool:
    """Whether the page asks for a place: it decides what is asked, or tells whether an invitation is good."""
    mechanism, admission = str(document["mechanism"]["name"]), str(document["admission"])
    return document["kind"] == "records" or mechanism == "slots" or admission == "invited"


def _found(service: State, id: str) -> Kept:
    with service.database.reading() as connection:
        return campaigns.find(connection, id)
