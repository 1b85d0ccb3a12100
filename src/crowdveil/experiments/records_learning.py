"""Models trained on synthetic tables and tested on held-out real rows, which are in no report.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x, figure 6. The paper gives only accuracies. The accuracy of its model of Adult's
original rows, .746, is below that of the majority label, as if categories had been encoded as numbers. Here
they are one-hot, and AUC is given too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from crowdveil.evaluation.learning import learned
from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.records import ADULT, BANK
from crowdveil.experiments.records_trials import (
    EPSILONS,
    OURS,
    Contestant,
    Scores,
    contestants,
    picture,
    rows_over,
)
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.randomness import seeded
from crowdveil.records import Records

LABELS = {ADULT: records_data.ADULT_LABEL, BANK: records_data.BANK_LABEL}
PRINTED = {ADULT: 0.746, BANK: 0.887}  # the paper: logistic regression's accuracy on original rows
MODELS = {"logistic regression": "logistic", "boosting": "boosting"}
SCORES = ("logistic_auc", "logistic_accuracy", "boosting_auc", "boosting_accuracy")
NO_SKILL = 0.5  # AUC of models with constant predictions
UNLABELLED = "crowdveil, no label"


def learning(settings: Settings) -> Outcome:
    """Figure 6: what models that learned from synthetic rows reach on held-out real ones."""
    import crowdveil.evaluation.models  # noqa: F401, fail early without scikit-learn

    folder = data_folder(settings.data)
    tables = {ADULT: records_data.adult(folder), BANK: records_data.bank(folder)}
    rivals = {
        table: with_label(contestants(papers_batch=table == ADULT), label) for table, label in LABELS.items()
    }
    return taught(tables, LABELS, settings, rivals)


def with_label(rivals: Sequence[Contestant], label: str) -> tuple[Contestant, ...]:
    """The contestants, with our method twice: with the label, which other methods cannot use, and without."""
    extended: list[Contestant] = []
    for rival in rivals:
        if rival.method == OURS:
            extended += [Contestant(rival.name, OURS, {"label": label}), Contestant(UNLABELLED, OURS)]
        else:
            extended.append(rival)
    return tuple(extended)


def taught(
    tables: Mapping[str, Records],
    labels: Mapping[str, str],
    settings: Settings,
    rivals: Mapping[str, Sequence[Contestant]],
    epsilons: Sequence[float] = EPSILONS,
) -> Outcome:
    """Scores of models trained on synthetic versions of `tables`, by method and epsilon."""
    rows = [
        row
        for table, records in tables.items()
        for row in rows_over(
            *(table, rivals[table], epsilons, settings.each_seed()),
            partial(scored, records, labels[table]),
            settings.engine,
        )
    ]
    return Outcome(
        {
            "experiment": "records-learning",
            "seeds": settings.seeds,
            "paper": {"real_logistic_accuracy": PRINTED},
            "rows": rows,
        },
        ["table", "method", "epsilon", *(name.replace("_", " ") for name in SCORES), "AUC of real rows"],
        [
            [row["table"], row["method"], f"{row['epsilon']:g}"]
            + [f"{row[name]:.3f}" for name in (*SCORES, "real_logistic_auc")]
            for row in rows
        ],
        picture(rows, "logistic_auc", "AUC on held-out real rows"),
        "Four fifths of the rows report, and models are tested on the others. crowdveil is told the label.",
    )


def scored(records: Records, label: str, rival: Contestant, epsilon: float, seed: int) -> Scores:
    """Accuracy and AUC on a fifth of the rows, of models trained on records from the other rows' reports."""
    train, test = records_data.split(records, rng=seeded(seed))
    synthetic = rival.synthesize(train, epsilon, seed)
    models = learned(train, test, synthetic.records, label)
    scores: Scores = {"majority": models.majority.accuracy}
    for name, key in MODELS.items():
        for prefix, quality in (("", models.synthetic[name]), ("real_", models.real[name])):
            scores[f"{prefix}{key}_accuracy"] = quality.accuracy
            scores[f"{prefix}{key}_auc"] = NO_SKILL if quality.auc is None else quality.auc
    return scores
