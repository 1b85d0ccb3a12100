"""Waiting time of a user: for help, for a small release, and for the first use on a new machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.claims import simulated, write_parquet
from benchmarks.harness import HERE, Bar, Benchmark, Contestant, Found, Work
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays

COMMANDS = HERE / "ours" / "commands.py"
PER_OBJECT = 20
OBJECTS = 100

WARM, COLD = "loops compiled before", "nothing compiled yet"
HELP, RELEASE, DEMO = "crowdveil --help", "crowdveil release, 2,000 claims", "crowdveil demo"
ARGUMENTS = {
    HELP: ["--help"],
    RELEASE: ["release", "CLAIMS", "--method", "priscrowd", "-o", "out"],
    DEMO: ["demo", "-o", "out"],
}


def works(_: bool) -> list[Work]:
    """The same small works, quick or not."""
    return [_work(WARM, [HELP, RELEASE, DEMO], cold=False), _work(COLD, [RELEASE, DEMO], cold=True)]


def _work(name: str, commands: list[str], *, cold: bool) -> Work:
    def make(folder: Path, objects: int) -> Arrays:
        arrays = simulated(objects, PER_OBJECT)
        return {"parquet": write_parquet(arrays, folder / "claims.parquet"), "objects": np.array(objects)}

    contestants = tuple(
        Contestant(
            command,
            COMMANDS,
            "command",
            {"arguments": ARGUMENTS[command], "cold": cold},
            repeats=3 if cold else 5,
        )
        for command in commands
    )
    return Work(name, make, OBJECTS, "objects", contestants, warm=0 if cold else OBJECTS)


def bars(results: Found) -> list[Bar]:
    """Bars: at most half a minute at first use."""
    cold, warm = results.seconds(COLD, RELEASE), results.seconds(WARM, RELEASE)
    compiling = None if cold is None or warm is None else cold - warm
    return [
        Bar("compiling at first use (cold minus warm)", compiling, most=30.0, unit="s"),
        Bar(f"{DEMO}, {COLD}", results.seconds(COLD, DEMO), most=30.0, unit="s"),
        *(
            Bar(f"{command}, {WARM}", results.seconds(WARM, command), unit="s")
            for command in (HELP, RELEASE, DEMO)
        ),
    ]


BENCHMARK = Benchmark("startup", "Seconds that a user waits for a command", works, bars, seconds_as_bars)
