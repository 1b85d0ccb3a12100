"""The stylesheet of all pages, and the part of it that charts need where they stand alone."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_BEGIN, _END = "/* charts: begin", "/* charts: end */"


@cache
def stylesheet() -> str:
    """The text of style.css: inline in pages that are files, served as a file elsewhere."""
    return files("crowdveil.report").joinpath("style.css").read_text(encoding="utf-8")


@cache
def chart_rules() -> str:
    """The rules for the classes that charts use, without comments and line breaks."""
    style = stylesheet()
    start = style.index("*/", style.index(_BEGIN)) + 2
    return " ".join(style[start : style.index(_END)].split())
