"""What an input is called: a path, "-" for standard input, or what only Spark finds (a table, an address)."""

from __future__ import annotations

STDIN = "-"
TABLE = "table:"  # what the name of a Spark table begins with


def has_no_path(source: str) -> bool:
    """Whether this is a table of Spark's, or lies where only Spark finds it."""
    return source.startswith(TABLE) or "://" in source
