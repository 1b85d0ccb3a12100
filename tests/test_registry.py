"""Methods by name."""

import os
import subprocess
import sys

import pytest

from crowdveil.errors import ParameterError
from crowdveil.registry import Registry

NUMBERS: Registry[float] = Registry("number", {"pi": "math:pi", "e": "math:e"})


def test_names_are_listed_in_order_and_entries_imported_when_asked_for() -> None:
    assert list(NUMBERS) == ["pi", "e"]
    assert len(NUMBERS) == 2
    assert NUMBERS["pi"] == pytest.approx(3.14159, abs=1e-5)


def test_an_unknown_name_is_a_parameter_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="there is no number 'tau'; there are pi, e"):
        _ = NUMBERS["tau"]
    assert "tau" not in NUMBERS
    assert NUMBERS.get("tau") is None


def test_listing_names_imports_nothing() -> None:
    code = (
        "import sys; from crowdveil.registry import Registry;"
        "r = Registry('x', {'a': 'decimal:Decimal'}); list(r); sys.exit('decimal' in sys.modules)"
    )
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=untraced).returncode == 0
