"""What devices sent, in a file that tells how: in Parquet metadata, or in a file beside a CSV file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.errors import InputError, ParameterError
from crowdveil.files.reading import STDIN
from crowdveil.files.writing import STDOUT, check_new, is_parquet, whole_file, write_table
from crowdveil.local.described import Description
from crowdveil.local.perturbed import Perturbed
from crowdveil.version import __version__

KEY = "crowdveil"  # of the Parquet metadata
FORMAT = 1


def mechanism_file(path: str) -> Path:
    """The file beside a CSV file that tells its mechanism."""
    return Path(path).with_suffix(".mechanism.json")


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
    told = _told(perturbed, description)
    if path == STDOUT:
        write_table(frame, path, force=force)
        return
    with whole_file(Path(path), force=force) as draft:
        if is_parquet(path):
            frame.write_parquet(draft, metadata={KEY: told})
            return
        frame.write_csv(draft)
        with whole_file(mechanism_file(path), force=force) as beside:
            beside.write_text(told + "\n", encoding="utf-8")


def _told(perturbed: Perturbed, description: Description) -> str:
    return json.dumps(
        {
            "format": FORMAT,
            "crowdveil": __version__,
            "mechanism": description.mechanism,
            "parameters": dict(description.parameters),
            "seeded": perturbed.seeded,
            "promise": perturbed.promise.to_dict(),
            "user_promise": perturbed.user_promise.to_dict(),
        },
        allow_nan=False,
        indent=2,
    )


def read_description(path: str) -> tuple[Description, dict[str, Any]] | None:
    """The mechanism that made a file, and all that was told about it; None if these are plain claims."""
    text = _text(path)
    if text is None:
        return None
    source = path if is_parquet(path) else str(mechanism_file(path))
    try:
        told = json.loads(text)
        if told["format"] != FORMAT:
            raise ParameterError("it has another format")
        description = Description(told["mechanism"], told["parameters"])
        description.build()
    except ParameterError as error:
        raise InputError(f"{source}: its mechanism cannot be used ({error})") from None
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{source}: does not tell a mechanism as crowdveil perturb writes it") from None
    return description, told


def promised(description: Description, told: dict[str, Any]) -> str:
    """What the mechanism promises about each claim, in words; nothing if its noise came from a seed."""
    if told.get("seeded") is not False:
        return "No differential privacy guarantee: the noise came from a fixed seed."
    return description.build().claim_level().sentence()


def _text(path: str) -> str | None:
    if path == STDIN:
        return None
    if is_parquet(path):
        with contextlib.suppress(Exception):  # what is no Parquet file is found when it is read
            return pl.read_parquet_metadata(path).get(KEY)
        return None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return mechanism_file(path).read_text(encoding="utf-8")
    return None
