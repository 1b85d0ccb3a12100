"""CONTRIBUTING.md shows the layers that import-linter keeps."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_layers_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    (shown,) = re.findall(r"\n\n((?:    .+\n)+)\n", (ROOT / "CONTRIBUTING.md").read_text())
    assert [line.strip().split(", ") for line in shown.splitlines()] == [
        layer.split(" | ") for layer in layers
    ]
