"""Writes the tables of docs/methods/records.md from docs/figures; `--check` only says if they are current."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from tables import DOCS, best_in_bold, figures, laid_out, plain, shown, write_or_check

from crowdveil.experiments.records import WAYS
from crowdveil.experiments.records_facts import FACTS
from crowdveil.experiments.records_learning import SCORES

DISTANCES = {f"tvd{way}": f"{way}-way TVD" for way in WAYS}
ERROR = "relative_error"
Row = Mapping[str, Any]


def by_method(
    rows: Sequence[Row],
    scores: Mapping[str, str],
    *,
    best: Callable[[Iterable[float]], float] = min,
    unjudged: Sequence[str] = (),
    beside: Mapping[str, Callable[[str, Row], str]] | None = None,
) -> str:
    """A line for each score and epsilon, a column for each method; the best is bold but in `unjudged` scores.

    The last column is the largest standard deviation over seeds in the line. Columns `beside` the methods'
    are made from the score and any one row of the line.
    """
    methods, more, lines = different(rows, "method"), beside or {}, []
    named = len(different(rows, "table")) > 1
    for table, score, epsilon in product(different(rows, "table"), scores, different(rows, "epsilon")):
        mine = {row["method"]: row for row in rows if (row["table"], row["epsilon"]) == (table, epsilon)}
        if not mine:
            continue
        values = {name: mine[name][score] for name in methods if name in mine}
        cells = [shown(value, 3) for value in values.values()]
        if score not in unjudged:
            cells = best_in_bold(values, digits=3, best=best)
        known = dict(zip(values, cells, strict=True))
        lines.append(
            [
                *([table] if named else []),
                *(scores[score], plain(epsilon)),
                *(known.get(name, "") for name in methods),
                *(make(score, next(iter(mine.values()))) for make in more.values()),
                deviation(mine.values(), score),
            ]
        )
    begin = ["data set"] if named else []
    return laid_out([*begin, "score", "ε", *methods, *more, "deviation at most"], lines)


def deviation(rows: Iterable[Row], score: str) -> str:
    """The largest standard deviation of a score over seeds; nothing where there is one seed."""
    found = [row[f"{score}_sd"] for row in rows if row["seeds"] > 1]
    return shown(max(found), 3) if found else ""


def different(rows: Sequence[Row], key: str) -> list[Any]:
    """The values of a key, in order."""
    return list(dict.fromkeys(row[key] for row in rows))


def data() -> str:
    """Table 2, with what the paper prints below."""
    lines = []
    for row in figures("records-data")["rows"]:
        counted = [plain(row[key]) for key in FACTS[:2]]
        held = [plain(row["different"]), plain(row["only_once"])]
        lines.append([row["table"], *counted, f"2^{row['domain']:.1f}", *held, ""])
        known = row["printed"]
        if known:
            printed = [plain(known[key]) for key in FACTS[:2]]
            lines.append(["in the paper", *printed, f"2^{known['domain']}", "", "", row["remark"]])
    return laid_out(
        ["data set", "rows", "columns", "domain", "different records", "held by one person", ""], lines
    )


def compared(experiment: str, distances: Iterable[str] = DISTANCES) -> str:
    """Distances of synthetic tables from real ones, and the paper's relative error."""
    scores = {key: DISTANCES[key] for key in distances} | {ERROR: "RE"}
    return by_method(figures(experiment)["rows"], scores, unjudged=(ERROR,))


def learning() -> str:
    """What models reach on held-out real rows."""

    def real(score: str, row: Row) -> str:
        return shown(row[f"real_{score}"], 3)

    def majority(score: str, row: Row) -> str:
        return shown(row["majority"], 3) if score.endswith("accuracy") else ""

    return by_method(
        figures("records-learning")["rows"],
        {score: score.replace("_", ", ").replace("auc", "AUC") for score in SCORES},
        best=max,
        beside={"real rows": real, "always the same": majority},
    )


def cost() -> str:
    """Bits of a report, and of its question's number where there are several; and those of all devices."""
    rows = figures("records-cost")["rows"]
    methods, lines = different(rows, "method"), []

    def bits(row: Row) -> str:
        return f"{row['bits']:.1f}" + (f" + {row['question_bits']}" if row["question_bits"] else "")

    for table, epsilon in product(different(rows, "table"), different(rows, "epsilon")):
        mine = {row["method"]: row for row in rows if (row["table"], row["epsilon"]) == (table, epsilon)}
        begin = [table, plain(epsilon)]
        lines.append([*begin, "bits", *(bits(mine[name]) for name in methods)])
        lines.append([*begin, "megabits", *(shown(mine[name]["megabits"]) for name in methods)])
    return laid_out(["data set", "ε", "", *methods], lines)


def batches() -> str:
    """Mutual information of the pair and of all pairs, by the size of a batch."""
    lines = [
        [
            row["table"],
            plain(row["batch"]),
            shown(row["estimated"], 3),
            deviation([row], "estimated"),
            *(shown(row[key], 3) for key in ("synthetic", "true", "error")),
            f"{row['asked']:,.0f}",
            *(shown(row[key], 3) for key in ("mean_of_pairs", "true_mean_of_pairs", "tvd2")),
        ]
        for row in figures("records-batches")["rows"]
    ]
    pair = ["estimated", "its deviation", "of synthetic rows", "true", "error", "people asked about it"]
    return laid_out(["data set", "B", *pair, "mean of all pairs", "true mean", "2-way TVD"], lines)


def tables() -> dict[str, str]:
    """All tables of the page."""
    return {
        "data": data(),
        "adult": compared("records-adult"),
        "bank": compared("records-bank"),
        "variants": compared("records-variants", ("tvd2",)),
        "learning": learning(),
        "cost": cost(),
        "batches": batches(),
    }


if __name__ == "__main__":
    write_or_check(DOCS / "methods" / "records.md", tables(), __file__)
