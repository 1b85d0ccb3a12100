"""Reports about every cell, in a Parquet file: a row for each user, whose report is a string of bytes.

The metadata hold the certificate: the mechanism, the promise and the names of all objects, in the order of
the bytes.
Devices are in places 0, 1, ... in the order of users, unless a column `place` tells others.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Ints
from crowdveil.certificates.certificate import of_reports
from crowdveil.errors import InputError, ParameterError
from crowdveil.files.certificates import in_parquet, metadata_of, told_by_parquet
from crowdveil.files.exact_paths import read_parquet, scan_parquet
from crowdveil.files.places import File
from crowdveil.files.reading import has_parquet_magic
from crowdveil.files.reservation import Reservation, reserved
from crowdveil.files.writing import is_parquet
from crowdveil.local.description import Description
from crowdveil.local.reports import CellMechanism, Reports
from crowdveil.signing import SigningKey
from crowdveil.sources import STDIN


def reserved_cell_reports(path: str, *, force: bool) -> AbstractContextManager[Reservation]:
    """A place for `write_cell_reports`; other endings than .parquet are refused."""
    if not is_parquet(path):
        raise ParameterError("reports about every cell are bytes: give -o a name that ends in .parquet")
    return reserved([File(Path(path))], force=force)


def write_cell_reports(
    reports: Reports, description: Description, place: Reservation, key: SigningKey | None = None
) -> None:
    """What all devices sent, with the mechanism and what was promised, signed by `key`."""
    rows = reports.rows.astype(reports.rows.dtype.newbyteorder("<"), copy=False)
    frame = pl.DataFrame(
        {"user": reports.users, "report": pl.Series([row.tobytes() for row in rows], dtype=pl.Binary)}
    )
    if reports.places is not None:
        frame = frame.with_columns(pl.Series("place", reports.places))
    with place.filling() as (draft,):
        frame.rechunk().write_parquet(
            draft, metadata=metadata_of(frame, of_reports(reports, description), key)
        )


def read_cell_reports(path: str) -> Reports | None:
    """Reports about every cell; None if the file is something else."""
    if path == STDIN or not Path(path).is_file() or not has_parquet_magic(Path(path)):
        return None
    try:
        told = told_by_parquet(path, path)
        if told is None or told.certificate.kind != "reports":
            return None
        in_parquet(path, path)  # refuses other rows
        certificate = told.certificate
        own_places = ["place"] if "place" in scan_parquet(path).collect_schema() else []
        frame = read_parquet(path, ["user", "report", *own_places])
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: cannot be read as Parquet, or lacks the columns user and report") from None
    if frame.height == 0:
        raise InputError(f"{path}: has no report")
    users = frame["user"]
    if users.null_count() or users.n_unique() < frame.height:
        raise InputError(f"{path}: some user has two reports, or a report has no user")
    # What was asked may depend on the place.
    if frame.height != certificate.contents.get("users") or not users.is_sorted():
        raise InputError(f"{path}: a report is missing, added or in another place than perturb wrote it")
    mechanism: CellMechanism = Description(certificate.method, certificate.parameters).build()
    objects = _objects(certificate.contents, path)
    rows = _rows(frame["report"], *mechanism.row(len(objects)), path)
    return Reports(
        *(objects, users, mechanism, rows),
        seeded=certificate.seeded,
        declared=certificate.public["declared"],
        places=_places(frame["place"], path) if own_places else None,
    )


def _objects(contents: Mapping[str, Any], path: str) -> pl.Series:
    """The names of objects: text or whole numbers, ascending, none twice."""
    names = contents.get("objects")
    kinds = {type(name) for name in names} if isinstance(names, list) else set()
    if kinds not in ({str}, {int}):
        raise InputError(f"{path}: does not tell its objects as crowdveil perturb writes them")
    try:
        objects = pl.Series("object", names)
    except (OverflowError, pl.exceptions.PolarsError):
        objects = pl.Series("object", [])
    if not objects.equals(objects.unique().sort()) or objects.is_empty():
        raise InputError(f"{path}: its objects are not in order, or one is there twice")
    return objects


def _places(column: pl.Series, path: str) -> Ints:
    """The places that devices were given: whole numbers from 0, none twice."""
    if not column.dtype.is_integer() or column.null_count() or column.n_unique() < len(column):
        raise InputError(f"{path}: two devices have one place, or a device has none")
    places = column.to_numpy().astype(np.int64)
    if places.min() < 0:
        raise InputError(f"{path}: a device's place is below 0")
    return places


def _rows(reports: pl.Series, width: int, kind: type[np.generic], path: str) -> NDArray[Any]:
    """(M, width) numbers from bytes."""
    size = width * np.dtype(kind).itemsize
    if reports.dtype != pl.Binary or reports.null_count() or not (reports.bin.size() == size).all():
        raise InputError(f"{path}: a report does not have the {size} bytes that the mechanism sends")
    numbers = np.frombuffer(b"".join(reports.to_list()), dtype=np.dtype(kind).newbyteorder("<"))
    return numbers.astype(kind).reshape(len(reports), width)
