"""Files in and out: tables are read by Polars, outputs appear whole or not at all."""

from crowdveil.files.reading import read_claims, read_released, read_truths
from crowdveil.files.writing import Folder, check_new, whole_file, whole_folders, write_table

__all__ = [
    "Folder",
    "check_new",
    "read_claims",
    "read_released",
    "read_truths",
    "whole_file",
    "whole_folders",
    "write_table",
]
