"""What one device sends, as plain JSON: a version, the mechanism's name, and the mechanism's own payload.

    {"v": 1, "mechanism": "cell-response", "payload": [5, 0, 5, 2]}

A payload holds whole numbers only: symbols, or steps of a public grid. No float that was computed with noise
is ever sent. Whoever receives a report trusts nobody: every type, length and bound is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from crowdveil.errors import InputError

VERSION = 1
LARGEST = 2**53 - 1  # that every reader of JSON keeps exactly

Wire = dict[str, Any]


def sealed(mechanism: str, payload: Any) -> Wire:
    """A payload in its envelope."""
    return {"v": VERSION, "mechanism": mechanism, "payload": payload}


def opened(wire: Any, mechanism: str) -> Any:
    """The payload of an envelope that this mechanism's devices send; anything else is refused."""
    if type(wire) is not dict or wire.keys() != {"v", "mechanism", "payload"}:
        raise InputError("a report is a JSON object with v, mechanism and payload, and nothing else")
    if type(wire["v"]) is not int or wire["v"] != VERSION:
        raise InputError(f"this report has another version than {VERSION}")
    if wire["mechanism"] != mechanism:
        raise InputError(f"this report was not made by {mechanism}")
    return wire["payload"]


def whole_number(number: Any, low: int, high: int) -> int:
    """A number of a payload, if it is whole and lies in low ... high."""
    check_whole((number,), low, high)
    return int(number)


def check_whole(numbers: Collection[Any], low: int, high: int) -> None:
    """Refuse numbers of a payload, at least one, unless all are whole and lie in low ... high."""
    if {*map(type, numbers)} != {int} or min(numbers) < low or max(numbers) > high:
        raise InputError("a report has a number that no device sends")


def whole_numbers(payload: Any, bounds: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of a payload, as many as there are bounds, each of them within its own."""
    if type(payload) is not list or len(payload) != len(bounds):
        raise InputError(f"a report has {len(bounds)} numbers")
    return [whole_number(number, *within) for number, within in zip(payload, bounds, strict=True)]
