"""Files in and out: tables are read by Polars, outputs appear whole or not at all."""

from crowdveil.files.cell_reports import check_cell_reports, read_cell_reports, write_cell_reports
from crowdveil.files.reading import (
    read_claims,
    read_frame,
    read_known_labels,
    read_labels,
    read_names,
    read_released,
    read_truths,
)
from crowdveil.files.records import (
    check_synthetic,
    read_records,
    read_schema,
    write_records,
    write_schema,
    write_synthetic,
)
from crowdveil.files.reports import check_reports, promised, read_description, write_reports
from crowdveil.files.writing import Folder, check_new, whole_file, whole_folders, write_table

__all__ = [
    "Folder",
    "check_cell_reports",
    "check_new",
    "check_reports",
    "check_synthetic",
    "promised",
    "read_cell_reports",
    "read_claims",
    "read_description",
    "read_frame",
    "read_known_labels",
    "read_labels",
    "read_names",
    "read_records",
    "read_released",
    "read_schema",
    "read_truths",
    "whole_file",
    "whole_folders",
    "write_cell_reports",
    "write_records",
    "write_reports",
    "write_schema",
    "write_synthetic",
    "write_table",
]
