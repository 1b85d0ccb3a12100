"""The environment of the page templates: values are escaped, numbers are written by `numbers`."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from crowdveil.report import numbers
from crowdveil.report.style import stylesheet


def _setting(value: Any) -> str:
    """The value of a parameter in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_setting, value))}]"
    return numbers.number(value, 12) if isinstance(value, float) else str(value)


@cache
def environment() -> Environment:
    """The environment of the page templates, with filters for numbers and the stylesheet at hand."""
    templates = Environment(
        loader=PackageLoader("crowdveil.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates.filters |= {
        "number": numbers.number,
        "decimal": numbers.decimal,
        "amount": numbers.count,
        "share": numbers.share,
        "setting": _setting,
    }
    templates.globals["stylesheet"] = stylesheet()
    return templates
