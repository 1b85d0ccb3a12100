"""Privacy accounting: pure functions from the costs of single mechanisms to their cost together.

Every function is conservative: the epsilon or delta that it returns is never below the true one. Sums of
probabilities have positive terms only, computed in log space, and a bound on the rounding error is added
(`rounding`).

Notation: epsilon, delta as in `Guarantee`; delta(epsilon), the *hockey-stick divergence*, is the smallest
delta at a given epsilon; rho is the parameter of zero-concentrated differential privacy (zCDP); sigma is the
standard deviation of Gaussian noise and mu = sensitivity / sigma.

One file for each idea: `events` (what happened) and `accountant` (what it costs together), `composition`
(several mechanisms), `units` (claims and users), `scopes` (what a release costs in another scope), `zcdp`,
`gaussian`, `random_variance` and `two_layer` (formulas of single mechanisms), and what they are built on:
`search`, `rounding`, `parameters`.
"""

from crowdveil.accounting.accountant import basic_composition, events_epsilon
from crowdveil.accounting.composition import add, advanced_epsilon, composed_delta, composed_epsilon
from crowdveil.accounting.events import Event, NoiseEvent, PrivateEvent, event_of
from crowdveil.accounting.gaussian import discrete_gaussian_delta, gaussian_delta, gaussian_epsilon
from crowdveil.accounting.random_variance import (
    floored_variance_delta,
    fresh_variance_epsilon,
    shared_variance_delta,
)
from crowdveil.accounting.scopes import counted_in
from crowdveil.accounting.search import smallest_epsilon
from crowdveil.accounting.two_layer import two_layer_epsilon
from crowdveil.accounting.units import claim_epsilon, claim_level, user_level, user_level_by_parts
from crowdveil.accounting.zcdp import add_rhos, gaussian_rho, zcdp_delta, zcdp_epsilon

__all__ = [
    "Event",
    "NoiseEvent",
    "PrivateEvent",
    "add",
    "add_rhos",
    "advanced_epsilon",
    "basic_composition",
    "claim_epsilon",
    "claim_level",
    "composed_delta",
    "composed_epsilon",
    "counted_in",
    "discrete_gaussian_delta",
    "event_of",
    "events_epsilon",
    "floored_variance_delta",
    "fresh_variance_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_rho",
    "shared_variance_delta",
    "smallest_epsilon",
    "two_layer_epsilon",
    "user_level",
    "user_level_by_parts",
    "zcdp_delta",
    "zcdp_epsilon",
]
