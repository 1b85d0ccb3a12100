"""Lines of a batch: most are read by a short way; whatever that does not know goes through the model.

The short way takes less than the model does, never more, so that both agree on what is right.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from crowdveil.campaigns.kind import Asked
from crowdveil.errors import InputError
from crowdveil.service.intake import Seat
from crowdveil.service.models import PlaceIn, ReportIn
from crowdveil.service.problems import Refusal
from crowdveil.service.store.reports import Opened, Submission, digest

LONGEST = 200  # characters of a token
_KEYS = {"participant", "key", "report"}
_report = TypeAdapter(ReportIn)
_place = TypeAdapter(PlaceIn)


def read_report(campaign: Opened, line: bytes) -> Submission | Refusal:
    """The report in a line, checked as far as that can be done without its place."""
    try:
        value = from_json(line, allow_inf_nan=False)
    except ValueError:
        return Refusal(422, "line", "the line: json invalid")
    if (
        type(value) is dict
        and value.keys() == _KEYS
        and _token(value["participant"])
        and _token(value["key"])
    ):
        return submission(campaign, value["participant"], value["key"], value["report"])
    try:
        body = _report.validate_python(value)
    except ValidationError as error:
        return _invalid(error)
    return submission(campaign, body.participant, body.key, body.report, body.wave, body.round)


def read_place(campaign: Opened, line: bytes) -> Seat | Refusal:
    """Who asks for a place in a line."""
    try:
        body = _place.validate_json(line)
    except ValidationError as error:
        return _invalid(error)
    return Seat(digest(campaign.id, body.participant), body.wave)


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
            payload = campaign.kind.receive(report, 1, Asked(0), {})
        except InputError as error:
            return Refusal(422, "report", str(error))
    return Submission(
        digest(campaign.id, participant), digest(campaign.id, key), report, wave, round, payload
    )


def _token(value: Any) -> bool:
    """Whether this is a token that the model takes, too."""
    return (
        type(value) is str
        and 0 < len(value) <= LONGEST
        and value.isascii()
        and value.isprintable()
        and " " not in value
    )


def _invalid(error: ValidationError) -> Refusal:
    """What is wrong with a line, without a word of it."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    known = first["type"] != "extra_forbidden"  # then the place is a name that only the line has
    where = ".".join(str(part) for part in first["loc"][:1] if known)
    return Refusal(422, "line", f"{where or 'the line'}: {first['type'].replace('_', ' ')}")
