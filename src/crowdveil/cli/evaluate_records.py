"""The part of `crowdveil evaluate` that compares synthetic records with real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdveil.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from crowdveil.evaluation.comparison import Comparison

PAIRS_SHOWN = 5


@dataclass(frozen=True)
class RecordsAsked:
    """What was asked for about records."""

    synthetic: str
    real: str
    schema: Path
    label: str | None
    held_out: str | None
    clamp: bool
    seed: int
    out: Path | None
    force: bool

    def __post_init__(self) -> None:
        if self.out is not None and self.out.suffix.lower() not in (".html", ".svg"):
            raise ParameterError("-o takes a page that ends in .html or a picture that ends in .svg")
        if self.held_out is not None and self.label is None:
            raise ParameterError("--held-out is for learning: name the column to learn with --label")


def evaluate_records(asked: RecordsAsked, *, as_json: bool) -> None:
    """Compare, tell, and write the page or picture."""
    from crowdveil.cli.console import announce_compiling, say_json, warn
    from crowdveil.evaluation.comparison import compare
    from crowdveil.files import check_new, read_records, read_schema
    from crowdveil.randomness import seeded

    if asked.out is not None:
        check_new(asked.out, force=asked.force)
    schema = read_schema(asked.schema)
    if asked.label is not None:
        schema.index(asked.label)
        asked = _without_missing_models(asked)
    read = partial(read_records, schema=schema, clamp=asked.clamp)
    real, synthetic = read(asked.real), read(asked.synthetic)
    held_out = None if asked.held_out is None else read(asked.held_out)
    announce_compiling()
    found = compare(real, synthetic, label=asked.label, held_out=held_out, rng=seeded(asked.seed))
    if asked.out is not None:
        _write(found, asked.out, force=asked.force)
    if as_json:
        say_json(found.to_dict())
    else:
        _tell(found.to_dict())
    if asked.label is not None and held_out is None:
        warn("models were tested on a fifth of --real; --held-out takes rows that nothing was made from")
    warn("these figures look at real records: for your eyes only")


def _without_missing_models(asked: RecordsAsked) -> RecordsAsked:
    """What was asked for, less the learning where scikit-learn is not installed."""
    from crowdveil.cli.console import warn

    try:
        import crowdveil.evaluation.models  # noqa: F401
    except MissingExtra as missing:
        warn(f"what models learn is left out: {missing}")
        return replace(asked, label=None, held_out=None)
    return asked


def _write(found: Comparison, out: Path, *, force: bool) -> None:
    from crowdveil.files import whole_file
    from crowdveil.report.records_page import comparison_page, comparison_picture

    make = comparison_page if out.suffix.lower() == ".html" else comparison_picture
    with whole_file(out, force=force, mode=0o600) as draft:
        draft.write_text(make(found), encoding="utf-8")


def _tell(told: dict[str, Any]) -> None:
    from crowdveil.cli.console import say, say_table

    rows = told["rows"]
    say(f"{rows['synthetic']:,} synthetic records against {rows['real']:,} real ones\n")
    say_table(
        ["columns together", "tables", "mean TVD", "largest", "if independent", "if resampled"],
        [_marginal_row(ways, row) for ways, row in told["marginals"].items()],
    )
    worst = sorted(told["pairs"], key=lambda pair: -pair["tvd"])[:PAIRS_SHOWN]
    if worst:
        say("")
        say_table(
            ["pair that differs most", "TVD"],
            [[", ".join(pair["columns"]), f"{pair['tvd']:.4f}"] for pair in worst],
        )
    queries = told["queries"]
    say("")
    say_table(
        ["measure", "figure"],
        [
            ["random questions: mean absolute error", f"{queries['mean_absolute_error']:.5f}"],
            ["random questions: mean relative error", f"{queries['mean_relative_error']:.4f}"],
            ["Cramer's V: mean difference", f"{told['association']['mean_absolute_difference']:.4f}"],
            ["RE, the paper's relative error", f"{told['relative_error']:.4f}"],
        ],
    )
    if "learning" in told:
        _tell_learning(told["learning"])


def _marginal_row(ways: str, row: dict[str, Any]) -> list[str]:
    figures = ("mean_tvd", "largest_tvd", "mean_tvd_if_independent", "mean_tvd_if_resampled")
    tables = f"{row['tables']}{' drawn' if row['sampled'] else ''}"
    return [ways, tables, *(f"{row[name]:.4f}" for name in figures)]


def _tell_learning(told: dict[str, Any]) -> None:
    from crowdveil.cli.console import say, say_table

    def cells(score: dict[str, float | None]) -> list[str]:
        return [f"{score['accuracy']:.4f}", "-" if score["auc"] is None else f"{score['auc']:.4f}"]

    say(f"\nlearning {told['label']!r}, tested on {told['tested']:,} real rows\n")
    lines = [
        [f"{name}, trained on {kind}", *cells(trained[kind])]
        for name, trained in told["models"].items()
        for kind in ("real", "synthetic")
    ]
    say_table(["model", "accuracy", "AUC"], [["the most frequent label", *cells(told["majority"])], *lines])
