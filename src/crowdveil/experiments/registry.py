"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.experiments import certified, priscrowd, priscrowd_real
from crowdveil.experiments.result import Outcome, Settings

EXPERIMENTS: dict[str, Callable[[Settings], Outcome]] = {
    "priscrowd-simulated": priscrowd.simulated,
    "priscrowd-real": priscrowd_real.real,
    "priscrowd-cases": priscrowd_real.cases,
    "priscrowd-count": priscrowd_real.count,
    "priscrowd-time": priscrowd_real.cost,
    "certified-simulated": certified.simulated,
    "certified-real": certified.real,
}
