"""`import crowdveil` offers what it lists, lazily."""

import subprocess
import sys

import pytest

import crowdveil


@pytest.mark.parametrize("name", crowdveil.__all__)
def test_every_listed_name_is_there(name: str) -> None:
    assert getattr(crowdveil, name) is not None


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = crowdveil.nothing_such


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, crowdveil; sys.exit(len({'numpy', 'numba', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
