"""What a file tells about itself: what made it, and what was promised."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.errors import InputError, ParameterError
from crowdveil.files.writing import STDOUT, is_parquet, whole_file, write_csv, write_table
from crowdveil.guarantee import Promise
from crowdveil.local.described import Description
from crowdveil.version import __version__

KEY = "crowdveil"  # of the Parquet metadata
FORMAT = 1


def metadata_of(
    description: Description, *, seeded: bool, promise: Promise, user_promise: Promise
) -> dict[str, Any]:
    """What a file tells about itself: its mechanism with its parameters, and what was promised."""
    return {
        "format": FORMAT,
        "crowdveil": __version__,
        "mechanism": description.mechanism,
        "parameters": dict(description.parameters),
        "seeded": seeded,
        "promise": promise.to_dict(),
        "user_promise": user_promise.to_dict(),
    }


def write_described(
    frame: pl.DataFrame, metadata: dict[str, Any], path: str, beside: Path, *, force: bool
) -> None:
    """Write a table with its metadata: in a Parquet file, in a file `beside` a CSV file, not in a pipe."""
    if path == STDOUT:
        write_table(frame, path, force=force)
        return
    with whole_file(Path(path), force=force) as draft:
        if is_parquet(path):
            frame.write_parquet(draft, metadata={KEY: to_text(metadata)})
            return
        write_csv(frame, draft)
        with whole_file(beside, force=force) as other:
            other.write_text(to_text(metadata | {"sha256": digest(draft)}) + "\n", encoding="utf-8")


def digest(path: Path) -> str:
    """A hash of a table that may be published: it ties its metadata to it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_text(metadata: dict[str, Any]) -> str:
    """Metadata as strict JSON."""
    return json.dumps(metadata, allow_nan=False, indent=2)


def from_text(text: str, source: str) -> tuple[Description, dict[str, Any]]:
    """The mechanism, which can be built, and all metadata."""
    try:
        metadata = json.loads(text)
        if metadata["format"] != FORMAT:
            raise ParameterError("it has another format")
        description = Description(metadata["mechanism"], metadata["parameters"])
        description.build()
    except ParameterError as error:
        raise InputError(f"{source}: its mechanism cannot be used ({error})") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(f"{source}: does not tell a mechanism as crowdveil perturb writes it") from None
    return description, metadata
