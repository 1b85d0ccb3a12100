"""Places and reports: what devices ask for and send. No operator's token is needed, and none helps."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from crowdveil.campaigns.portions import portions
from crowdveil.service.api.addresses import address_of
from crowdveil.service.auth import Service
from crowdveil.service.intake import Outcome, Reader, Seat, Seated
from crowdveil.service.lines import places_in, reports_in, submission
from crowdveil.service.metrics import REPORTS
from crowdveil.service.models import PlaceIn, PlaceOut, ReportIn, ReportOut, WithdrawnOut
from crowdveil.service.openapi import Responses, problems
from crowdveil.service.problems import Refusal, Refused, refused
from crowdveil.service.state import State
from crowdveil.service.store.reports import ACCEPTED, Opened, digest, withdraw

LINES_AT_ONCE, BYTES_AT_ONCE = 1000, 2**20
_ACCEPTED = b'{"status":201}\n'
NDJSON = "application/x-ndjson"
PROBLEMS = problems(400, 403, 404, 409, 415)
_LINES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {NDJSON: {"schema": {"type": "string", "description": "One JSON object in each line."}}},
    }
}
_ANSWERS: Responses = {
    200: {
        "description": "A line for each line: its status, and what belongs to it.",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    },
    **PROBLEMS,
}

router = APIRouter(prefix="/api/v1/campaigns/{id}", tags=["reports"])


@router.post("/places", summary="Ask for a place", response_model_exclude_none=True, responses=PROBLEMS)
async def place(id: str, body: PlaceIn, service: Service, request: Request) -> PlaceOut:
    """The place of a participant in a wave, the same one each time, and what is asked there."""
    service.limits.check("reports", address_of(request))
    campaign = await service.opened(id)
    (outcome,) = await service.intake.enqueue(
        campaign, Seat(digest(campaign.id, body.participant), body.wave)
    )
    if isinstance(outcome, Refusal):
        raise refused(outcome)
    return PlaceOut(**_placed(campaign, outcome))


@router.post(
    "/places/batch",
    summary="Ask for many places",
    response_class=Response,
    openapi_extra=_LINES,
    responses=_ANSWERS,
)
async def places(id: str, service: Service, request: Request) -> Response:
    """NDJSON in, NDJSON out: a place or a problem for each line, in their order."""
    campaign = await service.opened(id)
    lines = await _lines(service, request)
    return StreamingResponse(_answers(service, campaign, lines, places_in), media_type=NDJSON)


@router.post(
    "/reports",
    status_code=201,
    summary="Send a report",
    response_model=ReportOut,
    responses={200: {"model": ReportOut, "description": "It was there already."}, **PROBLEMS},
)
async def report(id: str, body: ReportIn, service: Service, request: Request) -> Response:
    """201 once it is on the disk; the same key again is 200, and nothing more.

    A key is that of one report: 409 for a key that has a report in another wave than the one that is named.
    """
    service.limits.check("reports", address_of(request))
    campaign = await service.opened(id)
    entry = submission(campaign, body.participant, body.key, body.report, body.wave, body.round)
    (outcome,) = [entry] if isinstance(entry, Refusal) else await service.intake.enqueue(campaign, entry)
    REPORTS.labels(_word(outcome)).inc()
    if isinstance(outcome, Refusal):
        raise refused(outcome)
    assert isinstance(outcome, int)
    return JSONResponse({"status": "accepted" if outcome == ACCEPTED else "known"}, outcome)


@router.post(
    "/reports/batch",
    summary="Send many reports",
    response_class=Response,
    openapi_extra=_LINES,
    responses=_ANSWERS,
)
async def reports(id: str, service: Service, request: Request) -> Response:
    """NDJSON in, NDJSON out: 201, 200 or a problem for each line, in their order.

    A line that is answered with 201 is on the disk. Lines are independent of each other.
    """
    campaign = await service.opened(id)
    lines = await _lines(service, request)
    answers = _answers(service, campaign, lines, reports_in, count=True)
    return StreamingResponse(answers, media_type=NDJSON)


@router.delete("/reports/{participant:path}", summary="Withdraw", responses=problems(404, 409))
def withdrawn(id: str, participant: str, service: Service, request: Request) -> WithdrawnOut:
    """Delete what a participant reported, in all waves; the place stays taken."""
    service.limits.check("reports", address_of(request))
    campaign = service.look_up(id)  # before anything is locked
    with service.database.writing() as connection:
        outcome = withdraw(connection, campaign, digest(id, participant))
    if isinstance(outcome, Refusal):
        raise refused(outcome)
    service.database.erase_freed()
    return WithdrawnOut(withdrawn=outcome)


async def _lines(service: State, request: Request) -> list[bytes]:
    """The lines of a batch, if there are not too many of them."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in (
        NDJSON,
        "application/jsonl",
    ):
        raise Refused(415, "type", f"a batch is {NDJSON}: a JSON object in each line")
    most, longest = service.settings.batch_lines, service.settings.body_bytes
    body = b"".join([part async for part in request.stream()])  # which, unlike `body`, keeps no copy
    if body.count(b"\n") > 2 * most:  # before they are split, which takes many times their memory
        raise _too_many(most)
    lines = [line for line in map(bytes.strip, body.split(b"\n")) if line]
    if not lines:
        raise Refused(422, "empty", "there is no line in this batch")
    if len(lines) > most:
        raise _too_many(most)
    if max(map(len, lines)) > longest:
        raise Refused(413, "size", f"a line has at most {longest:,} bytes: nothing was kept")
    service.limits.check("reports", address_of(request), len(lines))
    return lines


def _too_many(most: int) -> Refused:
    return Refused(413, "lines", f"a batch has at most {most:,} lines: nothing was kept, send fewer at once")


async def _answers(
    service: State, campaign: Opened, lines: list[bytes], read: Reader, *, count: bool = False
) -> AsyncIterator[bytes]:
    """The answer to each line, some at a time, so that others are served in between.

    Lines are let go as soon as they are answered, or whoever sent them has gone: then this generator is part
    of a cycle that is collected much later.
    """
    waiting = deque(portions(lines, LINES_AT_ONCE, BYTES_AT_ONCE))
    lines.clear()
    try:
        while waiting:
            answers = await service.intake.enqueue_lines(campaign, waiting.popleft(), read)
            if answers.count(ACCEPTED) == len(answers):  # nearly always
                REPORTS.labels("accepted").inc(len(answers))
                yield _ACCEPTED * len(answers)
                continue
            for word, number in Counter(map(_word, answers)).items() if count else ():
                REPORTS.labels(word).inc(number)
            yield b"".join([_line(campaign, answer) for answer in answers])
    finally:
        waiting.clear()


def _line(campaign: Opened, outcome: Outcome) -> bytes:
    if outcome == ACCEPTED:
        return _ACCEPTED
    if isinstance(outcome, int):
        return b'{"status":200}\n'
    if isinstance(outcome, Refusal):
        return _json_line(outcome.to_dict())
    return _json_line({"status": 200, **_placed(campaign, outcome)})


def _json_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _placed(campaign: Opened, seated: Any) -> dict[str, Any]:
    assert isinstance(seated, Seated)
    question = campaign.kind.question(seated.wave, seated.asked, seated.plans)
    where = {
        "place": seated.asked.place,
        "wave": seated.wave,
        "round": seated.asked.round,
        "reported": seated.reported,
    }
    return where if question is None else where | {"question": question}


def _word(outcome: Outcome) -> str:
    if isinstance(outcome, Refusal):
        return "refused"
    return "accepted" if outcome == ACCEPTED else "known"
