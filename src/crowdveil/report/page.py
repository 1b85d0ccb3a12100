"""The environment of the page templates: values are escaped, numbers are written by `numbers`."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from crowdveil.report import numbers
from crowdveil.report.style import stylesheet


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
    }
    templates.globals["stylesheet"] = stylesheet()
    return templates
