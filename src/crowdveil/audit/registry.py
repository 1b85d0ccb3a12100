"""The audits by name: what we claim, and what papers claim."""

from __future__ import annotations

from crowdveil.audit import exponential, noise, releases
from crowdveil.audit.case import Audit
from crowdveil.errors import ParameterError

_AUDITS = (
    noise.DISCRETE_LAPLACE,
    noise.DISCRETE_GAUSSIAN,
    noise.RANDOMIZED_RESPONSE,
    noise.CERTIFIED_HISTOGRAM,
    releases.BASIC,
    releases.BASIC_WITH_NEIGHBOURS,
    releases.PRISCROWD_PAPER,
    exponential.FRESH,
    exponential.SHARED,
    exponential.SHARED_PAPER,
)

AUDITS: dict[str, Audit] = {audit.name: audit for audit in _AUDITS}


def audit_named(name: str) -> Audit:
    """The audit of one mechanism."""
    if name not in AUDITS:
        raise ParameterError(f"there is no audit of {name!r}; there are {', '.join(AUDITS)}")
    return AUDITS[name]
