"""Plain JSON data: read strictly, and checked against the types they should have."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from math import isfinite
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from crowdveil.errors import ParameterError

Built = TypeVar("Built")

_LARGEST_WHOLE = 2**53


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN or infinity, and no key twice in an object. Raises ValueError or RecursionError."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)


def to_json(value: Any) -> str:
    """Strict JSON: no NaN, readable, ending in a newline."""
    return json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False) + "\n"


def fits(value: Any, kind: Any) -> bool:
    """Whether a value from JSON can be a field of this type. Text must be fit to be shown."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return value in parts
    if isinstance(kind, UnionType):
        return any(fits(value, part) for part in parts)
    if get_origin(kind) is tuple:  # of any length, or a pair; all of one type
        right = isinstance(value, list) and (parts[-1] is ... or len(value) == len(parts))
        return right and all(fits(item, parts[0]) for item in value)
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    if kind in (int, float):
        most = _LARGEST_WHOLE if kind is int else sys.float_info.max
        number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return number and abs(value) <= most
    return kind is Any or (value is None if kind in (None, type(None)) else isinstance(value, kind))


def problem(value: Mapping[str, Any], kinds: Mapping[str, Any], where: str = "") -> str | None:
    """What is wrong with an object that should have just these keys, of these types; None if nothing is."""
    for name, kind in kinds.items():
        if name not in value:
            return f"{where}{name} is missing"
        if not fits(value[name], kind):
            return f"{where}{name} is not what belongs there"
    if value.keys() - kinds.keys():
        return f"{where.rstrip('.') or 'it'} has entries that do not belong there"
    return None


def construct(kind: Callable[..., Built], fields: Mapping[str, Any], where: str = "") -> Built:
    """A dataclass from plain data, of just its fields and their types; `ParameterError` for anything else."""
    hints = get_type_hints(kind)
    wrong = problem(fields, {name: hints[name] for name in fields if name in hints}, where)
    if wrong is not None:
        raise ParameterError(wrong)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    try:
        return kind(**values)
    except TypeError:
        raise ParameterError(f"{where.rstrip('.') or 'it'} lacks an entry") from None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(digits)
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice: readers would disagree about which one counts."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError
    return entries
