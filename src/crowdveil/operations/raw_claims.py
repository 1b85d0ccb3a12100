"""Claims that are taken for raw ones, with a warning where their file tells that they are not."""

from __future__ import annotations

from collections.abc import Mapping

from crowdveil.claims import Claims
from crowdveil.files import read_claims_as_told

NOT_RAW = (
    "these are {kind} already, not raw claims: the promise is about them, and what they cost was spent "
    "elsewhere"
)


def read_raw_claims(path: str, columns: Mapping[str, str | None]) -> tuple[Claims, tuple[str, ...]]:
    """The claims in a file, and what to say about their origin; without a certificate that is unknown."""
    claims, certificate = read_claims_as_told(path, **columns)
    return claims, () if certificate is None else (NOT_RAW.format(kind=certificate.kind),)
