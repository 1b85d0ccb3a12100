"""What knowing the noise is worth, on little data."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdveil.engines import LocalEngine
from crowdveil.experiments import sensing_noise_aware
from crowdveil.experiments.result import Settings
from crowdveil.experiments.sensing_noise_aware import EPSILONS, METHODS, RATIOS, SOURCES, gained


def test_every_case_has_a_row_and_noise_that_is_known_hurts_less(
    datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensing_noise_aware, "SOURCES", (SOURCES[0], SOURCES[1], SOURCES[5]))
    outcome = gained(Settings(seeds=2, engine=LocalEngine(), data=datasets))
    rows = outcome.figures["rows"]
    assert len(rows) == 3 * (len(EPSILONS) + len(RATIOS)) == len(outcome.rows)
    assert all(row[name] > 0 for row in rows for name in METHODS)
    assert {row["dataset"]: row["seen"] for row in rows} == {
        "simulated": True,
        "n_emotion": True,
        "web_wsd": False,
    }
    loud = [row for row in rows if row["noise"] == "laplace" and row["level"] <= 4 and row["seen"]]
    assert all(row["noise-aware"] < min(row["gtm"], row["mean"]) for row in loud)
