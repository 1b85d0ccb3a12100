"""Release: from a file of raw claims to a bundle, charged to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdveil.certificates.certificate import SEEDED_WARNING, of_release
from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.files import keep_apart
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.ledger import LARGE_DELTA
from crowdveil.operations.raw_claims import read_raw_claims
from crowdveil.operations.release_claims import cost_of
from crowdveil.operations.spending import Account, spend
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.expected_error import Expectation
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release
from crowdveil.report.bundle import fill_bundle, private_path, reserved_bundle
from crowdveil.signing import PublicKey


@dataclass(frozen=True, eq=False)
class Released:
    """A release that was written: the result, where it is, and what only the steward may know."""

    release: Release
    out: Path
    outside: int  # claims that were pulled into the range: for the steward's eyes
    unlisted: int  # claims about objects that are not listed: for the steward's eyes
    claims: int  # all raw claims: for the steward's eyes
    expected: Expectation | None  # from public numbers
    warnings: tuple[str, ...] = ()
    signer: PublicKey | None = None  # the key that signed it; what is seeded is not signed

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data; `for_you_only` is not for publication."""
        return {
            "out": str(self.out),
            "private_out": str(private_path(self.out)),
            "method": self.release.method,
            "seeded": self.release.seeded,
            **({"warning": SEEDED_WARNING} if self.release.seeded else {}),
            "synthetic": self.release.synthetic,
            "signed_by": self.signer and self.signer.fingerprint,
            "promise": self.release.promise.to_dict(),
            "levels": [level.to_dict() for level in of_release(self.release).levels()],
            "cap": self.release.parameters.get("cap"),
            "objects": len(self.release.objects),
            "released_claims": len(self.release),
            "statuses": self.release.status_counts(),
            "expected": self.expected.to_dict() if self.expected else None,
            "for_you_only": {"clamped_claims": self.outside, "unlisted_claims": self.unlisted},
        }


def release(
    source: str,
    parameters: ReleaseMethod,
    out: Path,
    account: Account,
    *,
    columns: Mapping[str, str | None] | None = None,
    rng: Randomness | None = None,
    engine: Engine | None = None,
    insist: bool = False,
    force: bool = False,
    spread: float | None = None,
    objects_file: Path | None = None,
    csv: bool | None = None,
    tell: Callable[[str], None] = lambda _: None,
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
        Go on where the public pattern of claims tells that the release will be little but noise, or where
        delta is large.
    force:
        Replace a bundle that is there.
    spread:
        How far an object's claims are expected to spread. The error to expect follows from it, and from that
        whether a release is refused; the release itself does not depend on it.
    objects_file:
        The file that lists the objects in `parameters`, if there is one: it is not replaced.
    csv:
        Whether to write claims.csv; by default where the release is not too large for one.
    tell:
        Called with the error to expect, in words, before anything is charged.

    """
    rng, engine = rng or secure(), engine or LocalEngine()
    read = {"the raw claims": source, "--objects": objects_file}
    keep_apart([out, private_path(out)], read, ledger=account.ledger.path)
    with reserved_bundle(out, force=force) as places:
        engine.check_place(places.drafts[-1])
        raw, warned = read_raw_claims(
            source,
            columns or {},
            if_any=parameters.may_lack_claims,
            in_range=parameters.range is not None,
            engine=engine,
        )
        expected = parameters.expectation(raw, spread, engine)
        if expected is None and spread is not None:
            raise ParameterError("a stated spread is of no use: no error can be told for these parameters")
        if not insist:
            parameters.refuse_useless(raw, spread, engine)
        parameters = parameters.settled(raw, engine)
        claims = parameters.used(raw)
        pattern = Pattern.of(claims)
        if not insist:
            _refuse_large_delta(parameters.promise(pattern))
        cost = cost_of(parameters, pattern, rng)
        key = account.key(seeded=not rng.private)  # refuses one that cannot be used
        if expected is not None:
            tell(expected.sentence + ("" if expected.useful else ": that is of little use"))
        hidden = (_outside(raw, parameters), parameters.unlisted(raw), len(raw))
        left_out = parameters.left_out(raw)
        if left_out:
            tell(f"objects of which the cap leaves no claim, and which are not in the release: {left_out:,}")

        def write(drawn: Release) -> None:
            fill_bundle(places, drawn, claims, key, engine=engine, csv=csv)

        drawn = spend(
            account, cost, draw=lambda: parameters.draw(claims, rng=rng, engine=engine), write=write
        )
    signer = None if key is None else key.public
    return Released(drawn, out, *hidden, expected, warned, signer)


def _refuse_large_delta(promise: Promise) -> None:
    """Refuse a promise that may fail so often that its epsilon says little; no budget limits a delta."""
    if isinstance(promise, Guarantee) and promise.delta > LARGE_DELTA:
        raise ParameterError(
            f"a delta of {promise.delta:g} is nearly no guarantee: with up to that probability epsilon "
            f"bounds nothing (--delta 1e-6 is usual, {LARGE_DELTA:g} the most, --insist goes on regardless)"
        )


def _outside(claims: Claims, parameters: ReleaseMethod) -> int:
    """How many raw claims lie outside the range."""
    return 0 if parameters.range is None else claims.outside(parameters.range.low, parameters.range.high)
