"""What devices sent, in a file that tells how: in Parquet metadata, or in a file beside a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.errors import InputError
from crowdveil.files.described import KEY, digest, from_text, metadata_of, write_described
from crowdveil.files.reading import STDIN, has_parquet_magic
from crowdveil.files.writing import STDOUT, check_new, is_parquet
from crowdveil.local.described import Description
from crowdveil.local.perturbed import Perturbed


def mechanism_file(path: str) -> Path:
    """The file beside a CSV file that tells its mechanism."""
    return Path(f"{path}.mechanism.json")


def check_reports(path: str, *, force: bool) -> None:
    """Refuse places where something is already, unless forced."""
    if path == STDOUT:
        return
    check_new(Path(path), force=force)
    if not is_parquet(path):
        check_new(mechanism_file(path), force=force)


def write_reports(perturbed: Perturbed, description: Description, path: str, *, force: bool) -> None:
    """Noisy claims with their mechanism and what was promised; on standard output without."""
    claims = perturbed.claims
    frame = pl.DataFrame(
        {
            "object": claims.objects.gather(claims.owners()),
            "user": claims.users.gather(claims.user_codes),
            "value": claims.values,
        }
    )
    promises: dict[str, Any] = {"promise": perturbed.promise, "user_promise": perturbed.user_promise}
    metadata = metadata_of(description, seeded=perturbed.seeded, **promises)
    write_described(frame, metadata, path, mechanism_file(path), force=force)


def read_description(path: str) -> tuple[Description, dict[str, Any]] | None:
    """The mechanism that made a file of noisy claims, and its metadata; None if these are plain claims.

    Call it when the file itself has been read. Standard input never tells a mechanism.
    """
    if path == STDIN:
        return None
    parquet = has_parquet_magic(Path(path))
    source = path if parquet else str(mechanism_file(path))
    text = pl.read_parquet_metadata(path).get(KEY) if parquet else _beside(mechanism_file(path))
    if text is None:
        return None
    description, metadata = from_text(text, source)
    if description.about != "claims":
        raise InputError(f"{source}: tells a mechanism that reports about every cell, not noisy claims")
    if not parquet and metadata.get("sha256") != digest(Path(path)):
        raise InputError(
            f"{path}: is not the file that {source} tells of, or was changed; "
            "perturb anew, or remove the latter if these are plain claims"
        )
    return description, metadata


def _beside(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read") from None


def promised(description: Description, metadata: dict[str, Any], claims: int) -> tuple[str, str]:
    """What is promised about each claim and to a user of so many, in words; nothing under a seed."""
    if metadata.get("seeded") is not False:
        nothing = "No differential privacy guarantee: the noise came from a fixed seed."
        return nothing, nothing
    mechanism = description.build()
    return mechanism.promise().sentence(), mechanism.promise("user", claims).sentence()
