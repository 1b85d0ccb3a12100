"""The audits by name: what we claim, and what papers claim."""

from __future__ import annotations

from crowdveil.audit import (
    attempts,
    cells,
    certified,
    local,
    noise,
    oracles,
    records,
    releases,
    rounds,
    second_look,
    slots,
    smoothed,
    whole_release,
)
from crowdveil.audit.case import Audit
from crowdveil.errors import ParameterError

_AUDITS = (
    noise.DISCRETE_LAPLACE,
    noise.DISCRETE_GAUSSIAN,
    noise.RANDOMIZED_RESPONSE,
    certified.CERTIFIED_HISTOGRAM,
    certified.PAIR_DISTANCES,
    certified.PAIR_DISTANCES_ADD_REMOVE,
    certified.CERTIFIED_USER,
    certified.CERTIFIED_USER_GAUSSIAN,
    certified.CERTIFIED_ADD_REMOVE,
    second_look.SECOND_LOOK,
    *whole_release.ALL,
    smoothed.SMOOTHED,
    smoothed.SMOOTHED_PURE,
    smoothed.SMOOTHED_KERNEL,
    attempts.ATTEMPTS_ISOLATED,
    attempts.ATTEMPTS_CROWD,
    attempts.ATTEMPTS_NOTHING,
    releases.BASIC,
    releases.BASIC_WITH_NEIGHBOURS,
    releases.PRISCROWD_PAPER,
    local.LAPLACE_AUDIT,
    local.FRESH_AUDIT,
    local.CLAIM_AUDIT,
    local.USER_AUDIT,
    local.PAPER_AUDIT,
    cells.RESPONSE_AUDIT,
    cells.THREE_SYMBOLS_AUDIT,
    cells.LAPLACE_AUDIT,
    cells.TWO_LAYER_AUDIT,
    cells.SUMS_AUDIT,
    cells.SUMS_VALUES_AUDIT,
    cells.PAPER_AUDIT,
    slots.SLOTS_AUDIT,
    slots.UNNAMED_AUDIT,
    oracles.KRR_AUDIT,
    oracles.OUE_AUDIT,
    oracles.OLH_AUDIT,
    oracles.BLOOM_AUDIT,
    records.SAMPRIVSYN_AUDIT,
    records.ALL_COLUMNS_AUDIT,
    records.LOPUB_AUDIT,
    rounds.SAMPRIVSYN_ROUNDS,
    rounds.LATENT_ROUNDS,
)

AUDITS: dict[str, Audit] = {audit.name: audit for audit in _AUDITS}


def audit_named(name: str) -> Audit:
    """The audit of one mechanism."""
    if name not in AUDITS:
        raise ParameterError(f"there is no audit of {name!r}; there are {', '.join(AUDITS)}")
    return AUDITS[name]
