"""The promise of a certificate, computed again from its method, its parameters and public numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

import numpy as np

from crowdveil.certificates.certificate import Certificate
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Deniability, Guarantee, Promise
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.registry import RELEASES

CLOSE = 1e-9  # what machines may differ by in the last digits of an epsilon

Recomputed = tuple[Promise, Promise | None, bool]
"""The promise, the one to a user if there is one, and whether values belong to nobody."""


def recomputed(certificate: Certificate) -> Recomputed:
    """What the facts of a certificate promise; `ParameterError` if they are none."""
    promise, user_promise, synthetic = _KINDS[certificate.kind](certificate)
    if certificate.seeded:
        return SEEDED, None if user_promise is None else SEEDED, synthetic
    return promise, user_promise, synthetic


def without_counts(certificate: Certificate) -> Recomputed:
    """What a release promises whose epsilon depends on numbers of claims that were not kept: as it says."""
    method = RELEASES[certificate.method].from_dict(certificate.parameters)
    if certificate.seeded:
        return SEEDED, None, method.synthetic
    if not isinstance(certificate.promise, Guarantee):
        raise ParameterError("promise.kind is not the one of the method and its parameters")
    return method.guarantee(certificate.promise.epsilon), None, method.synthetic


def agree(stated: Promise, computed: Promise) -> str | None:
    """The field in which two promises differ, in numbers and never in words; None if they agree."""
    if type(stated) is not type(computed):
        return "kind"
    numbers = ("epsilon", "delta")
    names: tuple[str, ...] = ()
    if isinstance(stated, Guarantee):
        names = (*numbers, "unit", "adjacency", "trust")
    elif isinstance(stated, Deniability):
        names = ("k", "gamma")
    for name in names:
        one, other = getattr(stated, name), getattr(computed, name)
        same = isclose(one, other, rel_tol=CLOSE, abs_tol=0.0) if name in numbers else one == other
        if not same:
            return name
    return None


def _release(certificate: Certificate) -> Recomputed:
    method = RELEASES[certificate.method].from_dict(certificate.parameters)
    counts = certificate.public.get("claims_per_object", [1])
    if not _counts(counts):
        raise ParameterError("public.claims_per_object is not what belongs there")
    pattern = Pattern(np.array(counts, dtype=np.int64), 1)
    return method.promise(pattern), None, method.synthetic


def _counts(numbers: Any) -> bool:
    return (
        isinstance(numbers, list)
        and bool(numbers)
        and all(isinstance(n, int) and not isinstance(n, bool) and 0 < n < 2**53 for n in numbers)
    )


_KINDS: dict[str, Callable[[Certificate], Recomputed]] = {
    "release": _release,
}
