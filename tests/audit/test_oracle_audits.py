"""Audits of frequency oracles: they attack what devices send, and come close to what is claimed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from few_draws import ALPHA, seeds

from crowdveil.audit import oracles
from crowdveil.audit.case import Audit
from crowdveil.audit.planted import PLANTED
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.randomness import seeded

LEAST = {"krr": 0.84, "oue": 0.84, "olh": 0.83, "bloom": 0.66}  # with 50,000 tested draws: see few_draws
OURS: list[tuple[Audit, Any]] = [
    (oracles.KRR_AUDIT, oracles.KRR_CELLS),
    (oracles.OUE_AUDIT, oracles.OUE_CELLS),
    (oracles.OLH_AUDIT, oracles.OLH_CELLS),
    (oracles.BLOOM_AUDIT, oracles.BLOOM_CELLS),
]
NAMES = [audit.name for audit, _ in OURS]


@pytest.mark.parametrize(("audit", "oracle"), OURS, ids=NAMES)
def test_ours_are_not_refuted_and_nearly_reached(audit: Audit, oracle: Any) -> None:
    assert AUDITS[audit.name] is audit
    assert audit.epsilon == oracle.promise().epsilon
    found = run_audit(audit, draws=100_000, alpha=ALPHA, seed=1)
    assert found.verdict == "not refuted"
    assert found.bounds.epsilon is not None
    assert LEAST[audit.name] < found.bounds.epsilon < audit.epsilon


@pytest.mark.parametrize(("audit", "oracle"), OURS, ids=NAMES)
def test_what_is_attacked_is_what_devices_send(audit: Audit, oracle: Any) -> None:
    for world in (0, 1):
        sent = oracle.perturb(np.full(50, world), rng=seeded(1))
        assert audit.draws(world, 50, seeded(1)).tolist() == sent.tolist()


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(
    ("audit", "stronger"),
    [
        (oracles.KRR_AUDIT, KRR(1.3, oracles.CELLS)),
        (oracles.OUE_AUDIT, OUE(1.3, oracles.CELLS)),
        (oracles.OLH_AUDIT, OLH(1.25, oracles.CELLS)),
        (oracles.BLOOM_AUDIT, Bloom(1.3, oracles.CELLS, bits=8)),
    ],
    ids=NAMES,
)
def test_a_larger_epsilon_than_claimed_is_refuted(audit: Audit, stronger: Any, seed: int) -> None:
    broken = replace(audit, draws=oracles.reports(stronger))
    assert run_audit(broken, draws=100_000, seed=seed).refuted


def test_a_seed_that_suits_the_code_is_given_away_by_the_seed_alone() -> None:
    found = run_audit(PLANTED["a seed that suits the code"], draws=20_000, seed=1)
    assert found.event.name == "the seed hashes cell 0 only to 0"
    assert found.counts.other_hits == 0


def test_the_two_codes_of_bloom_have_no_bit_in_common() -> None:
    first, second = oracles.BLOOM_CELLS.patterns[:2]
    assert (first != second).sum() == oracles.BLOOM_CELLS.differing == 4
