"""What a campaign asks, line by line: a draft cannot be changed, so the form shows how it was understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from crowdveil.report.language import punctuated
from crowdveil.service.web.texts import Texts

LINES, CHOICES = 12, 12  # shown


def understood(asked: Mapping[str, Any], texts: Texts, most: int = LINES) -> dict[str, Any]:
    """The first objects or questions of a request or of a campaign, and how many more there are."""
    if asked["kind"] == "records":
        columns = asked["schema"]["columns"]
        lines = [_question(name, column, texts) for name, column in list(columns.items())[:most]]
        return {"lines": lines, "left_out": len(columns) - len(lines)}
    objects = [each if isinstance(each, Mapping) else {"name": each} for each in asked["objects"]]
    lines = [_object(each, asked.get("range"), texts) for each in objects[:most]]
    return {"lines": lines, "left_out": len(objects) - len(lines)}


def _object(item: Mapping[str, Any], common: Sequence[float] | None, texts: Texts) -> dict[str, Any]:
    ends = item.get("range") or common
    more = [] if ends is None else [_span(ends[0], ends[1], texts)]
    if item.get("unit") and more:
        more = [f"{more[0]} {item['unit']}"]
    return {"name": item["name"], "more": more, "left_out": 0}


def _question(name: str, column: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    edges = column.get("edges")
    choices = (
        [_span(low, high, texts) for low, high in pairwise(edges)]
        if edges
        else list(column.get("values", []))
    )
    missing = [texts("op.understood.missing")] if column.get("missing") else []
    return {"name": name, "more": choices[:CHOICES] + missing, "left_out": max(0, len(choices) - CHOICES)}


def _span(low: float, high: float, texts: Texts) -> str:
    ends = [
        punctuated(f"{end:.12g}") for end in (low, high)
    ]  # without marks between thousands, as they are entered
    return texts("op.understood.span", low=ends[0], high=ends[1])
