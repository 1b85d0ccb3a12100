"""Audits of sparse answers: they attack what devices send, refute the paper, and notice what is broken."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from few_draws import ALPHA, seeds

from crowdveil.answers import Answers, Domain
from crowdveil.audit import cells
from crowdveil.audit.case import Audit, Outputs, at_least
from crowdveil.audit.cells import FIVE, NULL, TEN, sent
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.guarantee import Guarantee
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.predictions import STEPS
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.randomness import Randomness, chacha, seeded

# What must be shown of ours with 50,000 tested draws: see few_draws.
OURS = [
    (cells.RESPONSE_AUDIT, 0.83),
    (cells.THREE_SYMBOLS_AUDIT, 0.87),
    (cells.LAPLACE_AUDIT, 0.86),
    (cells.TWO_LAYER_AUDIT, 1.06),
    (cells.SUMS_AUDIT, 0.79),
    (cells.SUMS_VALUES_AUDIT, 0.86),
]


def test_all_of_them_are_registered() -> None:
    for audit in (cells.PAPER_AUDIT, *(audit for audit, _ in OURS)):
        assert AUDITS[audit.name] is audit


@pytest.mark.no_cover
@pytest.mark.parametrize(("audit", "least"), OURS, ids=[audit.name for audit, _ in OURS])
def test_ours_are_not_refuted_and_nearly_reached(audit: Audit, least: float) -> None:
    found = run_audit(audit, draws=100_000, alpha=ALPHA, seed=1)
    assert found.verdict == "not refuted"
    assert found.bounds.epsilon is not None
    assert least < found.bounds.epsilon < audit.epsilon


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(3))
def test_the_papers_claim_for_cells_is_refuted(seed: int) -> None:
    found = run_audit(cells.PAPER_AUDIT, draws=20_000, seed=seed)
    assert found.refuted
    assert found.bounds.epsilon is not None
    assert found.bounds.epsilon > 2 * cells.PAPER_AUDIT.epsilon


@pytest.mark.slow_audit
def test_the_papers_claim_falls_by_as_much_as_it_should() -> None:
    """Profiles beyond 40 are e^4 times as likely for one answer as for two; 3.6 can be shown."""
    found = run_audit(cells.PAPER_AUDIT, alpha=0.05, seed=1)
    assert found.event.name == "|profile| >= 40"
    assert found.bounds.epsilon == pytest.approx(3.6, abs=0.75)
    one = (math.exp(-3.1) + math.exp(-4.9)) / 2
    assert found.counts.hits / found.counts.draws == pytest.approx(one, rel=0.1)


@pytest.mark.no_cover
def test_values_alone_are_hidden_by_the_papers_mechanism() -> None:
    """Where the same objects were answered its epsilon holds, and even a tenth less."""
    parameters = cells.PROFILES
    promise = parameters.promise("claim")
    assert isinstance(promise, Guarantee)
    values = replace(
        cells.SUMS_VALUES_AUDIT,
        epsilon=promise.epsilon,
        draws=sent(cells.rows(parameters), TEN, (0,), (9,)),
        events=at_least((0, 9, 18), of=lambda out: out[:, 0]),
    )
    found = run_audit(values, draws=60_000, alpha=ALPHA, seed=1)
    assert not found.refuted
    assert found.bounds.epsilon is not None
    assert found.bounds.epsilon > 0.7


def state(user: int, purpose: str) -> Any:
    words = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(1).streams([user], purpose=purpose)
    chacha.start(words, key, nonces[0])
    return words


def one_device(row: cells.Row, domain: Domain) -> tuple[Any, Any]:
    one = cells.same_users(row, domain, 1)
    return one.object_codes, one.codes


@pytest.mark.parametrize(
    ("audit", "parameters", "worlds", "kind"),
    [
        (cells.RESPONSE_AUDIT, cells.RESPONSE, ((NULL,), (0,)), np.uint8),
        (cells.THREE_SYMBOLS_AUDIT, cells.SYMBOLS, ((NULL,), (9,)), np.uint8),
        (cells.LAPLACE_AUDIT, cells.LAPLACE, ((NULL,), (9,)), np.int16),
        (cells.TWO_LAYER_AUDIT, cells.LAYERS, ((NULL,) * 30, (0,) + (NULL,) * 29), np.uint8),
    ],
    ids=["response", "three symbols", "laplace", "two layer"],
)
def test_what_is_attacked_is_what_devices_send(audit: Audit, parameters: Any, worlds: Any, kind: Any) -> None:
    for world in (0, 1):
        rows = audit.draws(world, 3, seeded(1))
        for user in range(3):
            out = np.empty(len(worlds[world]), dtype=kind)
            one = cells.same_users(worlds[world], parameters.domain, 1)
            device = parameters.device(one.objects, np.array([0]))
            device(0, state(user, parameters.method), one.object_codes, one.codes, out)
            assert rows[user].tolist() == out.tolist()


def test_sums_and_profiles_that_are_attacked_are_what_devices_send() -> None:
    ones = np.full((2, 1), STEPS)
    for world, row in enumerate(((NULL,), (9,))):
        rows = cells.SUMS_AUDIT.draws(world, 3, seeded(1))
        for user in range(3):
            out = np.empty(2, dtype=np.int64)
            cells.SUMS.fill_sums(state(user, cells.SUMS.method), *one_device(row, TEN), ones[:1], out)
            assert rows[user].tolist() == [out[0] / (2 * STEPS), out[1] / STEPS**2]
    for world, answers in enumerate(((9, NULL), (9, 0))):
        told = cells.PAPER_AUDIT.draws(world, 3, seeded(1))
        for user in range(3):
            noisy, triangle = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
            own = one_device(answers, TEN)
            cells.PROFILES.fill_sums(state(user, cells.PROFILES.method), *own, ones, noisy, triangle)
            assert told[user, 0] == pytest.approx(float(Fraction(int(noisy[0]), STEPS * (world + 1))))


def _null_is_not_randomized(answers: Answers, rng: Randomness) -> Outputs:
    """Randomized response on answers only: a cell without one is told as it is."""
    told = cells.rows(cells.RESPONSE)(answers, rng)
    return told if len(answers) else np.full_like(told, FIVE.size)


def _noise_of_answers_only(answers: Answers, rng: Randomness) -> Outputs:
    """Sums whose second part, how many answers there are, has no noise."""
    told = cells.noisy_sums(cells.SUMS)(answers, rng)
    told[:, 1] = len(answers) / len(answers.users)
    return told


BROKEN = {
    "half the noise in place of NULL": replace(
        cells.LAPLACE_AUDIT, draws=sent(cells.rows(LaplaceCells(2.0, TEN, null=0)), TEN, (NULL,), (9,))
    ),
    "epsilon 1.3 for 1": replace(
        cells.RESPONSE_AUDIT, draws=sent(cells.rows(CellResponse(1.3, FIVE)), FIVE, (NULL,), (0,))
    ),
    "more levels than are paid for": replace(
        cells.THREE_SYMBOLS_AUDIT,
        draws=sent(cells.rows(CellResponse(1.2, TEN, levels=2)), TEN, (NULL,), (9,)),
    ),
    "NULL told as it is": replace(
        cells.RESPONSE_AUDIT, draws=sent(_null_is_not_randomized, FIVE, (NULL,), (0,))
    ),
    "the mean epsilon claimed for 2-Layer": replace(cells.TWO_LAYER_AUDIT, epsilon=cells.LAYERS.mean),
    "2-Layer with twice the mean": replace(
        cells.TWO_LAYER_AUDIT,
        draws=sent(cells.rows(TwoLayer(2.0, FIVE)), FIVE, (NULL,) * 30, (0,) + (NULL,) * 29),
    ),
    "noise for half the range": replace(
        cells.SUMS_VALUES_AUDIT,
        draws=sent(cells.noisy_sums(SoundFactorization(2.0, TEN)), TEN, (0,), (9,)),
    ),
    "the number of answers without noise": replace(
        cells.SUMS_AUDIT, draws=sent(_noise_of_answers_only, TEN, (NULL,), (9,))
    ),
    "the paper's profiles, claimed by us": replace(
        cells.SUMS_AUDIT,
        draws=sent(cells.rows(Factorization(1.0, TEN)), TEN, (9, NULL), (9, 0)),
        events=cells.PAPER_AUDIT.events,
    ),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("audit", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("seed", seeds(2))
def test_broken_devices_are_refuted(audit: Audit, seed: int) -> None:
    assert run_audit(audit, draws=40_000, seed=seed).refuted
