"""Exact ratios of smoothed densities, fixed attempts and rounds: laws as drawn, and nothing heard twice."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from crowdveil.audit import attempts, rounds, smoothed
from crowdveil.audit.broken import broken
from crowdveil.audit.case import Audit
from crowdveil.audit.planted import PLANTED
from crowdveil.audit.planted_lines import _ASKED_AGAIN, LINES
from crowdveil.audit.records import TRIPLE
from crowdveil.audit.releases import repeated
from crowdveil.audit.run import run_audit
from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.krr import KRR
from crowdveil.local.oue import OUE
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.method import release
from crowdveil.releases.smoothed import cell_of
from crowdveil.synthesis import simulated
from crowdveil.synthesis.collection import Collection

ERROR = 1e-6


def follows(seen: np.ndarray, law: np.ndarray) -> bool:
    """Whether counts follow a law, by chi-square; cells that can hardly occur are put together."""
    usual = law * seen.sum() >= 10
    expected = np.append(law[usual], law[~usual].sum()) * seen.sum()
    counts = np.append(seen[usual], seen[~usual].sum())
    if expected[-1] < 10:
        assert counts[-1] < 60  # its chance is below 1e-20
        expected, counts = expected[:-1], counts[:-1]
    return bool(((counts - expected) ** 2 / expected).sum() < chi2.isf(ERROR, max(1, expected.size - 1)))


@pytest.mark.parametrize("places", [(0.0, 10.0), (3.0, 9.9)])
def test_smoothed_values_follow_the_density_that_ratios_are_made_of(places: tuple[float, float]) -> None:
    claims = (places[0], places[1], 5.0)
    values = smoothed.released(smoothed.EDGES, (places[0], 0.0), (places[1], 5.0))(0, 20_000, seeded(1))
    cells = cell_of(values.ravel(), smoothed.EDGES.range, smoothed.EDGES.cells)
    law = smoothed.density(smoothed.EDGES, claims)
    assert law.sum() == pytest.approx(1.0)
    assert follows(np.bincount(cells, minlength=smoothed.EDGES.cells), law)


@pytest.mark.parametrize(
    ("parameters", "values"),
    [
        (attempts.ISOLATED, (5.0, 5.0, 9.0)),
        (attempts.NOTHING, (5.0,) * 7 + (9.0,)),
        (attempts.NOTHING, (0.0, 0.2, 0.3, 9.9, 10.0)),
    ],
)
def test_attempts_publish_with_the_chances_that_ratios_are_made_of(
    parameters: Attempts, values: tuple[float, ...]
) -> None:
    objects = 40_000
    made = release(repeated(values[0], values[1:], objects), parameters, rng=seeded(2), engine=LocalEngine(1))
    seen = np.bincount(
        cell_of(made.values, parameters.range, parameters.cells), minlength=parameters.cells + 1
    )
    seen[-1] = objects * parameters.attempts - seen.sum()
    law = attempts.attempt_law(parameters, values)
    assert law.sum() == pytest.approx(1.0)
    assert follows(seen, law)


def test_a_pure_smoothed_release_can_spend_all_of_its_epsilon() -> None:
    found = run_audit(smoothed.SMOOTHED_PURE, draws=1000, seed=1)
    assert found.ratios is not None
    assert found.ratios.largest == pytest.approx(smoothed.SMOOTHED_PURE.epsilon, abs=1e-9)
    assert not found.refuted


@pytest.mark.parametrize("audit", [rounds.SAMPRIVSYN_ROUNDS, rounds.LATENT_ROUNDS], ids=lambda a: a.name)
def test_all_rounds_together_spend_epsilon_and_no_more(audit: Audit) -> None:
    found = run_audit(audit, draws=100, seed=1)
    assert found.ratios is not None
    assert found.ratios.largest == pytest.approx(audit.epsilon, abs=1e-9)
    assert not found.refuted


def test_the_chances_of_reports_are_those_of_the_oracles() -> None:
    krr, split = KRR(1.0, 3), SplitKRR.of(1.0, (3, 4))
    assert rounds.log_chance(krr, np.array(2), 2) == pytest.approx(log(krr.exact_law()[2][2]))
    assert rounds.log_chance(krr, np.array(0), 2) == pytest.approx(log(krr.exact_law()[2][0]))
    laws = [response.exact_law() for response in split.responses]
    together = log(laws[0][1][1]) + log(laws[1][3][0])
    assert rounds.log_chance(split, np.array([1, 0]), 7) == pytest.approx(together)
    with pytest.raises(ParameterError, match="not known here"):
        rounds.log_chance(OUE(1.0, 3), np.array([1]), 0)


def test_somebody_who_is_asked_again_is_refused_unless_that_is_broken_too() -> None:
    people = Records(TRIPLE, np.zeros((rounds.PEOPLE, 3), dtype=np.int32))
    empty, engine = Collection(TRIPLE, rounds.BATCHES, people=rounds.PEOPLE), rounds.Listening()
    made = simulated.simulated(people, empty, rng=seeded(1), engine=engine)
    heard = [who for reports in engine.heard for who, _ in reports.values()]
    assert sorted(np.concatenate(heard).tolist()) == list(range(rounds.PEOPLE))
    support = {number: np.zeros(question.cells) for number, question in enumerate(made.questions)}
    for reports in engine.heard:
        for number, (_, sent) in reports.items():
            support[number] += made.questions[number].oracle.support(sent)
    counted = {table.question.columns: table.support for table in made.tables}
    for number, question in enumerate(made.questions):
        assert (support[number] == counted.get(question.columns, 0)).all()  # what was heard was counted
    with broken(_ASKED_AGAIN[0]), pytest.raises(InputError, match="reported already"):
        simulated.simulated(people, empty, rng=seeded(1))


def test_somebody_who_reports_in_every_round_is_heard_in_every_round() -> None:
    found = run_audit(PLANTED["asked again in every round"], draws=100, seed=1)
    assert found.ratios is not None
    assert found.ratios.largest > 2 * rounds.SAMPRIVSYN_ROUNDS.epsilon
    assert found.refuted


def test_the_page_has_a_row_for_every_planted_line() -> None:
    assert len({audit.name for audit in LINES}) == len(LINES)
    page = (Path(__file__).parents[2] / "docs" / "guarantees" / "audits.md").read_text()
    for audit in LINES:
        assert f"| {audit.name} | ε {audit.epsilon:.3g}".replace("9.27e-15", "0") in page
