"""Time and memory of a release by the number of claims and threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.checks import RELEASED
from benchmarks.claims import simulated, write_parquet
from benchmarks.harness import HERE, Bar, Benchmark, Contestant, Found, Work
from benchmarks.machine import cores
from benchmarks.pictures import Points, growth_curves
from benchmarks.stopwatch import Arrays

PER_OBJECT = 20
TINY = 2_000
OURS = HERE / "ours" / "releases.py"
COMMANDS = HERE / "ours" / "commands.py"
ALL, ONE, TWO, COMMAND = "all threads", "one thread", "two threads", "crowdveil release (command)"

IN_MEMORY = "{:,} claims"
ONE_OBJECT = "one object of {:,} claims"
FROM_FILE = "{:,} claims from Parquet to bundle"


@dataclass(frozen=True)
class Sizes:
    """Numbers of claims: in memory, with one and two threads, of one object, and in a file."""

    in_memory: tuple[int, ...]
    threads: tuple[int, ...]
    one_object: tuple[int, ...]
    in_file: int


FULL = Sizes(
    in_memory=(100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    threads=(1_000_000, 10_000_000),
    one_object=(1_000, 10_000, 100_000),
    in_file=10_000_000,
)
QUICK = Sizes((10_000, 30_000, 100_000), (100_000,), (100, 1_000), 1_000_000)


def works(quick: bool) -> list[Work]:
    """Works of up to ten million claims; if quick up to a hundred thousand (a million in a file)."""
    sizes = QUICK if quick else FULL
    return [
        *(_in_memory(size, threads=size in sizes.threads) for size in (TINY, *sizes.in_memory)),
        *(_one_object(size) for size in sizes.one_object),
        *(_from_file(size) for size in (TINY, sizes.in_file)),
    ]


def _in_memory(size: int, *, threads: bool) -> Work:
    def contestant(name: str, count: int | None) -> Contestant:
        return Contestant(name, OURS, "whole_release", {"threads": count}, check=RELEASED)

    def make(_: Path, objects: int) -> Arrays:
        return simulated(objects, PER_OBJECT)

    threaded = (contestant(TWO, 2), contestant(ONE, 1)) if threads else ()
    return Work(
        IN_MEMORY.format(size),
        make,
        size // PER_OBJECT,
        "objects",
        (contestant(ALL, None), *threaded),
        warm=100,
        baseline=TWO if threads else None,
    )


def _one_object(size: int) -> Work:
    def make(_: Path, claims: int) -> Arrays:
        return simulated(1, claims)

    ours = Contestant(ALL, OURS, "whole_release", {"threads": None})
    return Work(ONE_OBJECT.format(size), make, size, "claims", (ours,), warm=100)


def _from_file(size: int) -> Work:
    def make(folder: Path, objects: int) -> Arrays:
        return {"parquet": write_parquet(simulated(objects, PER_OBJECT), folder / "claims.parquet")}

    options = {"arguments": ["release", "CLAIMS", "--method", "priscrowd", "-o", "out"]}
    ours = Contestant(COMMAND, COMMANDS, "command", options, repeats=3)
    return Work(FROM_FILE.format(size), make, size // PER_OBJECT, "objects", (ours,), warm=100)


def bars(results: Found) -> list[Bar]:
    """Bars: time linear in claims and nearly linear in threads, and little memory."""
    sizes = QUICK if results.quick else FULL
    small, large, single = sizes.in_memory[0], sizes.in_memory[-1], sizes.one_object[-1]
    return [
        Bar(
            f"exponent of seconds, {small:,} to {large:,} claims",
            exponent(_points(results, "seconds", IN_MEMORY, sizes.in_memory)),
            most=1.05,
        ),
        *(
            Bar(
                f"{size:,} claims, two threads against one",
                results.ratio(IN_MEMORY.format(size), ONE, TWO) if cores() > 1 else None,
                least=1.7 if size == large else None,
                unit="x",
            )
            for size in reversed(sizes.threads)
        ),
        Bar(ONE_OBJECT.format(single), results.seconds(ONE_OBJECT.format(single), ALL), most=2.0, unit="s"),
        Bar(
            f"memory of {FROM_FILE.format(sizes.in_file)}",
            bytes_each(results, FROM_FILE, COMMAND, sizes.in_file),
            most=100.0,
            unit="bytes a claim",
        ),
        Bar(
            f"memory of {IN_MEMORY.format(large)}, these included",
            bytes_each(results, IN_MEMORY, ALL, large),
            unit="bytes a claim",
        ),
    ]


def exponent(points: Points) -> float | None:
    """The slope of the least-squares line through the logarithms of the points."""
    if len(points) < 2:
        return None
    logs = np.log(np.array(points))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def bytes_each(results: Found, work: str, contestant: str, size: int) -> float | None:
    """Peak memory beyond that of a tiny run, per claim."""
    peak = results.median_of("peak_bytes", work.format(size), contestant)
    tiny = results.median_of("peak_bytes", work.format(TINY), contestant)
    return None if peak is None or tiny is None else (peak - tiny) / size


def _points(results: Found, what: str, work: str, sizes: tuple[int, ...], contestant: str = ALL) -> Points:
    measured = [(size, results.median_of(what, work.format(size), contestant)) for size in sizes]
    return [(size, one) for size, one in measured if one is not None]


def picture(results: Found) -> Figure:
    """Curves of seconds and memory by claims, and of seconds of one object."""
    sizes = QUICK if results.quick else FULL
    memory = [(size, bytes_each(results, IN_MEMORY, ALL, size)) for size in sizes.in_memory]
    seconds = {
        "wall": _points(results, "seconds", IN_MEMORY, sizes.in_memory),
        "CPU": _points(results, "cpu_seconds", IN_MEMORY, sizes.in_memory),
        "wall, one thread": _points(results, "seconds", IN_MEMORY, sizes.threads, ONE),
    }
    return growth_curves(
        [
            ("claims, 20 an object", "seconds", seconds),
            (
                "claims of one object",
                "seconds",
                {"wall": _points(results, "seconds", ONE_OBJECT, sizes.one_object)},
            ),
            (
                "claims, 20 an object",
                "MB beyond a tiny run",
                {
                    "in memory": [
                        (size, 1e-6 * size * bytes_per_claim)
                        for size, bytes_per_claim in memory
                        if bytes_per_claim is not None and bytes_per_claim > 0
                    ]
                },
            ),
        ]
    )


BENCHMARK = Benchmark(
    "growth", "Time and memory of a release as claims and threads grow", works, bars, picture
)
