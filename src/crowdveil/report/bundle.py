"""The release bundle: a folder to publish, and beside it a private one for the steward."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from crowdveil.claims import Claims
from crowdveil.files import whole_folders
from crowdveil.files.writing import check_free
from crowdveil.release.result import Release, Status
from crowdveil.release.weights import Weights
from crowdveil.report.certificate import certificate, to_json
from crowdveil.report.pages import public_page, steward_page


def private_folder(out: Path) -> Path:
    """Where the private half of a bundle goes: `out` gives `out-private`."""
    return out.with_name(out.name + "-private")


def check_bundle(out: Path, *, force: bool) -> None:
    """Refuse early what `write_bundle` would refuse late."""
    check_free([out, private_folder(out)], force=force)


def write_bundle(
    out: Path, release: Release, claims: Claims, weights: Weights | None, *, force: bool
) -> None:
    """Write both folders, or neither.

    `out`: claims.parquet, claims.csv, certificate.json, public.html; safe to publish under the promise in
    the certificate. `out-private` (for its owner's eyes only): steward.html, statuses.csv, weights.csv.
    """
    targets = [(private_folder(out), 0o700), (out, 0o755)]
    with whole_folders(targets, force=force) as (private, public):
        table = release.to_frame()
        table.write_parquet(public / "claims.parquet")
        table.write_csv(public / "claims.csv")
        (public / "certificate.json").write_text(to_json(certificate(release)), encoding="utf-8")
        (public / "public.html").write_text(public_page(release), encoding="utf-8")
        (private / "steward.html").write_text(steward_page(release, claims, weights), encoding="utf-8")
        _statuses(release, claims).write_csv(private / "statuses.csv")
        if weights is not None:
            _user_weights(claims, weights).write_csv(private / "weights.csv")
        for path in private.iterdir():
            path.chmod(0o600)


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
