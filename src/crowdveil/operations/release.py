"""Release: from a file of raw claims to a bundle, charged to the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.files import read_claims, read_claims_if_any
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release
from crowdveil.report.bundle import fill_bundle, private_path, reserved_bundle


@dataclass(frozen=True, eq=False)
class Released:
    """A release that was written: the result, where it is, and what only the steward may know."""

    release: Release
    out: Path
    outside: int  # claims that were pulled into the range: for the steward's eyes
    claims: int  # all raw claims: for the steward's eyes

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data; `for_you_only` is not for publication."""
        return {
            "out": str(self.out),
            "private_out": str(private_path(self.out)),
            "method": self.release.method,
            "seeded": self.release.seeded,
            "synthetic": self.release.synthetic,
            "promise": self.release.promise.to_dict(),
            "objects": len(self.release.objects),
            "released_claims": len(self.release),
            "statuses": self.release.status_counts(),
            "for_you_only": {"clamped_claims": self.outside},
        }


def release(
    source: str,
    parameters: ReleaseMethod,
    out: Path,
    account: Account,
    *,
    columns: Mapping[str, str | None] | None = None,
    rng: Randomness | None = None,
    engine: LocalEngine | None = None,
    insist: bool = False,
    force: bool = False,
) -> Released:
    """Publish the claims in a file: reserve, check, charge, draw, write the bundle, complete.

    Parameters
    ----------
    source:
        CSV or Parquet file with raw claims; "-" is standard input.
    parameters:
        The method with its parameters.
    out:
        The folder to publish; what is for the steward alone goes to `out-private`.
    account:
        Where the release is charged.
    columns:
        Names of the columns "object", "user" and "value"; what is not named is guessed.
    rng, engine:
        Where draws come from and where the work is done; by default secure, and all cores.
    insist:
        Go on where the public pattern of claims tells that the release will be little but noise.
    force:
        Replace a bundle that is there.

    """
    rng, engine = rng or secure(), engine or LocalEngine()
    with reserved_bundle(out, source, force=force) as places:
        read = read_claims_if_any if parameters.may_lack_claims else read_claims
        raw = read(source, **(columns or {}))
        claims = parameters.used(raw)
        pattern = Pattern.of(claims)
        if not insist:
            parameters.refuse_useless(pattern)
        cost = Cost(
            parameters.promise(pattern),
            parameters.name,
            parameters.to_dict(),
            parameters.events(pattern),
            seeded=not rng.private,
        )

        def write(drawn: Release) -> None:
            engine.progress("writing", 0.0)
            fill_bundle(places, drawn, claims)

        drawn = spend(
            account, cost, draw=lambda: parameters.draw(claims, rng=rng, engine=engine), write=write
        )
    return Released(drawn, out, _outside(raw, parameters), len(raw))


def _outside(claims: Claims, parameters: ReleaseMethod) -> int:
    """How many raw claims lie outside the range."""
    if parameters.range is None:
        return 0
    return claims.clamped(parameters.range.low, parameters.range.high)[1]
