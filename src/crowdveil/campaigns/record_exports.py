"""The exported reports of a records campaign: a Parquet file whose certificate tells how they were asked."""

from __future__ import annotations

from pathlib import Path

from crowdveil.campaigns.records import collection_of
from crowdveil.errors import InputError
from crowdveil.files.certificates import in_parquet
from crowdveil.files.reading import read_frame
from crowdveil.synthesis.collection import Collection

KIND = "record reports"


def read_collection(path: Path | str) -> Collection:
    """The collection with all reports of a file: what the library makes of them.

    `InputError` if the file carries no certificate, or one about something else.
    """
    frame = read_frame(str(path))
    told = in_parquet(str(path), str(path))
    if told is None or told.certificate.kind != KIND:
        raise InputError(f"{path}: these are not the reports of a records campaign")
    return collection_of(frame, told.certificate)
