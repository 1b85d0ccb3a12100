"""Noisy claims in a file that tells how they were made."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdveil.certificates.certificate import of_noisy_claims
from crowdveil.engines import Block, Engine, LocalEngine, Seal, UserNames
from crowdveil.files.certificates import metadata_for, write_with_certificate
from crowdveil.files.reservation import Reservation
from crowdveil.files.rows import rows_of_tables
from crowdveil.files.writing import is_parquet
from crowdveil.local.description import Description
from crowdveil.local.perturbed import Perturbed
from crowdveil.signing import SigningKey


def write_reports(
    perturbed: Perturbed,
    description: Description,
    place: Reservation | None,
    key: SigningKey | None = None,
    engine: Engine | None = None,
) -> None:
    """Noisy claims with their certificate, signed by `key`; Parquet where they are, in parts."""
    claims, certificate = perturbed.claims, of_noisy_claims(perturbed, description)
    if place is None or not is_parquet(place.drafts[0].name):
        here = claims.here()
        whole = Block(0, here.objects, here.offsets, here.user_codes, here.values)
        write_with_certificate(_rows(whole, None, here.users), certificate, place, key)
        return
    engine = engine or LocalEngine()
    offsets = np.concatenate([[0], np.cumsum(claims.counts())]).astype(np.int64)
    seal = Seal(rows_of_tables, lambda told: metadata_for(told, certificate, key))
    with place.filling() as (draft,):
        engine.write("writing", claims, _rows, UserNames(), path=draft, offsets=offsets, metadata=seal)


def _rows(block: Block, _: None, users: pl.Series) -> pl.DataFrame:
    """The claims of a block."""
    objects = np.repeat(np.arange(block.size), np.diff(block.offsets))
    return pl.DataFrame(
        {
            "object": block.names.gather(objects),
            "user": users.gather(block.user_codes),
            "value": block.values,
        }
    )
