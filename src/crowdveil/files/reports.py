"""Noisy claims in a file that tells how they were made."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl

from crowdveil.certificates.certificate import Certificate, of_noisy_claims
from crowdveil.errors import InputError
from crowdveil.files.certificates import beside_csv, in_parquet, reserved_table, write_with_certificate
from crowdveil.files.reading import STDIN, has_parquet_magic
from crowdveil.files.reservation import Reservation
from crowdveil.local.description import Description
from crowdveil.local.perturbed import Perturbed


def mechanism_file(path: str) -> Path:
    """The file beside a CSV file that holds its certificate."""
    return Path(f"{path}.mechanism.json")


def reserved_reports(path: str, *, force: bool) -> AbstractContextManager[Reservation | None]:
    """Places for `write_reports`; None is standard output."""
    return reserved_table(path, mechanism_file(path), force=force)


def write_reports(perturbed: Perturbed, description: Description, places: Reservation | None) -> None:
    """Noisy claims with their certificate; on standard output without."""
    claims = perturbed.claims
    frame = pl.DataFrame(
        {
            "object": claims.objects.gather(claims.owners()),
            "user": claims.users.gather(claims.user_codes),
            "value": claims.values,
        }
    )
    write_with_certificate(frame, of_noisy_claims(perturbed, description), places)


def read_noise(path: str) -> Certificate | None:
    """The certificate of a file of noisy claims; None if these are plain claims.

    Call it when the file itself has been read. Standard input never tells of one.
    """
    if path == STDIN:
        return None
    parquet = has_parquet_magic(Path(path))
    certificate = in_parquet(path) if parquet else beside_csv(path, mechanism_file(path))
    if certificate is not None and certificate.kind != "noisy claims":
        raise InputError(f"{path}: holds {certificate.kind}, not noisy claims")
    return certificate
