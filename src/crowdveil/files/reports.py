"""Noisy claims in a file that tells how they were made."""

from __future__ import annotations

import polars as pl

from crowdveil.certificates.certificate import of_noisy_claims
from crowdveil.files.certificates import write_with_certificate
from crowdveil.files.reservation import Reservation
from crowdveil.local.description import Description
from crowdveil.local.perturbed import Perturbed
from crowdveil.signing import SigningKey


def write_reports(
    perturbed: Perturbed, description: Description, place: Reservation | None, key: SigningKey | None = None
) -> None:
    """Noisy claims with their certificate, signed by `key`."""
    claims = perturbed.claims
    frame = pl.DataFrame(
        {
            "object": claims.objects.gather(claims.owners()),
            "user": claims.users.gather(claims.user_codes),
            "value": claims.values,
        }
    )
    write_with_certificate(frame, of_noisy_claims(perturbed, description), place, key)
