"""Release: from a file of raw claims to a bundle, charged to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.files import read_claims
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.expected_error import Expectation
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release
from crowdveil.report.bundle import check_bundle, private_path, write_bundle


@dataclass(frozen=True, eq=False)
class Released:
    """A release that was written: the result, where it is, and what only the steward may know."""

    release: Release
    out: Path
    outside: int  # claims that were pulled into the range: for the steward's eyes
    expected: Expectation | None = None  # from public numbers

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
            "expected": self.expected.to_dict() if self.expected else None,
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
    spread: float | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Released:
    """Publish the claims in a file: check, charge, draw, write the bundle, complete.

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
    spread:
        How far an object's claims are expected to spread. The error to expect follows from it, and from that
        whether a release is refused; the release itself does not depend on it.
    tell:
        Called with the error to expect, in words, before anything is charged.

    """
    rng, engine = rng or secure(), engine or LocalEngine()
    check_bundle(out, source, force=force)
    raw = read_claims(source, **(columns or {}))
    claims = parameters.used(raw)
    pattern = Pattern.of(claims)
    expected = parameters.expectation(pattern, spread)
    if expected is None and spread is not None:
        raise ParameterError("a stated spread is of no use: no error can be told for these parameters")
    if not insist:
        parameters.refuse_useless(pattern, spread)
    if expected is not None:
        tell(expected.sentence)
    cost = Cost(
        parameters.promise(pattern),
        parameters.name,
        parameters.to_dict(),
        parameters.events(pattern),
        seeded=not rng.private,
    )

    def write(drawn: Release) -> None:
        engine.progress("writing", 0.0)
        write_bundle(out, drawn, claims, force=force)

    drawn = spend(account, cost, draw=lambda: parameters.draw(claims, rng=rng, engine=engine), write=write)
    return Released(drawn, out, _outside(raw, parameters), expected)


def _outside(claims: Claims, parameters: ReleaseMethod) -> int:
    """How many raw claims lie outside the range."""
    if parameters.range is None:
        return 0
    return claims.clamped(parameters.range.low, parameters.range.high)[1]
