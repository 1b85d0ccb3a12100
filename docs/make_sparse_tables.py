"""Writes the tables of docs/methods/sparse.md from docs/figures; `--check` only says if they are current."""

from collections.abc import Sequence
from typing import Any

from tables import DOCS, best_in_bold, figures, laid_out, plain, shown, write_or_check

from crowdveil.experiments.sparse_bounds import MEASURES
from crowdveil.experiments.sparse_real import FACTS
from crowdveil.experiments.sparse_trials import BEST, METHODS
from crowdveil.experiments.sparse_users import SCORES


def changes(name: str, keys: Sequence[str], header: Sequence[str]) -> str:
    """The MAE change of every method, the least one bold but for the best constant, which nobody knows."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in figures(f"sparse-{name}")["rows"]:
        found.setdefault(tuple(row[key] for key in keys), {})[row["method"]] = row["mae_change"]
    lines = [
        [*map(plain, at), *best_in_bold({name: by_method[name] for name in METHODS}, beside=(BEST,))]
        for at, by_method in found.items()
    ]
    return laid_out([*header, *METHODS], lines)


def data() -> str:
    """Table II, with what the paper prints below."""

    def facts(known: dict[str, Any]) -> list[str]:
        return [*(f"{known[key]:,}" for key in FACTS[:3]), *(f"{known[key]:.6f}" for key in FACTS[3:])]

    lines = []
    for row in figures("sparse-data")["rows"]:
        told = [f"{row['known_truths']:,}", f"{row['truth_shares'][0]:.3f}", f"{row['right']:.3f}"]
        lines.append([row["dataset"], *facts(row), *told])
        if row["printed"]:
            lines.append(["in the paper", *facts(row["printed"]), "", "> 0.72", ""])
    header = ["data set", "users", "objects", "answers", "sparsity: most", "least", "mean"]
    return laid_out([*header, "truths", "of these 0", "answers that are right"], lines)


def bounds() -> str:
    """The theorems, a printed bound that the error exceeds in bold."""
    lines = []
    for row in sorted(figures("sparse-bounds")["rows"], key=lambda row: int(row["theorem"])):
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
            for each in figures("sparse-bounds")["examples"]
        ],
    )


def users() -> str:
    """Errors at one epsilon for a user, bold where they are below that of the best constant."""
    lines = []
    for row in figures("sparse-users")["rows"]:
        cells = [shown(row[key]) for key in SCORES]
        if row["mae"] < row["best_constant"]:
            cells[0] = f"**{cells[0]}**"
        lines.append([plain(row[key]) for key in ("truths", "users", "sparsity", "epsilon")] + cells)
    return laid_out(["truths", "users", "sparsity", "user's ε", *SCORES.values()], lines)


def tables() -> dict[str, str]:
    """All tables of the page."""
    return {
        "data": data(),
        "epsilon": changes("epsilon", ("truths", "sparsity", "epsilon"), ("truths", "sparsity", "ε")),
        "sparsity": changes("sparsity", ("users", "sparsity", "epsilon"), ("users", "sparsity", "ε")),
        "real": changes("real", ("dataset", "epsilon"), ("data set", "ε")),
        "bounds": bounds(),
        "examples": examples(),
        "users": users(),
    }


if __name__ == "__main__":
    write_or_check(DOCS / "methods" / "sparse.md", tables(), __file__)
