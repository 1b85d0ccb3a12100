"""The certificate of a file: the facts, the promise, and what is not promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from crowdveil.certificates.levels import Level, levels
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.local.description import Description
from crowdveil.local.perturbed import Perturbed
from crowdveil.local.reports import Reports
from crowdveil.releases.result import Release
from crowdveil.synthesis.result import Synthetic
from crowdveil.version import __version__

SCHEMA_VERSION = 3
Kind = Literal["release", "noisy claims", "reports", "record reports", "synthetic records"]

SEEDED_WARNING = "This was drawn with a fixed seed and is NOT PRIVATE: whoever knows the seed can undo it."


@dataclass(frozen=True)
class Certificate:
    """What was promised about a file.

    Parameters
    ----------
    kind:
        What the file holds.
    method, parameters:
        The release method, local mechanism or synthesis method, and what it was asked for.
    public:
        Public numbers that the promise depends on besides the parameters.
    promise:
        What is promised about each protected unit.
    user_promise:
        What is promised to a user about everything they contributed, where that is known to differ.
    seeded:
        Whether the draws can be repeated from a seed; then nothing is promised.
    synthetic:
        Whether values belong to nobody; else each is one person's own, with noise.
    contents:
        What a reader of the file must know about it: the names of objects, digests of what was published.
    crowdveil:
        The version that wrote it.

    """

    kind: Kind
    method: str
    parameters: Mapping[str, Any]
    promise: Promise
    seeded: bool
    synthetic: bool
    public: Mapping[str, Any] = field(default_factory=dict)
    user_promise: Promise | None = None
    contents: Mapping[str, Any] = field(default_factory=dict)
    crowdveil: str = __version__

    def levels(self) -> list[Level]:
        """What the promise is worth for a claim and for a person."""
        return levels(self.promise, self.user_promise, self._number())

    def _number(self) -> Any:
        """How many claims a user has, or answers."""
        return self.public.get("objects" if self.kind == "reports" else "claims_of_a_user")

    def _together_better_than_apart(self) -> bool:
        """Whether all claims of a user are protected better than by epsilon times their number."""
        one, together = self.promise, self.user_promise
        if not isinstance(one, Guarantee) or not isinstance(together, Guarantee) or not self._number():
            return False
        return bool(together.epsilon < 0.999 * self._number() * one.epsilon)

    def not_promised(self) -> list[str]:
        """What a reader might believe to be promised, and is not."""
        if not isinstance(self.promise, Guarantee):
            return [
                "differential privacy of any kind, for a claim or for a user",
                "objects that are missing, or have fewer claims than others, tell something by that",
            ]
        lines = []
        if self.promise.adjacency == "replace-one" and self.promise.unit in ("claim", "user"):
            lines.append("who made claims about which objects, and how many there are, is not protected")
        if self.promise.unit in ("claim", "cell"):
            things = {"claim": "claims", "cell": "answers"}[self.promise.unit]
            faster = ", with a delta that grows faster than that" if self.promise.delta else ""
            worth = "only by epsilon times their number" + faster
            if self._together_better_than_apart():
                worth = "less than each of them: the levels say how much"
            lines.append(f"a user's {things} together are protected {worth}")
        if self.promise.unit != "record":
            lines.append("a person who took part under several names is protected as several users")
        if self.promise.adjacency == "replace-or-not-last":
            lines.append("who and what is on the lists of users and objects is not protected")
        if "waves" in self.public:
            lines.append("what a person reported in other waves of the campaign adds up with this one")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        stated: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "crowdveil": self.crowdveil,
            "kind": self.kind,
            "method": self.method,
            "parameters": dict(self.parameters),
            "public": dict(self.public),
            "seeded": self.seeded,
            "synthetic": self.synthetic,
            "promise": self.promise.to_dict(),
            "user_promise": self.user_promise and self.user_promise.to_dict(),
            "levels": [level.to_dict() for level in self.levels()],
            "not_promised": self.not_promised(),
            "contents": dict(self.contents),
        }
        if self.seeded:
            stated["warning"] = SEEDED_WARNING
        return stated


def of_release(release: Release) -> Certificate:
    """The certificate of a release."""
    return Certificate(
        kind="release",
        method=release.method,
        parameters=release.parameters,
        public=release.public,
        promise=release.promise,
        user_promise=release.user_promise,
        seeded=release.seeded,
        synthetic=release.synthetic,
    )


def of_noisy_claims(perturbed: Perturbed, description: Description) -> Certificate:
    """The certificate of claims with noise, each its user's own."""
    return Certificate(
        kind="noisy claims",
        method=description.mechanism,
        parameters=description.parameters,
        public={"claims_of_a_user": perturbed.claims_of_a_user},
        promise=perturbed.promise,
        user_promise=perturbed.user_promise,
        seeded=perturbed.seeded,
        synthetic=False,
    )


def of_reports(reports: Reports, description: Description) -> Certificate:
    """The certificate of reports about every cell; whoever reads them needs the names of the objects."""
    return Certificate(
        kind="reports",
        method=description.mechanism,
        parameters=description.parameters,
        public={"objects": len(reports.objects), "declared": reports.declared},
        promise=reports.promise,
        user_promise=reports.user_promise,
        seeded=reports.seeded,
        synthetic=False,
        contents={"users": len(reports.users), "objects": reports.objects.to_list()},
    )


def of_synthetic(synthetic: Synthetic) -> Certificate:
    """The certificate of synthetic records; domains that were read off the data are not told."""
    schema = synthetic.records.schema
    sizes = dict(zip(schema.names, schema.sizes, strict=True))
    return Certificate(
        kind="synthetic records",
        method=synthetic.method,
        parameters=synthetic.parameters,
        public={"declared": True, "columns": sizes} if schema.declared else {"declared": False},
        promise=synthetic.promise,
        seeded=synthetic.seeded,
        synthetic=True,
    )
