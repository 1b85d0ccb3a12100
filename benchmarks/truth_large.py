"""Time and memory of truth discovery up to a hundred million claims, as far as memory allows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks import crowds
from benchmarks.growth import bytes_each, exponent
from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work
from benchmarks.machine import memory_bytes
from benchmarks.pictures import Points, growth_curves
from benchmarks.stopwatch import Arrays

OURS = HERE / "ours" / "truths.py"
PER_OBJECT = 10
TINY = 2_000
FULL = (1_000_000, 10_000_000, 100_000_000)
QUICK = (10_000, 100_000)
BYTES_EACH = 80  # of a claim: here, in the measured process and in the file between them
CLAIMS = "{:,} claims"
METHODS = {"gtm": "GTM, the default method", "crh": "CRH"}


def works(quick: bool) -> list[Work]:
    """Works with ten times as many claims each, as far as memory allows."""
    return [_work(size) for size in (TINY, *_sizes(quick))]


def _sizes(quick: bool) -> tuple[int, ...]:
    return tuple(size for size in (QUICK if quick else FULL) if size * BYTES_EACH < memory_bytes())


def _work(size: int) -> Work:
    def make(_: Path, objects: int) -> Arrays:
        return crowds.numbers(objects, PER_OBJECT)

    contestants = tuple(
        Contestant(name, OURS, "truths", {"method": method}, check=_BETWEEN, repeats=3)
        for method, name in METHODS.items()
    )
    scores = {"sweeps": lambda _, answers: float(answers["sweeps"])}
    return Work(
        CLAIMS.format(size), make, size // PER_OBJECT, "objects", contestants, warm=100, scores=scores
    )


def _outside(inputs: Arrays, answers: Arrays) -> str | None:
    offsets, values, truths = inputs["offsets"], inputs["values"], answers["truths"]
    inside = (values[offsets[:-1]] <= truths) & (truths <= values[offsets[1:] - 1])
    wrong = int(np.count_nonzero(~inside))
    return f"{wrong} truths lie outside the claims about their objects" if wrong else None


_BETWEEN = Check("truths between the least and the largest claim about their objects", _outside)


def bars(results: Found) -> list[Bar]:
    """Bars: seconds and memory at the largest size, and the growth of seconds."""
    sizes = _sizes(results.quick)
    largest, methods = sizes[-1], METHODS.items()
    work = CLAIMS.format(largest)
    peaks = {name: results.median_of("peak_bytes", work, name) for name in METHODS.values()}
    return [
        *(Bar(f"{work}, {name}", results.seconds(work, name), unit="s") for _, name in methods),
        *(Bar(f"{work}, {name}: sweeps", results.score(work, name, "sweeps")) for _, name in methods),
        *(
            Bar(f"{work}, {name}: peak memory", None if peak is None else peak / 1e9, unit="GB")
            for name, peak in peaks.items()
        ),
        *(
            Bar(
                f"{work}, {name}: memory, these included",
                bytes_each(results, CLAIMS, name, largest),
                most=30.0,
                unit="bytes a claim",
            )
            for _, name in methods
        ),
        *(
            Bar(
                f"exponent of seconds a sweep, {sizes[0]:,} to {largest:,} claims, {name}",
                exponent(_points(results, name)),
            )
            for _, name in methods
        ),
    ]


def _points(results: Found, name: str) -> Points:
    """Points (claims, seconds per sweep)."""
    points = []
    for size in _sizes(results.quick):
        seconds = results.seconds(CLAIMS.format(size), name)
        sweeps = results.score(CLAIMS.format(size), name, "sweeps")
        if seconds is not None and sweeps is not None:
            points.append((float(size), seconds / sweeps))
    return points


def picture(results: Found) -> Figure:
    """Curves of seconds per sweep and of memory by claims."""

    def memory(name: str) -> Points:
        per_claim = [(size, bytes_each(results, CLAIMS, name, size)) for size in _sizes(results.quick)]
        return [(size, 1e-6 * size * one) for size, one in per_claim if one is not None and one > 0]

    label = f"claims, {PER_OBJECT} an object"
    return growth_curves(
        [
            (label, "seconds a sweep", {name: _points(results, name) for name in METHODS.values()}),
            (label, "MB beyond a tiny run", {name: memory(name) for name in METHODS.values()}),
        ]
    )


BENCHMARK = Benchmark(
    "truth-large", "Truth discovery up to a hundred million claims: seconds and memory", works, bars, picture
)
