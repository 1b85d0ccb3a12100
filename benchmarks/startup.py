"""How long a user waits: for help, for a small release, and for the first one on a new machine."""

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
    """The same whether quick or not: they are small."""
    return [_work(WARM, [HELP, RELEASE, DEMO], cold=False), _work(COLD, [RELEASE, DEMO], cold=True)]


def _work(name: str, commands: list[str], *, cold: bool) -> Work:
    def make(folder: Path, objects: int) -> Arrays:
        arrays = simulated(objects, PER_OBJECT)
        return {"parquet": write_parquet(arrays, folder / "claims.parquet"), "objects": np.array(objects)}

    contestants = tuple(
        Contestant(
            one, COMMANDS, "command", {"arguments": ARGUMENTS[one], "cold": cold}, repeats=3 if cold else 5
        )
        for one in commands
    )
    return Work(name, make, OBJECTS, "objects", contestants, warm=0 if cold else OBJECTS)


def bars(found: Found) -> list[Bar]:
    """Nobody waits for half a minute."""
    cold, warm = found.seconds(COLD, RELEASE), found.seconds(WARM, RELEASE)
    compiling = None if cold is None or warm is None else cold - warm
    return [
        Bar("compiling at first use (cold minus warm)", compiling, most=30.0, unit="s"),
        Bar(f"{DEMO}, {COLD}", found.seconds(COLD, DEMO), most=30.0, unit="s"),
        *(
            Bar(f"{command}, {WARM}", found.seconds(WARM, command), unit="s")
            for command in (HELP, RELEASE, DEMO)
        ),
    ]


BENCHMARK = Benchmark("startup", "Seconds that a user waits for a command", works, bars, seconds_as_bars)
