"""The settings and the result of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdveil.engines import Engine
from crowdveil.report.plots import Figure


@dataclass(frozen=True)
class Settings:
    """The seeds, engine and data folder of an experiment."""

    seeds: int
    engine: Engine
    data: Path | None = None
    first_seed: int = 1

    def each_seed(self) -> range:
        """The seeds, in order."""
        return range(self.first_seed, self.first_seed + self.seeds)


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment: figures as JSON data, a table with header and remark, and a picture."""

    figures: dict[str, Any]
    header: list[str]
    rows: list[list[str]]
    picture: Figure
    remark: str = ""
