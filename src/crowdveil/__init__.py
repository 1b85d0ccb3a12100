"""Collect, combine and publish crowdsourced data without giving anybody away.

    from crowdveil import Certified, Claims, Range, release
    claims = Claims.from_frame(table, object="drug", user="patient", value="severity")
    asked = Certified(epsilon=2, range=Range(0, 10))
    released = release(claims, asked, ledger="ledger.sqlite3", dataset="side-effects")
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
    from crowdveil.operations.release_claims import release
    from crowdveil.public_range import Range
    from crowdveil.randomness import secure, seeded
    from crowdveil.records import Records, Schema
    from crowdveil.releases.basic import Basic
    from crowdveil.releases.certified import Certified
    from crowdveil.releases.deniability import PrivacyTest
    from crowdveil.releases.priscrowd import PrisCrowd, Uniform
    from crowdveil.releases.result import Release, Status
    from crowdveil.report.bundle import write_bundle
    from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
    from crowdveil.synthesis.simulated import synthesize
    from crowdveil.truth.one_coin import one_coin
    from crowdveil.truth.registry import discover

_HOMES = {
    "Basic": "releases.basic",
    "Certified": "releases.certified",
    "Claims": "claims",
    "CrowdveilError": "errors",
    "Deniability": "guarantee",
    "Guarantee": "guarantee",
    "InputError": "errors",
    "Labels": "labels",
    "Laplace": "local",
    "LatentClassSynthesis": "synthesis.latent_class_synthesis",
    "Ledger": "ledger",
    "LocalEngine": "engines",
    "NoGuarantee": "guarantee",
    "OutputError": "errors",
    "ParameterError": "errors",
    "PrisCrowd": "releases.priscrowd",
    "PrivacyTest": "releases.deniability",
    "Range": "public_range",
    "Records": "records",
    "Release": "releases.result",
    "Schema": "records",
    "Status": "releases.result",
    "Uniform": "releases.priscrowd",
    "VariancePerUser": "local",
    "discover": "truth.registry",
    "one_coin": "truth.one_coin",
    "perturb": "local",
    "read_claims": "files",
    "release": "operations.release_claims",
    "secure": "randomness",
    "seeded": "randomness",
    "synthesize": "synthesis.simulated",
    "write_bundle": "report.bundle",
}

__all__ = [
    "Basic",
    "Certified",
    "Claims",
    "CrowdveilError",
    "Deniability",
    "Guarantee",
    "InputError",
    "Labels",
    "Laplace",
    "LatentClassSynthesis",
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
    "Uniform",
    "VariancePerUser",
    "__version__",
    "discover",
    "one_coin",
    "perturb",
    "read_claims",
    "release",
    "secure",
    "seeded",
    "synthesize",
    "write_bundle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdveil' has no attribute {name!r}")
    home, _, original = _HOMES[name].partition(":")
    return getattr(import_module(f"crowdveil.{home}"), original or name)
