"""Claims that are taken for raw ones, with warnings where their file shows that something is wrong."""

from __future__ import annotations

from collections.abc import Mapping

from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.files import read_claims_as_told
from crowdveil.names import similar_names

NOT_RAW = (
    "these are {kind} already, not raw claims: the promise is about them, and what they cost was spent "
    "elsewhere"
)
SIMILAR_NAMES = (
    "names of users that differ only by case or blanks: {count:,}. A person with two names is protected as "
    "two persons: write names alike, and begin again"
)


def read_raw_claims(
    path: str,
    columns: Mapping[str, str | None],
    *,
    if_any: bool = False,
    in_range: bool = False,
    engine: Engine | None = None,
) -> tuple[Claims, tuple[str, ...]]:
    """The claims where the engine wants them, and what to say about their origin and their users' names.

    With `if_any` there may be none. With `in_range` a range will clamp them, so that every number is taken,
    infinite ones too: whether there is an output must not depend on a value. `engine` tells the memory that
    they may take.
    """
    claims, certificate = read_claims_as_told(path, engine, if_any, in_range, **columns)
    warnings = [] if certificate is None else [NOT_RAW.format(kind=certificate.kind)]
    similar = similar_names(claims.users)
    if similar:
        warnings.append(SIMILAR_NAMES.format(count=similar))
    return claims, tuple(warnings)
