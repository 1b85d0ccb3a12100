"""The sensing experiments have their shape, and keep what the documentation states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.experiments import sensing, sensing_real
from crowdveil.experiments.registry import EXPERIMENTS
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sensing_trials import (
    AWARE,
    METHODS,
    ORACLE,
    averaged,
    drawn_variances,
    mechanism,
    noise_of,
    rate_of,
    trial,
    weighted_means,
)
from crowdveil.local import perturb
from crowdveil.randomness import seeded
from crowdveil.report import plots
from crowdveil.simulation.sensing import SimulatedSensing

ENGINE = LocalEngine()
ONE = Settings(seeds=1, engine=ENGINE, first_seed=7)
EVERYBODY = {*METHODS, AWARE, ORACLE}


def _check(outcome: Outcome, name: str, folder: Path) -> list[dict[str, Any]]:
    """The rows of an experiment's figures, once its table and picture are seen to be sound."""
    assert outcome.figures["experiment"] == name
    assert outcome.rows
    assert {len(row) for row in outcome.rows} == {len(outcome.header)}
    plots.save(outcome.picture, folder / "p.svg")
    assert (folder / "p.svg").stat().st_size > 1000
    rows: list[dict[str, Any]] = outcome.figures["rows"]
    return rows


# --- the simulation -----------------------------------------------------------------------------------------


def test_users_errors_have_the_variances_that_are_told() -> None:
    simulation = SimulatedSensing(users=300, objects=400, lambda1=2.0)
    claims, truths = simulation.claims(rng=seeded(1)), simulation.truth_values(rng=seeded(1))
    variances = simulation.variances(rng=seeded(1))
    errors = claims.values - np.repeat(truths, claims.counts())
    found = np.bincount(claims.user_codes, errors**2) / 400
    # chi-square with 400 degrees of freedom: 7 % of standard deviation a user.
    assert np.abs(found / variances - 1).max() < 6 * np.sqrt(2 / 400)
    # Exponential with mean and standard deviation 1/2.
    assert abs(variances.mean() - 0.5) < 5 * 0.5 / np.sqrt(300)
    assert abs(np.mean(variances < np.log(2) / 2) - 0.5) < 5 * 0.5 / np.sqrt(300)
    assert 0 <= truths.min() < 1 < 9 < truths.max() <= 10


def test_the_public_range_moves_next_to_no_claim() -> None:
    for lambda1 in (0.25, 1.0, 16.0):
        simulation = SimulatedSensing(users=500, objects=100, lambda1=lambda1)
        limits = simulation.range
        values = simulation.claims(rng=seeded(2)).values
        assert np.count_nonzero((values < limits.low) | (values > limits.high)) == 0


def test_sparse_claims_are_those_of_the_dense_simulation() -> None:
    dense = SimulatedSensing(users=40, objects=10)
    sparse = replace(dense, share=0.3)
    few = sparse.frame(rng=seeded(3))
    assert few.height == 40 * 3
    assert few.join(dense.frame(rng=seeded(3)), on=["object", "user", "value"]).height == few.height
    assert few["object"].n_unique() == 10
    assert replace(dense, share=0.001).claims_of_a_user == 1


@pytest.mark.parametrize(
    "wrong", [{"users": 0}, {"objects": 0}, {"lambda1": 0.0}, {"lambda1": float("inf")}, {"share": 0.0}]
)
def test_impossible_simulations_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        SimulatedSensing(**wrong)  # type: ignore[arg-type]


# --- scores -------------------------------------------------------------------------------------------------


def test_the_oracle_knows_the_variances_that_devices_draw() -> None:
    simulation = SimulatedSensing(users=40, objects=1000)
    rng = seeded(5)
    claims = simulation.claims(rng=rng)
    device = mechanism(rate_of(1.0), simulation.range)
    noisy = perturb(claims, device, rng=rng).claims
    told = drawn_variances(device, simulation.names()[1], rng)
    truths = np.repeat(simulation.truth_values(rng=rng), claims.counts())
    found = np.bincount(noisy.user_codes, (noisy.values - truths) ** 2) / 1000
    expected = simulation.variances(rng=rng) + told
    # A thousand draws tell a variance to within 4.5 %, on either side.
    assert np.abs(found / expected - 1).max() < 5 * np.sqrt(2 * 2 / 1000)


def test_weighted_means_by_hand() -> None:
    simulation = SimulatedSensing(users=3, objects=2)
    claims, weights = simulation.claims(rng=seeded(1)), np.array([1.0, 2.0, 5.0])
    table = simulation.frame(rng=seeded(1))["value"].to_numpy().reshape(2, 3)
    assert np.allclose(weighted_means(claims, weights), table @ weights / 8)


def test_noise_and_rate_are_inverse() -> None:
    assert rate_of(1.0) == 0.5
    assert noise_of(rate_of(0.3)) == pytest.approx(0.3)


def test_at_an_average_noise_of_1_changes_are_small_and_gtm_is_near_the_oracle() -> None:
    some = {name: METHODS[name] for name in ("gtm", "crh", "mean")}
    found = averaged([trial(SimulatedSensing(), 1.0, seed, ENGINE, some) for seed in range(1000, 1025)])
    rows = {row["method"]: row for row in found}
    # Over 200 seeds .083 and .072, with .012 and .010 a seed: three standard errors of 25 below.
    assert rows["crh"]["mae_change"] <= 0.09
    assert rows["gtm"]["mae_change"] <= 0.08
    # The plain mean meets the paper's headline as well; it is by error to the truth that weights tell.
    assert rows["mean"]["mae_change"] < sensing.HEADLINE
    errors = {name: row["error"] for name, row in rows.items()}
    assert errors[ORACLE] < errors["gtm"] < errors["crh"] < errors["mean"]
    assert rows[ORACLE]["error_to_oracle"] == 1.0
    # 1.07 and 1.45 over 200 seeds, with standard errors of .018 and .05 for 25.
    assert rows["gtm"]["error_to_oracle"] < 1.15 < 1.25 < rows["mean"]["error_to_oracle"]


def test_sweeps_do_not_grow_with_noise() -> None:
    simulation = SimulatedSensing()
    for seed in range(1, 6):
        before = simulation.claims(rng=seeded(seed))
        after = perturb(before, mechanism(rate_of(4.0), simulation.range), rng=seeded(seed)).claims
        for name in ("gtm", "crh", "inverse-deviation"):
            quiet, loud = (METHODS[name](claims, engine=ENGINE) for claims in (before, after))
            assert quiet.converged
            assert loud.converged
            assert loud.sweeps <= quiet.sweeps + 2


# --- experiments --------------------------------------------------------------------------------------------


def test_all_figures_are_listed_with_their_numbers() -> None:
    figures = {
        "sensing-tradeoff": 2,
        "sensing-lambda1": 3,
        "sensing-users": 4,
        "sensing-methods": 5,
        "sensing-real": 6,
        "sensing-weights": 7,
        "sensing-time": 8,
    }
    for name, number in figures.items():
        assert (EXPERIMENTS[name].__doc__ or "").startswith(f"Figure {number}: ")


def test_the_trade_off_puts_true_deltas_beside_the_papers(tmp_path: Path) -> None:
    outcome = EXPERIMENTS["sensing-tradeoff"](ONE)
    rows = _check(outcome, "sensing-tradeoff", tmp_path)
    assert {(row["noise"], row["method"]) for row in rows} == {
        (noise, name) for noise in sensing.NOISES for name in EVERYBODY
    }
    for row in outcome.figures["privacy"]:
        # The theorem's delta covers a claim in its width, and never a user of 30.
        assert row["claim_delta"] <= row["delta"] < row["user_delta"] <= row["user_delta_in_range"]
        assert row["user_delta_at_least"] <= row["user_delta"]
        assert row["claim_delta"] < row["claim_delta_in_range"]
        assert row["verdict"] == ("refuted" if row["user_delta_at_least"] > row["delta"] else "not proved")
        if row["noise"] >= 1 and row["delta"] >= 0.3:
            assert row["verdict"] == "refuted"
    assert any("< 0.1" in cells for cells in outcome.rows)


def test_the_papers_epsilon_is_the_one_whose_noise_is_used() -> None:
    from crowdveil.local import paper_bound

    found = sensing.privacy_at(SimulatedSensing(lambda1=3.0), 0.7, 0.3)
    bound = paper_bound(3.0, found["epsilon"], 0.3, b=sensing.B, eta=sensing.ETA, claims=30)
    assert noise_of(bound.rate) == pytest.approx(0.7)


def test_good_users_need_less_noise_and_change_less(tmp_path: Path) -> None:
    rows = _check(EXPERIMENTS["sensing-lambda1"](ONE), "sensing-lambda1", tmp_path)
    mine = [row for row in rows if row["method"] == "crh"]
    for measure in ("noise", "mae_change", "error"):
        # Each doubles from one setting to the next, where a seed's standard deviation is 15 %.
        values = [row[measure] for row in mine]
        assert values == sorted(values, reverse=True)


def test_crowds_change_less_as_they_grow(tmp_path: Path) -> None:
    rows = _check(EXPERIMENTS["sensing-users"](ONE), "sensing-users", tmp_path)
    assert {row["noise"] for row in rows} == {1.0}
    for name in ("crh", "mean"):
        change = {row["users"]: row["mae_change"] for row in rows if row["method"] == name}
        # By the root of the size: a factor of ten between the ends.
        assert 5 < change[20] / change[2000] < 20


def test_every_method_is_shown_with_the_oracle(tmp_path: Path) -> None:
    rows = _check(EXPERIMENTS["sensing-methods"](ONE), "sensing-methods", tmp_path)
    assert {row["method"] for row in rows} == {*EVERYBODY, sensing.STRONG_PRIOR}
    assert {row["mae_change"] for row in rows if row["noise"] == 0} == {0.0}
    assert {row["noise"] for row in rows} == {0.0, *sensing.NOISES}


def test_weights_follow_the_noise_and_the_floorplan_is_called_simulated(tmp_path: Path) -> None:
    outcome = EXPERIMENTS["sensing-weights"](ONE)
    rows = _check(outcome, "sensing-weights", tmp_path)
    assert len(rows) == 7
    assert "simulated" in outcome.figures["dataset"]
    assert "simulated" in outcome.remark
    agreement = outcome.figures["rank_correlation"]
    assert agreement["noisy, true weights"] > 0.95
    assert agreement["noisy, precisions"] > agreement["noisy, precisions before noise"]


def test_time_is_told_with_sweeps_and_tolerance(tmp_path: Path) -> None:
    outcome = EXPERIMENTS["sensing-time"](ONE)
    rows = _check(outcome, "sensing-time", tmp_path)
    assert outcome.figures["tolerance"] == 1e-6
    assert "simulated" in outcome.remark
    for row in rows:
        assert row["cpu_ms"] > 0
        assert row["sweeps"] == row["most_sweeps"] >= 2


def test_true_weights_are_crhs_at_the_truths() -> None:
    simulation = SimulatedSensing(users=4, objects=3)
    claims, truths = simulation.claims(rng=seeded(1)), simulation.truth_values(rng=seeded(1))
    table = simulation.frame(rng=seeded(1))["value"].to_numpy().reshape(3, 4)
    losses = ((table - truths[:, None]) ** 2 / table.std(axis=1, ddof=1)[:, None]).mean(axis=0)
    assert np.allclose(sensing_real.true_weights(claims, truths), -np.log(losses / losses.sum()))


def test_the_simulated_floorplan_has_the_papers_shape_and_says_what_it_is() -> None:
    rows = sensing_real.scores_of(sensing_real.floorplan(), ONE)
    assert {row["dataset"] for row in rows} == {"floorplan (simulated)"}
    assert all(row["simulated"] for row in rows)
    claims, _ = sensing_real.floorplan().load(1)
    assert (len(claims.users), len(claims.objects)) == (247, 129)
    error = {(row["noise_ratio"], row["method"]): row["error"] for row in rows}
    for ratio in (0.0, 1.0, 4.0):
        assert error[ratio, "gtm"] < error[ratio, "mean"]


def test_real_claims_keep_what_weights_are_good_for(datasets: Path, tmp_path: Path) -> None:
    settings = Settings(seeds=3, engine=ENGINE, data=datasets)
    rows = _check(EXPERIMENTS["sensing-real"](settings), "sensing-real", tmp_path)
    error = {(row["dataset"], row["noise_ratio"], row["method"]): row["error"] for row in rows}
    assert len(error) == 3 * 3 * (len(METHODS) + 1)  # and noise-aware
    assert {row["dataset"] for row in rows if row["simulated"]} == {"floorplan (simulated)"}
    for name in sensing_real.REAL:
        for ratio in (1.0, 4.0):
            # Paired: the same noise for both.
            assert error[name, ratio, "crh"] < error[name, ratio, "mean"]
    # Weighting is not always better: no noise, no gain on flight times.
    assert error["flight_20111208", 0.0, "gtm"] > error["flight_20111208", 0.0, "mean"]
    assert {row["clamped"] for row in rows if row["dataset"] == "n_emotion"} == {0}
