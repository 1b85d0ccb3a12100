"""Packages offer what they list, lazily, and their types."""

import subprocess
import sys
from importlib.resources import files
from types import ModuleType

import pytest

import crowdveil
import crowdveil.client
import crowdveil.files
import crowdveil.local

PACKAGES = (crowdveil, crowdveil.client, crowdveil.files, crowdveil.local)
HEAVY = {"numpy", "numba", "polars", "scipy", "matplotlib", "sklearn", "httpx"}
MECHANISMS = {"crowdveil.local.slot_response", "crowdveil.local.sound_factorization"}


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in PACKAGES for name in package.__all__]
)
def test_every_listed_name_is_there(package: ModuleType, name: str) -> None:
    assert not isinstance(getattr(package, name), ModuleType)  # a file of that name would hide it


@pytest.mark.parametrize("package", PACKAGES)
def test_other_names_are_not(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"{package.__name__}' has no attribute 'nothing_such'"):
        _ = package.nothing_such


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: ModuleType) -> None:
    code = f"import sys, {package.__name__}; print({HEAVY | MECHANISMS!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_reading_and_writing_tables_loads_no_mechanism() -> None:
    names = "Folder, read_frame, read_names, whole_file, write_table"
    code = f"import sys; from crowdveil.files import {names}; print({MECHANISMS!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_types_are_shipped() -> None:
    assert files("crowdveil").joinpath("py.typed").is_file()
