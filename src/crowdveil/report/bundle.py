"""The release bundle: a folder to publish, and beside it a private one for the steward."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from crowdveil.arrays import Floats, Ints
from crowdveil.certificates.certificate import SEEDED_WARNING, of_release
from crowdveil.certificates.signature import stated
from crowdveil.claims import Claims, ranges
from crowdveil.engines import Block, ByObject, ByValue, Engine, LocalEngine
from crowdveil.files import Folder, Reservation, reserved
from crowdveil.files.published import CERTIFICATE, FILES, digests
from crowdveil.plain_data import to_json
from crowdveil.releases.result import Release, Status
from crowdveil.releases.weights import Weights
from crowdveil.report.release_pages import public_page, steward_page
from crowdveil.signing import SigningKey

PUBLIC_FILES = frozenset({"claims.parquet", "claims.csv", CERTIFICATE, "public.html"})
PRIVATE_FILES = frozenset({"steward.html", "statuses.csv", "weights.csv"})
CLAIMS = "claims.parquet"
MOST_IN_CSV = 10_000_000  # claims: Parquet is for more
ROWS_AT_ONCE = 1_000_000
WARNING = "crowdveil warning"  # of the Parquet metadata


def private_path(out: Path) -> Path:
    """Where the private half of a bundle goes: `out` gives `out-private`."""
    return out.parent / f"{out.name}-private"


def _folders(out: Path) -> list[Folder]:
    return [Folder(private_path(out), 0o700, PRIVATE_FILES), Folder(out, 0o755, PUBLIC_FILES)]


def reserved_bundle(out: Path, *, force: bool) -> AbstractContextManager[Reservation]:
    """Places for both folders of a bundle."""
    return reserved(_folders(out), force=force)


def write_bundle(
    out: Path,
    release: Release,
    claims: Claims,
    *,
    force: bool,
    key: SigningKey | None = None,
    engine: Engine | None = None,
    csv: bool | None = None,
) -> None:
    """Write both folders or neither; `claims` are the raw claims behind the release.

    `out`: claims.parquet, claims.csv, certificate.json, public.html; safe to publish under the promise in
    the certificate, which lists the digests of the others and is signed by `key`, unless the release is
    seeded. `out-private` (for its owner's eyes only): steward.html, statuses.csv, weights.csv.

    claims.csv is left out of releases with more than `MOST_IN_CSV` claims, unless `csv` tells otherwise.
    claims.parquet is a folder of Parquet files where an engine writes it in several places.
    """
    with reserved_bundle(out, force=force) as places:
        fill_bundle(places, release, claims, key, engine=engine or LocalEngine(), csv=csv)


def fill_bundle(
    places: Reservation,
    release: Release,
    claims: Claims,
    key: SigningKey | None = None,
    *,
    engine: Engine,
    csv: bool | None = None,
) -> None:
    """Write both folders, or neither, to the places that `reserved_bundle` gave."""
    with places.filling() as (private, public):
        _write_parquet(release, claims, public, engine)
        if len(release) <= MOST_IN_CSV if csv is None else csv:
            _write_csv(release, public, engine)
        (public / "public.html").write_text(public_page(release, engine), encoding="utf-8")
        certificate = replace(of_release(release), contents={FILES: digests(public)})
        (public / CERTIFICATE).write_text(to_json(stated(certificate, key)), encoding="utf-8")
        (private / "steward.html").write_text(steward_page(release, claims, engine), encoding="utf-8")
        _statuses(release, claims).write_csv(private / "statuses.csv")
        if release.weights is not None:
            _user_weights(claims, release.weights).write_csv(private / "weights.csv")
        for path in private.iterdir():
            path.chmod(0o600)


def _write_parquet(release: Release, claims: Claims, folder: Path, engine: Engine) -> None:
    """Write claims.parquet where the values are, so that the full table is never in one place."""
    engine.write(
        *("writing", claims.without_claims(), _rows),
        *(ByObject(np.diff(release.offsets)), ByValue(release.values, release.offsets)),
        path=folder / CLAIMS,
        offsets=release.offsets,
        metadata={WARNING: SEEDED_WARNING} if release.seeded else {},
    )


def _rows(block: Block, _: None, counts: Ints, values: Floats) -> pl.DataFrame:
    """The published table of a block's objects, which have so many of the values."""
    codes = np.repeat(np.arange(block.size), counts)
    return pl.DataFrame({"object": block.names.gather(codes), "value": values})


def _write_csv(release: Release, folder: Path, engine: Engine) -> None:
    """Write claims.csv in parts."""
    values, offsets = engine.collect(release.values), release.offsets
    with (folder / "claims.csv").open("wb") as file:
        for first, last in ranges(offsets, ROWS_AT_ONCE):
            codes = np.repeat(np.arange(first, last), np.diff(offsets[first : last + 1]))
            part = {"object": release.objects.gather(codes), "value": values[offsets[first] : offsets[last]]}
            pl.DataFrame(part).write_csv(file, include_header=first == 0)


def _statuses(release: Release, claims: Claims) -> pl.DataFrame:
    names = np.array([status.name for status in Status])
    return pl.DataFrame(
        {
            "object": claims.objects,
            "claims": claims.counts(),
            "released": np.diff(release.offsets),
            "status": names[release.statuses],
        }
    )


def _user_weights(claims: Claims, weights: Weights) -> pl.DataFrame:
    return pl.DataFrame({"user": claims.users, "claims": claims.claims_per_user(), "weight": weights.user})
