"""Audits as they are run: sound claims stand, false ones of papers fall, and figures are as expected."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from few_draws import ALPHA, few_draws, seeds

from crowdveil.audit.case import Audit, Outputs, at_least
from crowdveil.audit.registry import AUDITS, audit_named
from crowdveil.audit.run import BATCH, FEWEST_DRAWS, run_audit, run_audits
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness

OURS = [audit for audit in AUDITS.values() if audit.whose == "ours"]
PAPERS = [audit for audit in AUDITS.values() if audit.whose == "paper"]


@pytest.mark.no_cover
@pytest.mark.parametrize("audit", OURS, ids=lambda audit: audit.name)
def test_nothing_of_ours_is_refuted(audit: Audit) -> None:
    """With as many draws, and at the same alpha, as refute every planted bug (test_planted.py)."""
    assert run_audit(audit, draws=few_draws(audit), alpha=ALPHA, seed=0).verdict == "not refuted"


@pytest.mark.slow_audit
@pytest.mark.parametrize("audit", OURS, ids=lambda audit: audit.name)
def test_nothing_of_ours_is_refuted_in_twenty_runs(audit: Audit) -> None:
    draws = max(FEWEST_DRAWS, audit.usual // 10)
    verdicts = [run_audit(audit, draws=draws, alpha=ALPHA, seed=seed).verdict for seed in range(20)]
    assert verdicts == ["not refuted"] * 20


@pytest.mark.no_cover
@pytest.mark.parametrize("audit", PAPERS, ids=lambda audit: audit.name)
@pytest.mark.parametrize("seed", seeds(5))
def test_false_claims_of_papers_are_refuted(audit: Audit, seed: int) -> None:
    assert run_audit(audit, draws=max(4_000, audit.usual // 10), seed=seed).refuted


EPSILONS = {
    # name: tested draws, expected at alpha = .05
    "discrete-laplace": (100_000, 0.981),
    "basic": (100_000, 0.981),
    "gaussian-exponential": (100_000, 0.981),
    "certified-histogram": (100_000, 0.977),
    "randomized-response": (100_000, 0.975),
    "samprivsyn": (100_000, 0.945),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", EPSILONS)
def test_audits_reach_the_epsilon_that_can_be_reached(name: str) -> None:
    tested, expected = EPSILONS[name]
    found = run_audit(AUDITS[name], draws=2 * tested, alpha=0.05, seed=1)
    assert found.counts.draws == tested
    # 4.9 deviations of log(p/q), which are 0.01 at the most, or 0.02 for the rare event of SamPrivSyn.
    assert found.bounds.epsilon == pytest.approx(expected, abs=0.1 if name == "samprivsyn" else 0.05)


DELTAS = [
    ("gaussian-exponential-shared-paper", 2_000, 0.158),
    ("gaussian-exponential-shared-paper", 10_000, 0.186),
    ("priscrowd-paper", 1_000, 0.25),
]


@pytest.mark.parametrize(("name", "tested", "expected"), DELTAS)
def test_audits_reach_the_delta_that_can_be_reached(name: str, tested: int, expected: float) -> None:
    found = run_audit(AUDITS[name], draws=2 * tested, alpha=0.05, seed=1)
    assert found.bounds.delta == pytest.approx(expected, abs=5 / math.sqrt(tested) * 0.5)
    assert found.refuted


def test_a_gaussian_claim_is_nearly_reached() -> None:
    found = run_audit(AUDITS["discrete-gaussian"], alpha=ALPHA, seed=1)
    assert found.audit.delta - 0.05 < found.bounds.delta < found.audit.delta


def test_names_say_whose_claim_it_is() -> None:
    assert {audit.name for audit in PAPERS} == {name for name in AUDITS if "paper" in name}
    with pytest.raises(ParameterError, match="paper"):
        replace(OURS[0], name="something of a paper")
    with pytest.raises(ParameterError, match="paper"):
        replace(PAPERS[0], name="something of ours")
    with pytest.raises(ParameterError, match="no event"):
        replace(OURS[0], events=())


def test_an_unknown_name_is_answered_with_the_list() -> None:
    with pytest.raises(ParameterError, match="basic-with-neighbours") as refused:
        audit_named("basics")
    assert all(name in str(refused.value) for name in AUDITS)


def test_claims_are_those_of_the_papers() -> None:
    priscrowd, shared = AUDITS["priscrowd-paper"], AUDITS["gaussian-exponential-shared-paper"]
    assert priscrowd.epsilon == pytest.approx(0.1 + math.log(5))
    assert priscrowd.delta == pytest.approx(1.07e-3, abs=5e-6)
    assert shared.delta == pytest.approx(0.00995, abs=5e-6)


@pytest.mark.no_cover
def test_a_seed_repeats_a_run_on_any_number_of_threads() -> None:
    chosen = [AUDITS["basic"], AUDITS["discrete-gaussian"]]
    runs = [
        [found.to_dict() for found in run_audits(chosen, draws=90_000, seed=3, threads=threads)]
        for threads in (1, 2, 5)
    ]
    assert runs[0] == runs[1] == runs[2]
    other = [found.to_dict() for found in run_audits(chosen, draws=90_000, seed=4)]
    assert runs[0] != other


@pytest.mark.parametrize("seed", [7, None])
def test_no_two_batches_share_draws(seed: int | None) -> None:
    seen: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        drawn = rng.stream("noise", purpose="audit").uniforms(count)
        seen.append(drawn)
        return drawn + world

    audit = replace(AUDITS["basic"], draws=draws, events=at_least([0.5]))
    run_audit(audit, draws=2 * (2 * BATCH + 7), seed=seed)
    assert sorted(part.size for part in seen) == [7] * 4 + [BATCH] * 8
    together = np.concatenate(seen)
    assert np.unique(together).size == together.size


def test_the_event_is_picked_on_one_half_and_tested_on_the_other() -> None:
    """An event that happens by chance in the first half only does not refute."""
    calls = 0

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        nonlocal calls
        calls += 1
        return np.full(count, float(world == 0 and calls == 1))

    audit = replace(AUDITS["basic"], draws=draws, events=at_least([0.5]))
    found = run_audit(audit, draws=1000, seed=1, threads=1)
    assert found.counts.hits == 0
    assert found.verdict == "not refuted"


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    run_audit(AUDITS["basic"], draws=1000, seed=1, progress=lambda stage, share: told.append((stage, share)))
    assert told[0] == ("basic", 0.0)
    assert told[-1] == ("basic", 1.0)


def test_what_goes_wrong_in_a_thread_is_not_lost() -> None:
    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        raise ParameterError("broken")

    with pytest.raises(ParameterError, match="broken"):
        run_audit(replace(AUDITS["basic"], draws=draws), draws=1000)


@pytest.mark.parametrize(
    "bad",
    [{"draws": 99}, {"draws": -1}, {"alpha": 0.0}, {"alpha": 1.0}, {"threads": 0}, {"seed": -1}],
    ids=str,
)
def test_bad_parameters_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        run_audit(AUDITS["basic"], **({"draws": 1000} | bad))  # type: ignore[arg-type]
