"""What an input is called: a path, "-" for standard input, or what only Spark finds (a table, an address)."""

from __future__ import annotations

from pathlib import Path

STDIN = "-"
TABLE = "table:"  # what the name of a Spark table begins with


def has_no_path(source: str) -> bool:
    """Whether only Spark finds this: one of its tables, or an address; a file that is here is neither."""
    return (source.startswith(TABLE) or "://" in source) and not Path(source).exists()
