"""Writes the tables of docs/methods/sparse.md from docs/figures; `--check` only says if they are current.

A table stands between a line `<!-- table NAME -->` and a line `<!-- end -->`.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from crowdveil.experiments.sparse_bounds import MEASURES
from crowdveil.experiments.sparse_real import FACTS
from crowdveil.experiments.sparse_trials import BEST, METHODS
from crowdveil.experiments.sparse_users import SCORES

PAGE = Path(__file__).parent / "methods" / "sparse.md"
FIGURES = Path(__file__).parent / "figures"


def figures(name: str) -> Any:
    """What an experiment measured."""
    return json.loads((FIGURES / f"sparse-{name}.json").read_text(encoding="utf-8"))


def shown(value: float) -> str:
    """A figure as the tables have it."""
    return f"{round(value, 2) + 0.0:.2f}"


def plain(value: Any) -> str:
    """A setting as the tables have it."""
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"


def laid_out(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def changes(name: str, keys: Sequence[str], header: Sequence[str]) -> str:
    """The MAE change of every method, the least one bold but for the best constant, which nobody knows."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in figures(name)["rows"]:
        found.setdefault(tuple(row[key] for key in keys), {})[row["method"]] = round(row["mae_change"], 2)
    lines = []
    for at, by_method in found.items():
        least = min(value for method, value in by_method.items() if method != BEST)
        cells = [
            f"**{shown(by_method[method])}**"
            if method != BEST and by_method[method] == least
            else shown(by_method[method])
            for method in METHODS
        ]
        lines.append([*map(plain, at), *cells])
    return laid_out([*header, *METHODS], lines)


def data() -> str:
    """Table II, with what the paper prints below."""

    def facts(known: dict[str, Any]) -> list[str]:
        return [*(f"{known[key]:,}" for key in FACTS[:3]), *(f"{known[key]:.6f}" for key in FACTS[3:])]

    lines = []
    for row in figures("data")["rows"]:
        told = [f"{row['known_truths']:,}", f"{row['truth_shares'][0]:.3f}", f"{row['right']:.3f}"]
        lines.append([row["dataset"], *facts(row), *told])
        if row["printed"]:
            lines.append(["in the paper", *facts(row["printed"]), "", "> 0.72", ""])
    header = ["data set", "users", "objects", "answers", "sparsity: most", "least", "mean"]
    return laid_out([*header, "truths", "of these 0", "answers that are right"], lines)


def bounds() -> str:
    """The theorems, a printed bound that the error exceeds in bold."""
    lines = []
    for row in sorted(figures("bounds")["rows"], key=lambda row: int(row["theorem"])):
        cells = [shown(row[key]) for key in MEASURES]
        if row["measured"] > row["printed"]:
            cells[0] = f"**{cells[0]}**"
        setting = [row["truths"], plain(row["sparsity"]), plain(row["epsilon"])]
        lines.append([f"{row['theorem']} ({row['method']})", *setting, *cells])
    return laid_out(["theorem", "truths", "sparsity", "ε", *MEASURES], lines)


def examples() -> str:
    """The paper's worked examples."""
    return laid_out(
        ["", "printed", "its formula gives", "expected there"],
        [
            [each["method"], f"{each['printed']:g}", f"{each['formula']:.4g}", f"{each['expected']:.4g}"]
            for each in figures("bounds")["examples"]
        ],
    )


def users() -> str:
    """Errors at one epsilon for a user, bold where they are below that of the best constant."""
    lines = []
    for row in figures("users")["rows"]:
        cells = [shown(row[key]) for key in SCORES]
        if row["mae"] < row["best_constant"]:
            cells[0] = f"**{cells[0]}**"
        lines.append([plain(row[key]) for key in ("truths", "users", "sparsity", "epsilon")] + cells)
    return laid_out(["truths", "users", "sparsity", "user's ε", *SCORES.values()], lines)


def page() -> str:
    """The page with its tables as they should be."""
    tables = {
        "data": data(),
        "epsilon": changes("epsilon", ("truths", "sparsity", "epsilon"), ("truths", "sparsity", "ε")),
        "sparsity": changes("sparsity", ("users", "sparsity", "epsilon"), ("users", "sparsity", "ε")),
        "real": changes("real", ("dataset", "epsilon"), ("data set", "ε")),
        "bounds": bounds(),
        "examples": examples(),
        "users": users(),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        if text.count(begin) != 1:
            sys.exit(f"{PAGE.name} has no one place for the table {name}")
        before, after = text.split(begin)
        text = f"{before}{begin}\n{table}\n\n{end}{after.split(end, 1)[1]}"
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        current = PAGE.read_text(encoding="utf-8") == page()
        sys.exit(0 if current else "docs/methods/sparse.md is old: python docs/make_sparse_tables.py")
    PAGE.write_text(page(), encoding="utf-8")
