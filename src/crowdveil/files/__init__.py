"""Files in and out: tables are read by Polars, outputs appear whole or not at all.

Names are imported when they are first used: whoever writes a table does not load the mechanisms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdveil.files.apart import keep_apart
    from crowdveil.files.cell_reports import read_cell_reports, reserved_cell_reports, write_cell_reports
    from crowdveil.files.certificates import reserved_table
    from crowdveil.files.places import File, Folder, check_new
    from crowdveil.files.reading import (
        read_claims,
        read_claims_as_told,
        read_frame,
        read_known_labels,
        read_labels_as_told,
        read_names,
        read_released,
        read_truths,
    )
    from crowdveil.files.records import (
        read_records,
        read_schema,
        write_records,
        write_schema,
        write_synthetic,
    )
    from crowdveil.files.reports import write_reports
    from crowdveil.files.reservation import Reservation, reserved
    from crowdveil.files.writing import whole_file, whole_folders, write_table

_HOMES = {
    "File": "places",
    "Folder": "places",
    "Reservation": "reservation",
    "check_new": "places",
    "keep_apart": "apart",
    "read_cell_reports": "cell_reports",
    "read_claims": "reading",
    "read_claims_as_told": "reading",
    "read_frame": "reading",
    "read_known_labels": "reading",
    "read_labels_as_told": "reading",
    "read_names": "reading",
    "read_records": "records",
    "read_released": "reading",
    "read_schema": "records",
    "read_truths": "reading",
    "reserved": "reservation",
    "reserved_cell_reports": "cell_reports",
    "reserved_table": "certificates",
    "whole_file": "writing",
    "whole_folders": "writing",
    "write_cell_reports": "cell_reports",
    "write_records": "records",
    "write_reports": "reports",
    "write_schema": "records",
    "write_synthetic": "records",
    "write_table": "writing",
}

__all__ = [
    "File",
    "Folder",
    "Reservation",
    "check_new",
    "keep_apart",
    "read_cell_reports",
    "read_claims",
    "read_claims_as_told",
    "read_frame",
    "read_known_labels",
    "read_labels_as_told",
    "read_names",
    "read_records",
    "read_released",
    "read_schema",
    "read_truths",
    "reserved",
    "reserved_cell_reports",
    "reserved_table",
    "whole_file",
    "whole_folders",
    "write_cell_reports",
    "write_records",
    "write_reports",
    "write_schema",
    "write_synthetic",
    "write_table",
]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'crowdveil.files' has no attribute {name!r}")
        return getattr(import_module(f"crowdveil.files.{_HOMES[name]}"), name)
