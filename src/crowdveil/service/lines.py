"""Lines of a batch, read together by a short way, or each alone through the model.

The short way takes less than the model does, never more, so that both agree on what is right. It takes all
lines or none: a line that it does not know costs the others the longer way, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from crowdveil.campaigns.kind import ANYWHERE
from crowdveil.errors import InputError
from crowdveil.service.intake import Seat
from crowdveil.service.models import MOST_ROUND, MOST_WAVES, PlaceIn, ReportIn
from crowdveil.service.problems import Refusal
from crowdveil.service.store.reports import Opened, Submission, digest

_KEYS = {"participant", "key", "report"}
_MORE = _KEYS | {"wave", "round"}
_WAVES, _ROUNDS = range(1, MOST_WAVES + 1), range(MOST_ROUND + 1)
_token = re.compile(r"[\x21-\x7e]{1,200}").fullmatch
_report = TypeAdapter(ReportIn)
_place = TypeAdapter(PlaceIn)


def reports_in(campaign: Opened, lines: Sequence[bytes]) -> Sequence[Submission | Refusal]:
    """The report in each line, checked as far as that can be done without its place."""
    try:
        return _read_together(campaign, lines)
    except (InputError, TypeError, ValueError):
        return [_read_alone(campaign, line) for line in lines]


def places_in(campaign: Opened, lines: Sequence[bytes]) -> Sequence[Seat | Refusal]:
    """Who asks for a place in each line."""
    return [_read_place(campaign, line) for line in lines]


def submission(
    campaign: Opened,
    participant: str,
    key: str,
    report: Any,
    wave: int | None = None,
    round: int | None = None,
) -> Submission | Refusal:
    """A report that is checked as far as that can be done without its place."""
    payload = None
    if not campaign.kind.asks_by_place:
        try:
            payload = campaign.kind.receive(report, 1, ANYWHERE, {})
        except InputError as error:
            return Refusal(422, "report", str(error))
    kept = report if payload is None else None  # it may take many times the memory of its text
    return Submission(digest(campaign.id, participant), digest(campaign.id, key), kept, wave, round, payload)


def _read_together(campaign: Opened, lines: Sequence[bytes]) -> list[Submission | Refusal]:
    """All lines; `InputError`, `TypeError` or `ValueError` if one has more or less than the usual."""
    values = [from_json(line, allow_inf_nan=False) for line in lines]
    if not all(type(value) is dict and _KEYS <= value.keys() <= _MORE for value in values):
        raise InputError("a line has other parts than usual")
    participants, keys = [value["participant"] for value in values], [value["key"] for value in values]
    if not all(map(_token, participants)) or not all(map(_token, keys)):  # TypeError for what is no text
        raise InputError("a token has other characters than usual")
    waves, rounds = [value.get("wave") for value in values], [value.get("round") for value in values]
    if not all(_among(each, _WAVES) for each in waves) or not all(_among(each, _ROUNDS) for each in rounds):
        raise InputError("a wave or a round is not a usual number")
    reports = [value["report"] for value in values]
    if campaign.kind.asks_by_place:
        payloads: Sequence[bytes | None] = [None] * len(lines)
    else:
        payloads, reports = campaign.kind.receive_all(reports), [None] * len(lines)
    name = campaign.id
    return [
        Submission(digest(name, participant), digest(name, key), *others)
        for participant, key, *others in zip(
            participants, keys, reports, waves, rounds, payloads, strict=True
        )
    ]


def _among(number: Any, usual: range) -> bool:
    """Whether a number is a usual one, or not there."""
    return number is None or (type(number) is int and number in usual)


def _read_alone(campaign: Opened, line: bytes) -> Submission | Refusal:
    try:
        body = _report.validate_python(from_json(line, allow_inf_nan=False))
    except ValidationError as error:
        return _invalid(error)
    except ValueError:
        return Refusal(422, "line", "the line: json invalid")
    return submission(campaign, body.participant, body.key, body.report, body.wave, body.round)


def _read_place(campaign: Opened, line: bytes) -> Seat | Refusal:
    try:
        body = _place.validate_json(line)
    except ValidationError as error:
        return _invalid(error)
    return Seat(digest(campaign.id, body.participant), body.wave)


def _invalid(error: ValidationError) -> Refusal:
    """What is wrong with a line, without a word of it."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    known = first["type"] != "extra_forbidden"  # then the place is a name that only the line has
    where = ".".join(str(part) for part in first["loc"][:1] if known)
    return Refusal(422, "line", f"{where or 'the line'}: {first['type'].replace('_', ' ')}")
