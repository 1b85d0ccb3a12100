"""Parameters that no mechanism can have are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import pytest

from crowdveil import accounting
from crowdveil.accounting import NoiseEvent
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

CLAIM = Guarantee(0.5, 1e-8, "claim", "replace-one", "central", ("the range was declared",))
HUGE = Guarantee(1.7e308, 0.0, "claim", "replace-one", "central")


@pytest.mark.parametrize(
    "call",
    [
        *(lambda e=e: accounting.composed_epsilon(e, 0.0, 2, 1e-6) for e in (-1.0, nan, inf)),
        *(lambda d=d: accounting.composed_epsilon(1.0, d, 2, 1e-6) for d in (-1e-9, 1.0, nan)),
        *(lambda d=d: accounting.composed_epsilon(1.0, 0.0, 2, d) for d in (-1e-9, 1.0, nan)),
        *(lambda t=t: accounting.composed_delta(1.0, 0.0, t, 1.0) for t in (0, -1, 1.5, True)),
        lambda: accounting.zcdp_epsilon(1.0, 0.0),
        lambda: accounting.zcdp_delta(-1.0, 1.0),
        lambda: accounting.gaussian_delta(0.0, 1.0, 1.0),
        lambda: accounting.gaussian_delta(1.0, nan, 1.0),
        lambda: accounting.discrete_gaussian_delta(1e7, 1, 1.0),
        lambda: accounting.discrete_gaussian_delta(1.0, 0, 1.0),
        lambda: accounting.events_epsilon([], 1e-6),
        lambda: NoiseEvent("cauchy", 1.0),  # type: ignore[arg-type]
        lambda: NoiseEvent("laplace", 0.0),
        lambda: NoiseEvent("discrete_laplace", 1.0, 1.5),
        lambda: NoiseEvent("laplace", 1.0, 1.0, 0),
        lambda: accounting.user_level(CLAIM, 0),
        lambda: accounting.claim_epsilon(1.0, 0),
        lambda: accounting.claim_epsilon(-1.0, 1),
        lambda: accounting.fresh_variance_epsilon(0.0, 1.0),
        lambda: accounting.shared_variance_delta(1.0, -1.0, 1.0),
        lambda: accounting.floored_variance_delta(1.0, 1.0, 0.0, 1.0),
        lambda: accounting.two_layer_epsilon(1.0, 1, 5),
        lambda: accounting.two_layer_epsilon(1.0, 6, 0),
        # Finite, but more than a number can hold in the end.
        lambda: accounting.add(HUGE, HUGE),
        lambda: accounting.user_level(HUGE, 2),
        lambda: accounting.user_level(CLAIM, 10**400),
        lambda: accounting.user_level_by_parts(HUGE, 2, 1e-6),
        lambda: accounting.claim_level(replace(HUGE, unit="user", adjacency="add-remove")),
        lambda: accounting.claim_epsilon(1.0, 10**400),
        lambda: accounting.gaussian_rho(1e-200, 1e200),
        lambda: accounting.gaussian_rho(1e-100, 1e100),
        lambda: accounting.add_rhos([1.0, inf]),
        lambda: accounting.add_rhos([1.0, -0.5]),
        lambda: accounting.composed_epsilon(1.7e308, 0.0, 2, 1e-6),
        lambda: accounting.composed_epsilon(10**400, 0.0, 2, 1e-6),
        lambda: accounting.composed_epsilon(1.0, 0.0, 10**400, 1e-6),
        lambda: accounting.composed_epsilon(1.0, 0.0, 10**12, 1e-6),
        lambda: accounting.composed_delta(1.7e308, 0.0, 3, 1.0),
        lambda: accounting.gaussian_delta(1e300, 1e-10, 1.0),
        lambda: accounting.gaussian_delta(1.0, 1.0, 1.7e308),
        lambda: accounting.gaussian_epsilon(1e-300, 1e300, 1e-6),
        lambda: accounting.zcdp_delta(1.0, 1.7e308),
        lambda: accounting.discrete_gaussian_delta(1.0, 10**400, 1.0),
        lambda: accounting.shared_variance_delta(1e308, 1e308, 1.0),
        lambda: accounting.fresh_variance_epsilon(1e308, 1e308),
        lambda: accounting.two_layer_epsilon(1.7e308, 6, 30),
        lambda: accounting.two_layer_epsilon(1.0, 10**400, 30),
        lambda: accounting.events_epsilon([NoiseEvent("laplace", 1e-100, 1e100)], 1e-6),
    ],
)
def test_bad_parameters_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize("epsilon", [0.0, 1e-100, 1.0, 1e100])
@pytest.mark.parametrize("sigma", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("sensitivity", [1e-100, 1.0, 1e100])
def test_what_is_just_allowed_has_a_delta(epsilon: float, sigma: float, sensitivity: float) -> None:
    assert 0 < accounting.gaussian_delta(sigma, sensitivity, epsilon) <= 1
    assert 0 < accounting.zcdp_delta(min(sigma, sensitivity), epsilon) <= 1
    assert 0 < accounting.shared_variance_delta(sigma, sensitivity, epsilon) <= 1
