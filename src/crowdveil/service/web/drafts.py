"""Creating a campaign on a page: the fields of the form, as the request that the API takes.

Objects and questions are lines of text, so that a list can be pasted:

- an object is a name, and may have a unit and a range of its own: `Main Street | dB | 30:90`
- a question has choices, `job: cook, nurse, smith` (with semicolons between them they may hold commas), or
  bins of numbers by their edges, `age: 0 < 30 < 60`; whoever may leave it out, `smokes?: yes, no`
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from crowdveil.campaigns.request import SPARSITY
from crowdveil.errors import ParameterError
from crowdveil.service.models import CampaignIn
from crowdveil.service.web.actions import model_of
from crowdveil.service.web.session import Fields

KINDS = ("sensing", "sparse", "records")
UNITS = {"sensing": ("claim", "person"), "sparse": ("cell", "person"), "records": ("record",)}
MECHANISMS = {
    "sensing": ("auto", "gaussian-exponential"),
    "sparse": ("auto", "rr", "three-symbols", "slots"),
    "records": ("auto", "samprivsyn", "calm", "independent"),
}
EPSILONS = {"sensing": "2", "sparse": "3", "records": "4"}
MOST_LINES = 10_000
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}|.*[.,].*[.,].*")


def first_values(kind: str) -> dict[str, str]:
    """What the form of a new campaign holds before anybody wrote into it."""
    return {
        "title": "",
        "objects": "",
        "questions": "",
        "low": "0",
        "high": "10" if kind == "sensing" else "4",
        "unit": UNITS[kind][0],
        "mechanism": "auto",
        "epsilon": EPSILONS[kind],
        "people": "1000",
        "sparsity": "90",
        "admission": "open",
        "waves": "1",
        "retention": "",
        "round_hours": "",
    }


def request_of(kind: str, fields: Fields) -> CampaignIn:
    """The request of the API; `ParameterError` says which field cannot be used."""
    title = fields.get("title", "").strip()
    if not title:
        raise ParameterError("give a title")
    asked: dict[str, Any] = {
        "title": title,
        "kind": kind,
        "mechanism": fields.get("mechanism") or "auto",
        "epsilon": _needed(fields, "epsilon"),
        "unit": fields.get("unit") or None,
        "admission": fields.get("admission") or "open",
        "waves": _whole(fields, "waves"),
        "people": _whole(fields, "people"),
        "retention": fields.get("retention", "").strip() or None,
    }
    if kind == "records":
        asked |= {"schema": schema_of(fields.get("questions", "")), "unit": None}
        asked["round_hours"] = _number(fields, "round_hours")
    else:
        low, high = _number(fields, "low"), _number(fields, "high")
        asked["objects"] = objects_of(fields.get("objects", ""))
        asked["range"] = None if low is None or high is None else [low, high]
        if asked["range"] is None and any(
            isinstance(each, str) or "range" not in each for each in asked["objects"]
        ):
            raise ParameterError("give the lowest and the highest value")
    if kind == "sparse" and _takes_sparsity(asked["mechanism"], asked["unit"]):
        asked["options"] = {"sparsity": sparsity_of(fields)}
    return model_of(CampaignIn, **{name: value for name, value in asked.items() if value is not None})


def sparsity_of(fields: Fields) -> float:
    """The expected share of cells without an answer."""
    sparsity = _number(fields, "sparsity")
    if sparsity is None:
        return SPARSITY
    if not 0 <= sparsity < 100:
        raise ParameterError("the share left untouched is a number from 0 to below 100, in percent")
    return sparsity / 100


def _takes_sparsity(mechanism: str, unit: str | None) -> bool:
    """Whether the mechanism wants to know how many answers are expected."""
    from crowdveil.local.registry import MECHANISMS as REGISTERED

    name = "slots" if mechanism == "auto" and unit == "person" else mechanism
    return name in REGISTERED and "sparsity" in REGISTERED[name].options


def objects_of(text: str) -> list[str | dict[str, Any]]:
    """Objects from lines: a name, and perhaps a unit and a range."""
    found = [_object(line) for line in _lines(text)]
    if not found:
        raise ParameterError("give at least one thing that is asked about, each in a line of its own")
    return found


def _object(line: str) -> str | dict[str, Any]:
    name, *more = (part.strip() for part in line.split("|"))
    if not more:
        return name
    if len(more) > 2:
        raise ParameterError("a line has at most three parts: name | unit | low:high")
    item: dict[str, Any] = {"name": name}
    if more[0]:
        item["unit"] = more[0]
    if len(more) == 2 and more[1]:
        item["range"] = [_float(end, "a range") for end in _two(more[1])]
    return item


def _two(text: str) -> list[str]:
    ends = text.split(":")
    if len(ends) != 2:
        raise ParameterError("a range in a line is written low:high, as in 30:90")
    return ends


def schema_of(text: str) -> dict[str, Any]:
    """A schema from lines, or from the text of a schema file in JSON."""
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError):
            raise ParameterError("this is not the JSON of a schema") from None
        if not isinstance(given, Mapping):
            raise ParameterError("this is not the JSON of a schema")
        return dict(given)
    columns: dict[str, Any] = {}
    for line in _lines(text):
        name, colon, rest = line.partition(":")
        name = name.strip()
        if not colon or not name.removesuffix("?").strip():
            raise ParameterError("a line with a question is written name: choice, choice, choice")
        plain = name.removesuffix("?").strip()
        if plain in columns:
            raise ParameterError("two questions have the same name")
        columns[plain] = _domain(rest) | ({"missing": True} if name.endswith("?") else {})
    if not columns:
        raise ParameterError("give at least one question, each in a line of its own")
    return {"columns": columns}


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ParameterError("the JSON of the schema has a name twice")
    return dict(pairs)


def _domain(text: str) -> dict[str, Any]:
    if "<" in text:
        return {"edges": [_float(edge, "an edge") for edge in text.split("<")]}
    between = ";" if ";" in text else ","
    return {"values": [value.strip() for value in text.split(between) if value.strip()]}


def _lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line]
    if len(found) > MOST_LINES:
        raise ParameterError(f"there are more than {MOST_LINES:,} lines")
    return found


def _needed(fields: Fields, name: str) -> float:
    number = _number(fields, name)
    if number is None or number <= 0:
        raise ParameterError(f"{name} must be a number above 0")
    return number


def _number(fields: Fields, name: str) -> float | None:
    text = fields.get(name, "").strip()
    return _float(text, name) if text else None


def _whole(fields: Fields, name: str) -> int | None:
    number = _number(fields, name)
    if number is not None and (not number.is_integer() or not 0 <= number <= 10**9):
        raise ParameterError(f"{name} must be a whole number")
    return None if number is None else int(number)


def _float(text: str, what: str) -> float:
    """A number with a decimal point or a decimal comma; what is a thousand in some languages is refused."""
    text = text.strip()
    if THOUSANDS.fullmatch(text):
        raise ParameterError(
            f"{what}: write 1500 or 1.5, as 1,500 and 1.500 are read differently in different languages"
        )
    if NUMBER.fullmatch(text) is None:
        raise ParameterError(f"{what} must be a number")
    number = float(text.replace(",", "."))
    if number - number != 0:
        raise ParameterError(f"{what} must be a finite number")
    return number
