"""Claims on disk that are to be like claims in memory: tables as files, and bounds that force many parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.engines.stored import StoredClaims
from crowdveil.files import read_claims_as_told

BOUNDS = (8_000, 23_000, 55_000)  # bytes, for `crowd`: ranges of one object, of a few, and two


def frame_of(claims: Claims, seed: int = 1) -> pl.DataFrame:
    """The rows of claims in random order."""
    columns = {
        "object": claims.objects.gather(claims.owners()),
        "user": claims.users.gather(claims.user_codes),
        "value": claims.values,
    }
    return pl.DataFrame(columns).sample(fraction=1, shuffle=True, seed=seed)


def stored(claims: Claims, folder: Path, memory: int) -> StoredClaims:
    """The same claims, read from a Parquet file with this bound on memory."""
    path = folder / f"claims-{memory}.parquet"
    frame_of(claims).write_parquet(path, row_group_size=50)
    read, _ = read_claims_as_told(str(path), LocalEngine(2, memory=memory))
    assert isinstance(read, StoredClaims)
    return read


def same_claims(one: Claims, other: Claims) -> None:
    """Fail unless claims agree to the last bit, wherever they are."""
    assert one.objects.equals(other.objects, check_dtypes=True)
    assert one.users.equals(other.users, check_dtypes=True)
    for name in ("offsets", "user_codes", "values"):
        mine: Any = np.asarray(getattr(one, name)[:])
        others: Any = np.asarray(getattr(other, name)[:])
        assert mine.dtype == others.dtype
        assert mine.tobytes() == others.tobytes(), name
