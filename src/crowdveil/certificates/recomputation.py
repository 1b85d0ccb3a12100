"""The promise of a certificate, computed again from its method, its parameters and public numbers.

There is one function for each kind of file. It builds the method through its registry, so that whatever a
method refuses or promises is said in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import Any

import numpy as np

from crowdveil.certificates.certificate import Certificate, Kind
from crowdveil.columns import MOST_VALUES, Column
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Deniability, Guarantee, Promise
from crowdveil.local.description import Description
from crowdveil.local.reports import promised
from crowdveil.plain_data import construct, fits
from crowdveil.records import Schema
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.registry import RELEASES
from crowdveil.synthesis.promises import UNDECLARED
from crowdveil.synthesis.registry import METHODS

# Beyond these a certificate would take minutes or all memory to compute again.
MOST_CLAIMS, MOST_COUNTS, MOST_COLUMNS = 10**7, 10**5, 10**4
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


def difference(stated: Promise | None, computed: Promise | None) -> str | None:
    """The field in which two promises differ, in numbers and never in words; None if they agree."""
    if stated is None or computed is None:
        return None if stated is computed else "kind"
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
        same = same_number(one, other) if name in numbers else one == other
        if not same:
            return name
    return None


def same_number(one: float | None, other: float | None) -> bool:
    """Whether two numbers are equal, up to what machines may differ by."""
    return one is other or (one is not None and other is not None and isclose(one, other, rel_tol=CLOSE))


def _release(certificate: Certificate) -> Recomputed:
    method = RELEASES[certificate.method].from_dict(certificate.parameters)
    any_counts = None if method.depends_on_counts else [1]
    counts = _public(certificate, "claims_per_object", tuple[int, ...], any_counts)
    if not counts or len(counts) > MOST_COUNTS or min(counts) < 1 or max(counts) > MOST_CLAIMS:
        raise ParameterError("public.claims_per_object is not what belongs there")
    # Version 2 did not keep how many claims a user has at most.
    most = _public(certificate, "claims_of_a_user", int | None)
    if most is not None and not 1 <= most <= MOST_CLAIMS:
        raise ParameterError("public.claims_of_a_user is not what belongs there")
    pattern = Pattern(np.array(counts, dtype=np.int64), most or 1)
    return method.promise(pattern), most and method.user_promise(pattern), method.synthetic


def _noisy_claims(certificate: Certificate) -> Recomputed:
    mechanism = Description(certificate.method, certificate.parameters).build()
    most = _public(certificate, "claims_of_a_user", int)
    return mechanism.promise(), mechanism.promise("user", most), False


def _reports(certificate: Certificate) -> Recomputed:
    mechanism = Description(certificate.method, certificate.parameters).build()
    objects, declared = _public(certificate, "objects", int), _public(certificate, "declared", bool)
    names = certificate.contents.get("objects")
    if not isinstance(names, list) or len(names) != objects:
        raise ParameterError("public.objects is not the number of objects that contents.objects names")
    cell, user = mechanism.promise("cell"), mechanism.promise("user", objects)
    return promised(cell, declared=declared), promised(user, declared=declared), False


def _records(certificate: Certificate) -> Recomputed:
    parameters = construct(METHODS[certificate.method].parameters, certificate.parameters, "parameters.")
    if not _public(certificate, "declared", bool):
        return UNDECLARED, None, certificate.kind == "synthetic records"
    sizes: Mapping[str, Any] = _public(certificate, "columns", dict)
    if len(sizes) > MOST_COLUMNS or not all(
        fits(size, int) and 2 <= size <= MOST_VALUES for size in sizes.values()
    ):
        raise ParameterError("public.columns is not what belongs there")
    columns = [Column(name, values=tuple(map(str, range(size)))) for name, size in sizes.items()]
    return parameters.promise(Schema(tuple(columns))), None, certificate.kind == "synthetic records"


def _public(certificate: Certificate, name: str, kind: Any, default: Any = None) -> Any:
    """A public number of the certificate, of that type."""
    value = certificate.public.get(name, default)
    if not fits(value, kind):
        raise ParameterError(f"public.{name} is missing, or not what belongs there")
    return value


_KINDS: dict[Kind, Callable[[Certificate], Recomputed]] = {
    "release": _release,
    "noisy claims": _noisy_claims,
    "reports": _reports,
    "record reports": _records,
    "synthetic records": _records,
}
