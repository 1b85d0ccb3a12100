"""The real data of the sparse paper: Table II with figure 1, and figure 5.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.

The paper's Web is `web_wsd`: the three sparsities and the share of truths equal to 0 agree to six digits. It
has 1,770 answers (the paper prints 770) from 0 to 2 (the paper: 0 to 4). AdultContent is `adult_content` with
three more answers; the paper's mean sparsity does not match its own counts. `web_relevance` is not in the
paper; it has the scale of 0 to 4 that the paper describes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.answers import Answers, Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.experiments.datasets import Dataset, data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sparse import EPSILONS, MEANING
from crowdveil.experiments.sparse_trials import METHODS, Loaded, picture, rows_over, table
from crowdveil.public_range import Range
from crowdveil.report import plots
from crowdveil.report.plots import Figure

FACTS = ("users", "objects", "answers", "most_sparsity", "least_sparsity", "mean_sparsity")


@dataclass(frozen=True)
class Source:
    """Real answers with truths, and the figures that the paper prints of them."""

    name: str
    domain: Domain
    printed: tuple[float, ...] | None = None  # FACTS, in Table II

    def load(self, folder: Path) -> Loaded:
        """The answers, and the truth of each object (NaN if it is unknown)."""
        limits = Range(float(self.domain.low), float(self.domain.high))
        claims, truths = Dataset(self.name, self.name, "", limits, unit=1.0).load(folder)
        return Answers.from_claims(claims, self.domain), truths


SOURCES = (
    Source("web_wsd", Domain(0, 2), (34, 177, 770, 0.903955, 0.0, 0.705882)),
    Source("adult_content", Domain(0, 3), (825, 11_040, 89_796, 0.999909, 0.316033, 0.993666)),
    Source("web_relevance", Domain(0, 4)),
)


# --- Table II and figure 1 ----------------------------------------------------------------------------------


def data(settings: Settings) -> Outcome:
    """Table II and figure 1: how sparse real answers are, and how answers and truths are spread."""
    folder = data_folder(settings.data)
    rows = [facts(source, *source.load(folder)) for source in SOURCES]
    return Outcome(
        {"experiment": "sparse-data", "rows": rows},
        ["dataset", "users", "objects", "answers", "sparsity: most", "least", "mean", "truths", "right"],
        [line for row in rows for line in _lines(row)],
        _data_picture(rows),
        "Sparsity: the share of objects that a user did not answer about. right: the share of answers that "
        "are the truth, where it is known. By its sparsities the paper's Web is web_wsd.",
    )


def facts(source: Source, answers: Answers, truths: Floats) -> dict[str, Any]:
    """The row of Table II, and the shares of answers and truths of figure 1."""
    sparsity = 1.0 - np.diff(answers.offsets) / len(answers.objects)
    has_truth = ~np.isnan(truths)
    truth_codes = np.rint(truths[has_truth] - answers.domain.low).astype(np.int64)
    answer_truths = truths[answers.object_codes]
    judged = ~np.isnan(answer_truths)
    right = answers.domain.low + answers.codes[judged] == answer_truths[judged]
    return {
        "dataset": source.name,
        "users": len(answers.users),
        "objects": len(answers.objects),
        "answers": len(answers),
        "most_sparsity": float(sparsity.max()),
        "least_sparsity": float(sparsity.min()),
        "mean_sparsity": float(sparsity.mean()),
        "known_truths": int(has_truth.sum()),
        "right": float(right.mean()),
        "domain": [answers.domain.low, answers.domain.high],
        "answer_shares": _shares(answers.codes.astype(np.int64), answers.domain),
        "truth_shares": _shares(truth_codes, answers.domain),
        "printed": dict(zip(FACTS, source.printed, strict=True)) if source.printed else None,
    }


def _shares(codes: Ints, domain: Domain) -> list[float]:
    counts = np.bincount(codes, minlength=domain.size)
    return [float(share) for share in counts / codes.size]


def _lines(row: dict[str, Any]) -> list[list[str]]:
    """One line of counted and one of printed figures."""

    def cells(figures: dict[str, Any]) -> list[str]:
        counts = [f"{figures[key]:,}" for key in FACTS[:3]]
        return [*counts, *(f"{figures[key]:.6f}" for key in FACTS[3:])]

    lines = [[row["dataset"], *cells(row), f"{row['known_truths']:,}", f"{row['right']:.3f}"]]
    if row["printed"]:
        lines.append(["  in the paper", *cells(row["printed"]), "-", "-"])
    return lines


def _data_picture(rows: list[dict[str, Any]]) -> Figure:
    figure, axes = plots.figure(9.5, 3.0, 1, len(rows))
    for panel, row in zip(axes, rows, strict=True):
        low, high = row["domain"]
        series = {"answers": row["answer_shares"], "truths": row["truth_shares"]}
        plots.draw_bars(panel, [str(value) for value in range(low, high + 1)], series, "share")
        panel.set_xlabel(row["dataset"])
    return figure


# --- Figure 5 -----------------------------------------------------------------------------------------------


def real(settings: Settings) -> Outcome:
    """Figure 5: MAE change against epsilon on real answers (fewer seeds on the largest)."""
    folder = data_folder(settings.data)
    rows: list[dict[str, Any]] = []
    for source in SOURCES:
        loaded = source.load(folder)
        cells = len(loaded[0].users) * len(loaded[0].objects)
        rows += _rows_of(loaded, settings, source.name, cells)
    panels = {source.name: [row for row in rows if row["dataset"] == source.name] for source in SOURCES}
    return Outcome(
        {"experiment": "sparse-real", "seeds": settings.seeds, "rows": rows},
        ["dataset", "epsilon", *METHODS],
        table(rows, ("dataset", "epsilon")),
        picture(panels, "epsilon"),
        MEANING,
    )


def _rows_of(loaded: Loaded, settings: Settings, name: str, cells: int) -> list[dict[str, Any]]:
    return rows_over(lambda _: loaded, EPSILONS, settings, cells=cells, dataset=name)
