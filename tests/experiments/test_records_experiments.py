"""The records experiments: their shape, that means are means, and that settings reach methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import comb, log2, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError
from crowdveil.evaluation.marginals import distances
from crowdveil.experiments import (
    records,
    records_batches,
    records_cost,
    records_data,
    records_facts,
    records_learning,
    records_trials,
)
from crowdveil.experiments.records_trials import PAPERS_BATCH, Contestant, averaged, contestants, rows_over
from crowdveil.experiments.registry import EXPERIMENTS
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.report import plots
from crowdveil.simulation.records import SimulatedRecords
from crowdveil.synthesis import latent_class_synthesis, samprivsyn
from crowdveil.synthesis.calm import Calm
from crowdveil.synthesis.krr import AllColumns
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.registry import METHODS, Method
from crowdveil.synthesis.simulated import collected, synthesize

ENGINE = LocalEngine()
ONE = Settings(seeds=1, engine=ENGINE, first_seed=3)
TWO = Settings(seeds=2, engine=ENGINE, first_seed=3)
SMALL: Records = SimulatedRecords(600, 4, 3, 0.8).records(rng=seeded(1))
QUICK = (Contestant("independent", "independent"), Contestant("calm", "calm"))
NAMES = ("data", "adult", "bank", "variants", "learning", "cost", "batches")


def check(outcome: Outcome, name: str, folder: Path, panels: int) -> list[dict[str, Any]]:
    """The rows of an experiment's figures, once its table and picture are seen to be sound."""
    assert outcome.figures["experiment"] == name
    assert outcome.rows
    assert {len(row) for row in outcome.rows} == {len(outcome.header)}
    assert len(outcome.picture.axes) == panels
    plots.save(outcome.picture, folder / "p.svg")
    assert (folder / "p.svg").stat().st_size > 1000
    rows: list[dict[str, Any]] = outcome.figures["rows"]
    return rows


# --- methods side by side -----------------------------------------------------------------------------------


def test_all_figures_are_listed_with_their_numbers() -> None:
    for name, begin in {
        "records-data": "Table 2: ",
        "records-adult": "Figure 5a: ",
        "records-bank": "Figure 5e: ",
        "records-variants": "Figures 5b to 5d: ",
        "records-learning": "Figure 6: ",
        "records-cost": "Figure 7: ",
        "records-batches": "Figure 8: ",
    }.items():
        assert (EXPERIMENTS[name].__doc__ or "").startswith(begin)


@pytest.mark.parametrize("name", NAMES)
def test_without_data_the_error_says_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CROWDVEIL_DATA", raising=False)
    with pytest.raises(InputError, match="--data"):
        EXPERIMENTS[f"records-{name}"](ONE)


def test_every_method_takes_part_with_its_own_settings_and_samprivsyn_with_the_papers_too() -> None:
    assert [each.name for each in contestants(papers_batch=False)] == list(METHODS)
    assert all(each.name == each.method and not each.settings for each in contestants(papers_batch=False))
    added = [each for each in contestants(papers_batch=True) if each not in contestants(papers_batch=False)]
    assert added == [PAPERS_BATCH]
    assert (PAPERS_BATCH.method, PAPERS_BATCH.settings) == ("samprivsyn", {"batch": 30_000})
    assert samprivsyn.BATCH == 2_000  # the paper's on Bank Marketing
    assert records_trials.EPSILONS == (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)


def test_settings_epsilon_seed_and_rows_reach_the_method() -> None:
    made = Contestant("some name", "samprivsyn", {"batch": 150}).synthesize(SMALL, 2.0, 5, rows=40)
    assert made.method == "samprivsyn"
    assert made.parameters == {"epsilon": 2.0, "batch": 150}
    assert len(made.records) == 40
    direct = synthesize(SMALL, samprivsyn.SamPrivSyn(2.0, 150), rows=40, rng=seeded(5))
    assert np.array_equal(made.records.codes, direct.records.codes)
    other = Contestant("some name", "samprivsyn", {"batch": 150}).synthesize(SMALL, 2.0, 6, rows=40)
    assert not np.array_equal(made.records.codes, other.records.codes)


def test_means_over_seeds_have_their_deviation() -> None:
    found = averaged([{"a": 1.0, "b": 2.0}, {"a": 4.0, "b": 2.0}])
    assert found == pytest.approx({"a": 2.5, "a_sd": 3 / np.sqrt(2), "b": 2.0, "b_sd": 0.0})
    assert averaged([{"a": 1.0}]) == {"a": 1.0, "a_sd": 0.0}


def test_every_setting_is_tried_with_every_seed_and_progress_never_falls() -> None:
    tried: list[tuple[str, float, int]] = []
    shares: list[float] = []

    def trial(rival: Contestant, epsilon: float, seed: int) -> dict[str, float]:
        tried.append((rival.name, epsilon, seed))
        return {"score": epsilon + seed}

    engine = LocalEngine(progress=lambda _, share: shares.append(share))
    rows = rows_over("some", QUICK, (1.0, 2.0), (5, 9), trial, engine)
    assert tried == list(product(("independent", "calm"), (1.0, 2.0), (5, 9)))
    assert [(row["method"], row["epsilon"], row["score"], row["seeds"]) for row in rows] == [
        ("independent", 1.0, 8.0, 2),
        ("independent", 2.0, 9.0, 2),
        ("calm", 1.0, 8.0, 2),
        ("calm", 2.0, 9.0, 2),
    ]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


# --- distances ----------------------------------------------------------------------------------------------


def test_distances_are_those_of_the_methods_tables(tmp_path: Path) -> None:
    tables = {"one": SMALL, "two": records_data.replicated(SMALL, 2)}
    outcome = records.compared("records-some", tables, TWO, QUICK, (1.0, 8.0))
    rows = check(outcome, "records-some", tmp_path, panels=2)
    assert [(row["table"], row["method"], row["epsilon"]) for row in rows] == list(
        product(("one", "two"), ("independent", "calm"), (1.0, 8.0))
    )
    (mine,) = [row for row in rows if (row["table"], row["method"], row["epsilon"]) == ("one", "calm", 8.0)]
    made = [METHODS["calm"].synthesize(SMALL, Calm(8.0), rng=seeded(seed)) for seed in (3, 4)]
    for way in (1, 2, 3):
        each = [distances(SMALL, one.records, way).mean for one in made]
        assert mine[f"tvd{way}"] == pytest.approx(np.mean(each))
        assert mine[f"tvd{way}_sd"] == pytest.approx(np.std(each, ddof=1))
    assert mine["bits"] == pytest.approx(np.mean([one.report_bits for one in made]))
    assert mine["seeds"] == outcome.figures["seeds"] == 2
    first, second = outcome.figures["tables"]
    assert (first["table"], first["rows"], second["rows"], first["columns"]) == ("one", 600, 1200, 4)
    # Independent columns, even exact ones, are far from columns that depend on each other.
    assert first["independent1"] == pytest.approx(0.0, abs=1e-9)
    assert first["independent2"] == pytest.approx(second["independent2"])
    assert mine["tvd2"] < 0.7 * first["independent2"]
    assert outcome.rows[0][:3] == ["one", "independent", "1"]


def test_every_method_runs_on_a_small_table(tmp_path: Path) -> None:
    one_round = {"crowdveil": {"rounds": 1}}  # which is quicker
    rivals = [
        Contestant(each.name, each.method, one_round.get(each.method, each.settings))
        for each in contestants(papers_batch=True)
    ]
    outcome = records.compared("records-some", {"some": SMALL}, ONE, rivals, (4.0,))
    rows = check(outcome, "records-some", tmp_path, panels=1)
    assert len(rows) == len(METHODS) + 1
    for row in rows:
        assert 0.0 < row["tvd1"] < row["tvd2"] < row["tvd3"] < 1.0
        assert row["relative_error"] > 0.0
        assert row["bits"] >= 1.0
    # 600 people are one batch, whether a batch has 2,000 or 30,000; else no two methods are the same.
    by_name = {row["method"]: row["tvd2"] for row in rows}
    assert by_name.pop(PAPERS_BATCH.name) == by_name["samprivsyn"]
    assert len(set(by_name.values())) == len(METHODS)


@dataclass
class Recorded:
    """What an experiment would have run."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> None:
        self.calls.append(arguments)


def test_adult_and_its_variants_have_the_papers_batches_and_bank_has_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    codes = np.zeros((5, 9), dtype=np.int32)
    monkeypatch.setattr(records_data, "adult", lambda folder: Records(records_data.ADULT, codes))
    monkeypatch.setattr(records_data, "bank", lambda folder: SMALL)
    run = Recorded()
    monkeypatch.setattr(records, "compared", run)
    for experiment in (records.adult, records.bank, records.variants):
        experiment(Settings(seeds=7, engine=ENGINE, data=tmp_path))
    (adult, bank, variants) = run.calls
    assert [call[0] for call in run.calls] == ["records-adult", "records-bank", "records-variants"]
    assert [PAPERS_BATCH in call[3] for call in run.calls] == [True, False, True]
    assert [call[2].seeds for call in run.calls] == [7, 7, 1]
    assert {name: len(table) for name, table in variants[1].items()} == {
        "SYN1-Adult": 10,
        "SYN2-Adult": 20,
        "SYN3-Adult": 5,
    }
    assert list(adult[1]) == ["Adult"]
    assert bank[1]["Bank Marketing"] is SMALL


# --- learning -----------------------------------------------------------------------------------------------


def test_only_the_projects_own_method_is_told_the_label() -> None:
    rivals = records_learning.with_label(contestants(papers_batch=True), "income")
    told = {rival.name: rival for rival in rivals if "label" in rival.settings}
    assert list(told) == ["crowdveil"]
    assert told["crowdveil"].settings == {"label": "income"}
    (without,) = [rival for rival in rivals if rival.name == records_learning.UNLABELLED]
    assert (without.method, without.settings) == ("crowdveil", {})
    assert PAPERS_BATCH in rivals


def test_models_learn_from_what_four_fifths_report_and_are_tested_on_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SimulatedRecords(1_500, 4, 2, 0.9, 2).records(rng=seeded(1))
    asked: list[tuple[int, Any]] = []

    def watched(told: Records, parameters: LatentClassSynthesis, **options: Any) -> Any:
        asked.append((len(told), parameters.label))
        return METHODS["calm"].synthesize(told, Calm(parameters.epsilon), **options)  # quicker

    monkeypatch.setattr(latent_class_synthesis, "METHOD", Method(LatentClassSynthesis, watched))
    pair = (QUICK[0], Contestant("crowdveil", "crowdveil"))
    rivals = {"some": records_learning.with_label(pair, "column-2")}
    outcome = records_learning.taught({"some": table}, {"some": "column-2"}, ONE, rivals, (6.0,))
    rows = check(outcome, "records-learning", tmp_path, panels=1)
    assert asked == [(1_200, "column-2"), (1_200, None)]
    by_name = {row["method"]: row for row in rows}
    assert list(by_name) == ["independent", "crowdveil", records_learning.UNLABELLED]
    for row in rows:
        assert row["real_logistic_auc"] > 0.9
        assert row["majority"] == by_name["crowdveil"]["majority"] < 0.75
        assert {f"{score}_sd" for score in records_learning.SCORES} <= set(row)
        # From independent columns a model leans one way or the other by chance.
        assert row["method"] == "independent" or min(row["logistic_auc"], row["boosting_auc"]) > 0.85
    assert outcome.figures["paper"]["real_logistic_accuracy"] == {"Adult": 0.746, "Bank Marketing": 0.887}


# --- Table 2 ------------------------------------------------------------------------------------------------


def test_facts_are_counted() -> None:
    codes = np.array([[0, 0], [0, 0], [2, 1], [1, 1]], dtype=np.int32)
    found = records_facts.facts("some", Records(SimulatedRecords(1, 2, 3).schema(), codes))
    assert (found["rows"], found["columns"], found["different"], found["only_once"]) == (4, 2, 3, 2)
    assert found["domain"] == pytest.approx(log2(9))
    assert found["printed"] is None


def test_the_papers_table_is_ours_but_for_its_slips(datasets: Path, tmp_path: Path) -> None:
    outcome = EXPERIMENTS["records-data"](Settings(seeds=1, engine=ENGINE, data=datasets))
    rows = {row["table"]: row for row in check(outcome, "records-data", tmp_path, panels=2)}
    assert list(rows) == list(records_facts.PRINTED)
    assert {name: row["rows"] for name, row in rows.items()} == {
        "Adult": 30_162,
        "SYN1-Adult": 2 * 30_162,
        "SYN2-Adult": 4 * 30_162,
        "SYN3-Adult": 30_162,
        "Bank Marketing": 45_211,
    }
    printed = {name: row["printed"] for name, row in rows.items()}
    assert all(row["columns"] == printed[name]["columns"] for name, row in rows.items())
    assert printed["SYN2-Adult"]["rows"] == 4 * printed["Adult"]["rows"]
    assert {name for name, row in rows.items() if round(row["domain"]) != printed[name]["domain"]} == {
        "Adult",
        "Bank Marketing",
    }
    # The same columns have two domains in the paper.
    assert printed["Adult"]["domain"] != printed["SYN1-Adult"]["domain"] == round(rows["Adult"]["domain"])
    # Bank Marketing's categories alone leave about three bins for each of the numbers.
    numbers = [column.edges is not None for column in records_data.BANK.columns]
    categories = prod(s for s, number in zip(records_data.BANK.sizes, numbers, strict=True) if not number)
    assert 2 ** ((29 - log2(categories)) / sum(numbers)) == pytest.approx(3.0, abs=0.2)
    # Cells over which RE is a mean hold one person, for the most part.
    assert rows["Adult"]["only_once"] > 0.6 * rows["Adult"]["different"]


# --- costs --------------------------------------------------------------------------------------------------


def test_costs_are_bits_of_reports_and_of_questions(tmp_path: Path) -> None:
    rivals = [each for each in contestants(papers_batch=False) if each.method != "crowdveil"]  # slow
    outcome = records_cost.priced({"some": SMALL}, ONE, rivals, (4.0,))
    rows = {row["method"]: row for row in check(outcome, "records-cost", tmp_path, panels=1)}
    assert list(rows) == [each.name for each in rivals]
    assert rows["krr"]["bits"] == 4 * 2  # four columns of three values
    assert rows["lopub"]["bits"] == 4 * 64
    assert rows["samprivsyn"]["bits"] == pytest.approx(2 * 2)
    # A pair has nine cells: e^4 is so large that the cell itself is sent.
    assert rows["calm"]["bits"] == pytest.approx(4)
    assert {name: row["question_bits"] for name, row in rows.items()} == {
        "calm": 3,
        "samprivsyn": 3,
        "lopub": 0,
        "krr": 0,
        "independent": 2,
    }
    for row in rows.values():
        assert row["megabits"] == pytest.approx(30_000 * row["bits"] / 1e6)
    # Columns alone, and pairs or more of them.
    assert records_cost.questions_of(LatentClassSynthesis(4.0), SMALL.schema) > 4
    assert records_cost.questions_of(Calm(4.0), SMALL.schema) == comb(4, 2)
    assert records_cost.questions_of(AllColumns(4.0), SMALL.schema) == 1


@pytest.mark.parametrize("name", records_cost.ALL_COLUMNS)
def test_a_few_records_tell_what_reports_about_all_columns_cost(name: str) -> None:
    rival = Contestant(name, name)
    few, all_of_them = (SMALL.take(np.arange(many)) for many in (records_cost.FEW, 600))
    assert rival.synthesize(few, 2.0, 1).report_bits == rival.synthesize(all_of_them, 2.0, 1).report_bits


def test_what_the_devices_of_a_method_with_questions_send_is_told_by_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def watched(self: Contestant, told: Records, *arguments: Any, rows: int) -> Any:
        asked.append(len(told))
        return METHODS["krr"].synthesize(told, AllColumns(1.0), rows=rows, rng=seeded(1))

    monkeypatch.setattr(Contestant, "synthesize", watched)
    monkeypatch.setattr(records_cost, "DEVICES", 500)
    for name in METHODS:
        records_cost.price(SMALL, Contestant(name, name), 1.0, 1)
    assert asked == [100 if name in records_cost.ALL_COLUMNS else 500 for name in METHODS]


# --- batches ------------------------------------------------------------------------------------------------


def test_information_is_that_of_the_table() -> None:
    copies = np.repeat([[0, 0, 0], [1, 1, 0], [2, 2, 0], [0, 0, 1], [1, 1, 1], [2, 2, 1]], 5, axis=0)
    table = Records(SimulatedRecords(1, 3, 3).schema(), copies.astype(np.int32))
    assert records_batches.information_of(table, ("column-1", "column-2")) == pytest.approx(np.log(3))
    assert records_batches.information_of(table, ("column-1", "column-3")) == pytest.approx(0.0, abs=1e-12)
    truth = records_batches.truth(table)
    assert truth["most"] == ["column-1", "column-2"]
    assert truth["mean"] == pytest.approx(np.log(3) / 3)


def test_batches_tell_what_samprivsyn_believes(tmp_path: Path) -> None:
    pair = ("column-3", "column-1")  # in any order
    outcome = records_batches.batched({"one": SMALL, "two": SMALL}, pair, TWO, (100, 600))
    rows = check(outcome, "records-batches", tmp_path, panels=2)
    assert [(row["table"], row["batch"]) for row in rows] == list(product(("one", "two"), (100, 600)))
    assert {key: rows[0][key] for key in rows[0] if key != "table"} == {
        key: rows[2][key] for key in rows[2] if key != "table"
    }
    real = records_batches.information_of(SMALL, pair)
    for row in rows:
        assert row["true"] == pytest.approx(real)
        assert row["true_sd"] == pytest.approx(0.0, abs=1e-12)
        assert row["error"] >= abs(row["estimated"] - real) - 1e-12
        assert 0.3 * real < row["synthetic"] < 2.0 * real
        assert row["seeds"] == 2
    # All people in one batch are asked about six pairs alike; smaller batches ask more where there is more.
    alone = rows[1]
    assert 70 < alone["asked"] < 130
    parameters = samprivsyn.SamPrivSyn(5.0, 600)
    each = [
        parameters.estimates(SMALL.schema, collected(SMALL, parameters, rng=seeded(seed)).halves).information
        for seed in (3, 4)
    ]
    second = [information[0, 2] for information in each]
    assert alone["estimated"] == pytest.approx(np.mean(second))
    assert alone["estimated_sd"] == pytest.approx(np.std(second, ddof=1))
    assert alone["mean_of_pairs"] == pytest.approx(np.mean([[*information.values()] for information in each]))


def test_the_papers_pair_depends_most_on_adult_but_not_on_what_repeats_columns(datasets: Path) -> None:
    adult = records_data.adult(datasets)
    assert records_batches.information_of(adult, records_batches.PAIR) == pytest.approx(0.725, abs=5e-4)
    assert records_batches.truth(adult)["most"] == list(records_batches.PAIR)
    assert records_batches.truth(records_data.syn3(adult))["most"] == ["occupation", "occupation-again"]
