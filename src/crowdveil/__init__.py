"""Collect, combine and publish crowdsourced data without giving anybody away.

    from crowdveil import Certified, Claims, Range, release_certified
    claims = Claims.from_frame(table, object="drug", user="patient", value="severity")
    released = release_certified(claims, Certified(epsilon=2, range=Range(0, 10)))
    released.to_frame(), released.promise.sentence()

Names are imported when they are first used, so that `import crowdveil` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crowdveil.version import __version__

if TYPE_CHECKING:
    from crowdveil.claims import Claims
    from crowdveil.engines import LocalEngine
    from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
    from crowdveil.files import read_claims
    from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee
    from crowdveil.labels import Labels
    from crowdveil.ledger import Ledger
    from crowdveil.local import Laplace, VariancePerUser, perturb
    from crowdveil.public_range import Range
    from crowdveil.randomness import secure, seeded
    from crowdveil.records import Records, Schema
    from crowdveil.release.basic import Basic
    from crowdveil.release.basic import release as release_basic
    from crowdveil.release.certified import Certified
    from crowdveil.release.certified import release as release_certified
    from crowdveil.release.deniability import PrivacyTest
    from crowdveil.release.priscrowd import PrisCrowd
    from crowdveil.release.priscrowd import release as release_priscrowd
    from crowdveil.release.result import Release, Status
    from crowdveil.report.bundle import write_bundle
    from crowdveil.synthesis.classes import Crowdveil, synthesize
    from crowdveil.truth.methods import discover
    from crowdveil.truth.vote import one_coin as vote

_HOMES = {
    "Basic": "release.basic",
    "Certified": "release.certified",
    "Claims": "claims",
    "Crowdveil": "synthesis.classes",
    "CrowdveilError": "errors",
    "Deniability": "guarantee",
    "Guarantee": "guarantee",
    "InputError": "errors",
    "Labels": "labels",
    "Laplace": "local",
    "Ledger": "ledger",
    "LocalEngine": "engines",
    "NoGuarantee": "guarantee",
    "OutputError": "errors",
    "ParameterError": "errors",
    "PrisCrowd": "release.priscrowd",
    "PrivacyTest": "release.deniability",
    "Range": "public_range",
    "Records": "records",
    "Release": "release.result",
    "Schema": "records",
    "Status": "release.result",
    "VariancePerUser": "local",
    "discover": "truth.methods",
    "perturb": "local",
    "read_claims": "files",
    "release_basic": "release.basic:release",
    "release_certified": "release.certified:release",
    "release_priscrowd": "release.priscrowd:release",
    "secure": "randomness",
    "seeded": "randomness",
    "synthesize": "synthesis.classes",
    "vote": "truth.vote:one_coin",
    "write_bundle": "report.bundle",
}

__all__ = [
    "Basic",
    "Certified",
    "Claims",
    "Crowdveil",
    "CrowdveilError",
    "Deniability",
    "Guarantee",
    "InputError",
    "Labels",
    "Laplace",
    "Ledger",
    "LocalEngine",
    "NoGuarantee",
    "OutputError",
    "ParameterError",
    "PrisCrowd",
    "PrivacyTest",
    "Range",
    "Records",
    "Release",
    "Schema",
    "Status",
    "VariancePerUser",
    "__version__",
    "discover",
    "perturb",
    "read_claims",
    "release_basic",
    "release_certified",
    "release_priscrowd",
    "secure",
    "seeded",
    "synthesize",
    "vote",
    "write_bundle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdveil' has no attribute {name!r}")
    home, _, original = _HOMES[name].partition(":")
    return getattr(import_module(f"crowdveil.{home}"), original or name)
