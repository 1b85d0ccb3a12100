"""The certificate: what was promised about a release, and what was not, for machines and people.

It says nothing that only the raw data know: no counts of claims or users, no hash of the input, no seed.
"""

from __future__ import annotations

import json
from typing import Any

from crowdveil.guarantee import Guarantee
from crowdveil.releases.result import Release
from crowdveil.version import __version__

SCHEMA_VERSION = 1

_SEEDED = "This release was drawn with a fixed seed and is NOT PRIVATE: whoever knows the seed can undo it."


def certificate(release: Release) -> dict[str, Any]:
    """The certificate of a release."""
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "crowdveil": __version__,
        "method": release.method,
        "parameters": dict(release.parameters),
        "seeded": release.seeded,
        "synthetic": release.synthetic,
        "promise": release.promise.to_dict(),
        "not_promised": _not_promised(release),
    }
    if release.seeded:
        made["warning"] = _SEEDED
    return made


def _not_promised(release: Release) -> list[str]:
    promise = release.promise
    if not isinstance(promise, Guarantee):
        return [
            "differential privacy of any kind, for a claim or for a user",
            "objects that are missing, or have fewer claims than others, tell something by that",
        ]
    lines = []
    if promise.adjacency == "replace-one":
        lines.append("who made claims about which objects, and how many there are, is not protected")
    if promise.unit == "claim":
        lines.append("a user's claims together are protected only by epsilon times their number")
    return lines


def to_json(value: Any) -> str:
    """Strict JSON: no NaN, readable, ending in a newline."""
    return json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False) + "\n"
