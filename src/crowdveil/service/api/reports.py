"""Places and reports: what devices ask for and send. No operator's token is needed, and none helps."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from crowdveil.campaigns.kind import Asked
from crowdveil.errors import InputError
from crowdveil.service.api.addresses import address_of
from crowdveil.service.auth import Service
from crowdveil.service.intake import Entry, Outcome, Seat, Seated
from crowdveil.service.metrics import REPORTS
from crowdveil.service.models import PlaceIn, PlaceOut, Problem, ReportIn, ReportOut, WithdrawnOut
from crowdveil.service.problems import Refusal, Refused, refused
from crowdveil.service.state import State
from crowdveil.service.store import campaigns
from crowdveil.service.store.reports import ACCEPTED, Opened, Submission, digest, withdraw

LINES_AT_ONCE = 1000
NDJSON = "application/x-ndjson"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 403, 404, 409, 413, 415, 422, 429, 503)
}
_LINES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {NDJSON: {"schema": {"type": "string", "description": "One JSON object in each line."}}},
    }
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A line for each line: its status, and what belongs to it.",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    }
}
_report_line = TypeAdapter(ReportIn)
_place_line = TypeAdapter(PlaceIn)

router = APIRouter(prefix="/api/v1/campaigns/{id}", tags=["reports"], responses=PROBLEMS)


@router.post("/places", summary="Ask for a place")
async def place(id: str, body: PlaceIn, service: Service, request: Request) -> PlaceOut:
    """The place of a participant in a wave, the same one each time, and what is asked there."""
    service.limits.check("reports", address_of(request))
    campaign = await service.opened(id)
    (outcome,) = await service.intake.enqueue(campaign, [_seat(campaign, body)])
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

    def read(line: bytes) -> Entry | Refusal:
        try:
            return _seat(campaign, _place_line.validate_json(line))
        except ValidationError as error:
            return _invalid(error)

    return StreamingResponse(_answers(service, campaign, lines, read), media_type=NDJSON)


@router.post("/reports", status_code=201, summary="Send a report", responses={200: {"model": ReportOut}})
async def report(id: str, body: ReportIn, service: Service, request: Request) -> Response:
    """201 once it is on the disk; the same key again is 200, and nothing more."""
    service.limits.check("reports", address_of(request))
    campaign = await service.opened(id)
    entry = _submission(campaign, body)
    (outcome,) = [entry] if isinstance(entry, Refusal) else await service.intake.enqueue(campaign, [entry])
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

    def read(line: bytes) -> Entry | Refusal:
        try:
            return _submission(campaign, _report_line.validate_json(line))
        except ValidationError as error:
            return _invalid(error)

    return StreamingResponse(_answers(service, campaign, lines, read), media_type=NDJSON)


@router.delete("/reports/{participant}", summary="Withdraw")
def withdrawn(id: str, participant: str, service: Service, request: Request) -> WithdrawnOut:
    """Delete what a participant reported, in all waves; the place stays taken."""
    service.limits.check("reports", address_of(request))
    with service.database.writing() as connection:
        campaign = campaigns.find(connection, id).intake
        outcome = withdraw(connection, campaign, digest(id, participant))
    if isinstance(outcome, Refusal):
        raise refused(outcome)
    service.database.erase_freed()
    return WithdrawnOut(withdrawn=outcome)


def _seat(campaign: Opened, body: PlaceIn) -> Seat:
    return Seat(digest(campaign.id, body.participant), body.wave)


def _submission(campaign: Opened, body: ReportIn) -> Submission | Refusal:
    """A report that is checked as far as that can be done without its place."""
    payload = None
    if not campaign.kind.asks_by_place:
        try:
            payload = campaign.kind.receive(body.report, 1, Asked(0), {})
        except InputError as error:
            return Refusal(422, "report", str(error))
    participant, key = digest(campaign.id, body.participant), digest(campaign.id, body.key)
    return Submission(participant, key, body.report, body.wave, body.round, payload)


async def _lines(service: State, request: Request) -> list[bytes]:
    """The lines of a batch, if there are not too many of them."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in (
        NDJSON,
        "application/jsonl",
    ):
        raise Refused(415, "type", f"a batch is {NDJSON}: a JSON object in each line")
    lines = [line for line in (await request.body()).split(b"\n") if line.strip()]
    most = service.settings.batch_lines
    if not lines:
        raise Refused(422, "empty", "there is no line in this batch")
    if len(lines) > most:
        raise Refused(
            413, "lines", f"a batch has at most {most:,} lines: nothing was kept, send fewer at once"
        )
    service.limits.check("reports", address_of(request), len(lines))
    return lines


async def _answers(
    service: State, campaign: Opened, lines: Sequence[bytes], read: Any
) -> AsyncIterator[bytes]:
    """The answer to each line. While some are written, the next ones are read."""

    def parsed(first: int) -> list[Entry | Refusal]:
        return [read(line) for line in lines[first : first + LINES_AT_ONCE]]

    entries = await run_in_threadpool(parsed, 0)
    for first in range(0, len(lines), LINES_AT_ONCE):
        good = [entry for entry in entries if not isinstance(entry, Refusal)]
        writing = service.intake.enqueue(campaign, good)
        following = await run_in_threadpool(parsed, first + LINES_AT_ONCE)
        outcomes = iter(await writing)
        answers = [entry if isinstance(entry, Refusal) else next(outcomes) for entry in entries]
        for answer in answers:
            REPORTS.labels(_word(answer)).inc()
        yield b"".join([_line(campaign, answer) for answer in answers])
        entries = following


def _line(campaign: Opened, outcome: Outcome) -> bytes:
    if outcome == ACCEPTED:
        return b'{"status":201}\n'
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
    where = {"place": seated.asked.place, "wave": seated.wave, "round": seated.asked.round}
    return where if question is None else where | {"question": question}


def _invalid(error: ValidationError) -> Refusal:
    """What is wrong with a line, without a word of it."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"][:1])
    return Refusal(422, "line", f"{where or 'the line'}: {first['type'].replace('_', ' ')}")


def _word(outcome: Outcome) -> str:
    if isinstance(outcome, Refusal):
        return "refused"
    return "accepted" if outcome == ACCEPTED else "known"
