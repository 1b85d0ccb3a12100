"""Audits of a user's whole row: they attack what devices send, and come close to what is claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from few_draws import ALPHA, seeds

from crowdveil.audit import slots
from crowdveil.audit.case import Audit
from crowdveil.audit.cells import rows, sent
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.local.slot_response import SlotResponse
from crowdveil.randomness import chacha, seeded

OURS = [(slots.SLOTS_AUDIT, 0.67), (slots.UNNAMED_AUDIT, 0.87)]  # with 50,000 tested draws: see few_draws


@pytest.mark.no_cover
@pytest.mark.parametrize(("audit", "least"), OURS, ids=[audit.name for audit, _ in OURS])
def test_ours_are_not_refuted_and_nearly_reached(audit: Audit, least: float) -> None:
    assert AUDITS[audit.name] is audit
    found = run_audit(audit, draws=100_000, alpha=ALPHA, seed=1)
    assert found.verdict == "not refuted"
    assert found.bounds.epsilon is not None
    assert least < found.bounds.epsilon < audit.epsilon


def test_what_is_attacked_is_what_devices_send() -> None:
    objects, places = pl.Series(range(slots.OBJECTS)), np.arange(6)
    for audit, parameters, sending in (
        (slots.SLOTS_AUDIT, slots.SLOTS, range(3)),
        (slots.UNNAMED_AUDIT, slots.ONE_IN_TWO, (1, 3, 5)),
    ):
        device = parameters.device(objects, places)
        for world, answered in enumerate((0, slots.OBJECTS)):
            attacked = audit.draws(world, 3, seeded(1))
            for place, user in enumerate(sending):
                state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
                key, nonces = seeded(1).streams([user], purpose=parameters.method)
                chacha.start(state, key, nonces[0])
                out = np.empty(1, dtype=np.int64)
                given = np.arange(answered, dtype=np.int32), np.full(answered, 4, dtype=np.uint8)
                device(user, state, *given, out)
                assert attacked[place].tolist() == out.tolist()


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", seeds(2))
def test_a_larger_epsilon_than_claimed_is_refuted(seed: int) -> None:
    stronger = SlotResponse(1.3, slots.FIVE, 2, 2, 2)
    broken = replace(slots.SLOTS_AUDIT, draws=sent(rows(stronger), slots.FIVE, slots.NOTHING, slots.HIGHEST))
    assert run_audit(broken, draws=100_000, seed=seed).refuted
