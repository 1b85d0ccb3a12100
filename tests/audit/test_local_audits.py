"""Audits of what runs on devices: they attack the mechanisms themselves, and notice when these are broken."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from few_draws import ALPHA, seeds
from scipy.integrate import quad

from crowdveil.audit import local
from crowdveil.audit.case import Audit, Event, Outputs, column
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.local import ClaimMechanism, Laplace, VariancePerUser, perturb_one
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded

MANY = ((0.0,) * 30, (1.0,) * 30)
ATTACKED: dict[str, tuple[ClaimMechanism, tuple[tuple[float, ...], ...]]] = {
    "laplace": (local.LAPLACE, ((0.0,), (10.0,))),
    "gaussian-exponential": (local.FRESH, ((0.0,), (1.0,))),
    "gaussian-exponential-shared-claim": (local.FEW, ((0.0,) * 30, (1.0,) + (0.0,) * 29)),
    "gaussian-exponential-shared": (local.MANY, MANY),
    "gaussian-exponential-shared-paper": (local.MANY, MANY),
}


@pytest.mark.parametrize("name", ATTACKED)
def test_what_is_attacked_is_what_devices_send(name: str) -> None:
    mechanism, worlds = ATTACKED[name]
    for world in (0, 1):
        rows = AUDITS[name].draws(world, 5, seeded(1))
        for user in range(5):
            assert (
                rows[user].tolist()
                == perturb_one(worlds[world], mechanism, user=user, rng=seeded(1)).tolist()
            )


@pytest.mark.parametrize(("claims", "squares"), [(1, 0.3), (2, 4.0), (5, 1.0), (30, 25.0)])
def test_the_likelihood_of_noise_with_an_exponential_variance(claims: int, squares: float) -> None:
    def density(total: float) -> float:
        def weighted(v: float) -> float:
            return math.pow(v, -claims / 2) * math.exp(-0.02 * v - total / (2 * v))

        return float(quad(weighted, 0, np.inf, limit=500)[0])

    ours = local.log_likelihood(np.array([squares, 2 * squares]), claims, 0.02)
    assert ours[0] - ours[1] == pytest.approx(math.log(density(squares) / density(2 * squares)), abs=1e-5)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "exact"), [("gaussian-exponential-shared-claim", 0.179), ("gaussian-exponential-shared", 0.208)]
)
def test_what_can_be_shown_of_a_shared_variance_is_shown(name: str, exact: float) -> None:
    audit = AUDITS[name]
    found = run_audit(audit, alpha=ALPHA, seed=1)
    assert found.verdict == "not refuted"
    assert exact - 0.09 < found.bounds.delta < exact < audit.delta


HALF_THE_NOISE = replace(
    local.LAPLACE_AUDIT, draws=local.sent(Laplace(2.0, Range(0.0, 10.0), 1.0), (0.0,), (10.0,))
)
TOO_WIDE = replace(
    local.LAPLACE_AUDIT,
    draws=local.sent(Laplace(1.0, Range(0.0, 10.0), 1.0), (0.0,), (10.0,)),
    epsilon=0.5,
)
LITTLE_VARIANCE = replace(
    local.CLAIM_AUDIT,
    draws=local.sent(VariancePerUser(2.0, Range(0.0, 1.0)), (0.0,) * 30, (1.0,) + (0.0,) * 29),
)


def _noise_of_one_claim_for_all(world: int, count: int, rng: Randomness) -> Outputs:
    """Two claims of a user with the same noise: their difference is not noisy at all."""
    noise = local.LAPLACE_AUDIT.draws(0, count, rng)[:, 0]
    return np.column_stack([noise, noise + (0.0, 10.0)[world]])


NOISE_TWICE = replace(
    local.LAPLACE_AUDIT,
    draws=_noise_of_one_claim_for_all,
    events=(Event("the two differ", lambda out: column(0)(out) != column(1)(out)),),
)


@pytest.mark.parametrize(
    "audit",
    [HALF_THE_NOISE, TOO_WIDE, LITTLE_VARIANCE, NOISE_TWICE],
    ids=["half the noise", "half the epsilon claimed", "a quarter of the variance", "noise used twice"],
)
@pytest.mark.parametrize("seed", seeds(3))
def test_broken_devices_are_refuted(audit: Audit, seed: int) -> None:
    assert run_audit(audit, draws=audit.usual // 5, seed=seed).refuted
