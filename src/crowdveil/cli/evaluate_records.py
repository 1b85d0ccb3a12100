"""What `crowdveil evaluate` prints when synthetic records are compared with real ones."""

from __future__ import annotations

from typing import Any

from crowdveil.cli.console import say, say_table

PAIRS_SHOWN = 5


def show_records(figures: dict[str, Any]) -> None:
    """The tables of a comparison, for people."""
    rows = figures["rows"]
    say(f"{rows['synthetic']:,} synthetic records against {rows['real']:,} real ones\n")
    say_table(
        ["columns together", "tables", "mean TVD", "largest", "if independent", "if resampled"],
        [_marginal_row(ways, row) for ways, row in figures["marginals"].items()],
    )
    worst = sorted(figures["pairs"], key=lambda pair: -pair["tvd"])[:PAIRS_SHOWN]
    if worst:
        say("")
        say_table(
            ["pair that differs most", "TVD"],
            [[", ".join(pair["columns"]), f"{pair['tvd']:.4f}"] for pair in worst],
        )
    queries = figures["queries"]
    say("")
    say_table(
        ["measure", "figure"],
        [
            ["random questions: mean absolute error", f"{queries['mean_absolute_error']:.5f}"],
            ["random questions: mean relative error", f"{queries['mean_relative_error']:.4f}"],
            ["Cramer's V: mean difference", f"{figures['association']['mean_absolute_difference']:.4f}"],
            ["RE, the paper's relative error", f"{figures['relative_error']:.4f}"],
        ],
    )
    if "learning" in figures:
        _show_learning(figures["learning"])


def _marginal_row(ways: str, row: dict[str, Any]) -> list[str]:
    measures = ("mean_tvd", "largest_tvd", "mean_tvd_if_independent", "mean_tvd_if_resampled")
    tables = f"{row['tables']}{' drawn' if row['sampled'] else ''}"
    return [ways, tables, *(f"{row[name]:.4f}" for name in measures)]


def _show_learning(learning: dict[str, Any]) -> None:
    def cells(score: dict[str, float | None]) -> list[str]:
        return [f"{score['accuracy']:.4f}", "-" if score["auc"] is None else f"{score['auc']:.4f}"]

    say(f"\nlearning {learning['label']!r}, tested on {learning['tested']:,} real rows\n")
    model_rows = [
        [f"{name}, trained on {kind}", *cells(trained[kind])]
        for name, trained in learning["models"].items()
        for kind in ("real", "synthetic")
    ]
    say_table(
        ["model", "accuracy", "AUC"], [["the most frequent label", *cells(learning["majority"])], *model_rows]
    )
