"""Tables of documentation pages, made from docs/figures by the scripts beside this file.

A table stands between a line `<!-- table NAME -->` and a line `<!-- end -->`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent


def figures(experiment: str) -> Any:
    """What an experiment measured."""
    return json.loads((DOCS / "figures" / f"{experiment}.json").read_text(encoding="utf-8"))


def shown(value: float, digits: int = 2) -> str:
    """A figure as the tables have it; no minus before a zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def plain(value: Any) -> str:
    """A setting as the tables have it."""
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"


def laid_out(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def best_in_bold(
    values: Mapping[str, float],
    *,
    digits: int = 2,
    beside: Iterable[str] = (),
    best: Callable[[Iterable[float]], float] = min,
) -> list[str]:
    """The figures in order, the best as shown in bold; those `beside` do not compete."""
    rounded = {name: round(value, digits) for name, value in values.items()}
    apart = set(beside)
    top = best(value for name, value in rounded.items() if name not in apart)
    return [
        f"**{shown(value, digits)}**" if name not in apart and value == top else shown(value, digits)
        for name, value in rounded.items()
    ]


def filled(page: Path, tables: Mapping[str, str]) -> str:
    """The page with its tables as they should be."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        if text.count(begin) != 1:
            sys.exit(f"{page.name} has no one place for the table {name}")
        before, after = text.split(begin)
        text = f"{before}{begin}\n{table}\n\n{end}{after.split(end, 1)[1]}"
    return text


def write_or_check(page: Path, tables: Mapping[str, str], script: str) -> None:
    """Write the page's tables; with `--check` only say if they are current."""
    wanted = filled(page, tables)
    if "--check" in sys.argv:
        current = page.read_text(encoding="utf-8") == wanted
        where = page.relative_to(DOCS.parent)
        sys.exit(0 if current else f"{where} is old: python docs/{Path(script).name}")
    page.write_text(wanted, encoding="utf-8")
