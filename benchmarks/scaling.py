"""One machine and Spark side by side, by the number of claims up to a hundred million, from file to file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from pyarrow.parquet import ParquetWriter

from benchmarks import crowds
from benchmarks.growth import exponent
from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work, over
from benchmarks.pictures import Points, growth_curves
from benchmarks.stopwatch import Arrays

OURS = HERE / "ours" / "scaling.py"
LOCAL, BOUND, SPARK = "one machine", "one machine, in 4 GiB", "Spark, local[2]"
WHERE: dict[str, dict[str, Any]] = {LOCAL: {}, BOUND: {"memory": 4 * 2**30}, SPARK: {"master": "local[2]"}}
PER_OBJECT = 20
SWEEPS = 10
SWEEP, TRUTHS, RELEASE = (
    "{} sweeps of {}, {:,} claims",
    "discover --method {}, {:,} claims",
    "{}, {:,} claims",
)
OBJECT_SIZE = "release --method {}, {:,} claims, {:,} an object"
METHOD = "priscrowd"
ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Sizes:
    """Numbers of claims: for growth, where Spark takes part, in bounded memory, and by size of an object."""

    growth: tuple[int, ...]
    spark: tuple[int, ...]
    bound: tuple[int, ...]
    sweeps: tuple[int, ...]
    per_object: tuple[int, ...]
    of_objects: int


FULL = Sizes(
    growth=(100_000, 1_000_000, 10_000_000, 100_000_000),
    spark=(1_000_000, 10_000_000, 30_000_000),
    bound=(100_000_000,),
    sweeps=(10_000_000,),
    per_object=(5, 20, 100, 1_000, 10_000),
    of_objects=10_000_000,
)
QUICK = Sizes((10_000, 100_000), (100_000,), (100_000,), (100_000,), (5, 20), 100_000)


def works(quick: bool) -> list[Work]:
    """Works of up to a hundred million claims; if quick up to a hundred thousand."""
    sizes = QUICK if quick else FULL
    found = [_sweeps(kind, size) for size in sizes.sweeps for kind in ("truths", "weights")]
    for size in sorted({*sizes.growth, *sizes.spark}):
        taking = [LOCAL, *([BOUND] if size in sizes.bound else []), *([SPARK] if size in sizes.spark else [])]
        found.append(_from_file(TRUTHS.format("gtm", size), "truths", "gtm", size, PER_OBJECT, taking))
        name = RELEASE.format(f"release --method {METHOD}", size)
        found.append(_from_file(name, "releases", METHOD, size, PER_OBJECT, taking))
    for per_object in sizes.per_object:
        name = OBJECT_SIZE.format(METHOD, sizes.of_objects, per_object)
        found.append(_from_file(name, "releases", METHOD, sizes.of_objects, per_object, [LOCAL, SPARK]))
    return found


def _sweeps(kind: str, size: int) -> Work:
    contestants = tuple(
        Contestant(where, OURS, "sweeps", {"kind": kind, "count": SWEEPS, **WHERE[where]}, repeats=3)
        for where in (LOCAL, SPARK)
    )
    name = SWEEP.format(SWEEPS, kind, size)
    return Work(name, _file_of(PER_OBJECT), size // PER_OBJECT, "objects", contestants, 100, baseline=LOCAL)


def _from_file(name: str, what: str, method: str, size: int, per_object: int, taking: list[str]) -> Work:
    repeats = 3 if size <= 10_000_000 and per_object == PER_OBJECT else 1
    count = size // per_object
    contestants = tuple(
        Contestant(where, OURS, what, {"method": method, **WHERE[where]}, check=_ALL, repeats=repeats)
        for where in taking
    )
    return Work(name, _file_of(per_object), count, "objects", contestants, 100, baseline=LOCAL)


def _file_of(per_object: int) -> Any:
    """What writes a file of claims with named objects and users; an object's claims are spread over it."""

    def make(folder: Path, objects: int) -> Arrays:
        arrays = crowds.numbers(objects, per_object)
        path = folder / "claims.parquet"
        values, users = arrays["values"], arrays["users"]
        parts = max(1, values.size // ROWS_AT_ONCE)
        kinds = pa.schema([("object", pa.string()), ("user", pa.string()), ("value", pa.float64())])
        with ParquetWriter(path, kinds) as writer:
            for part in range(parts):
                rows = np.random.default_rng(part).permutation(np.arange(part, values.size, parts))
                names = [
                    pa.array(np.char.add(what, codes.astype("U10")))
                    for what, codes in (("object-", rows // per_object), ("user-", users[rows]))
                ]
                writer.write_table(pa.table([*names, values[rows]], schema=kinds))
        return {"parquet": np.array(str(path)), "objects": np.array(objects)}

    return make


def _incomplete(inputs: Arrays, answers: Arrays) -> str | None:
    found, wanted = int(answers["objects"]), int(inputs["objects"])
    return None if found == wanted else f"{found} of {wanted} objects"


_ALL = Check("as many objects as in the file", _incomplete)


def bars(results: Found) -> list[Bar]:
    """Bars: growth on one machine, memory, and Spark against one machine."""
    sizes = QUICK if results.quick else FULL
    largest, middle = sizes.growth[-1], sizes.spark[-2] if len(sizes.spark) > 1 else sizes.spark[-1]
    last = sizes.spark[-1]
    release = f"release --method {METHOD}"
    found = [
        Bar(
            f"exponent of seconds, {what}, {sizes.growth[0]:,} to {largest:,} claims",
            exponent(_points(results, work, how, sizes.growth, LOCAL)),
            most=1.05,
        )
        for what, work, how in (("discover", TRUTHS, "gtm"), (release, RELEASE, release))
    ]
    for work, how in ((TRUTHS, "gtm"), (RELEASE, release)):
        for where in (LOCAL, BOUND):
            peak = results.median_of("peak_bytes", work.format(how, largest), where)
            found.append(
                Bar(
                    f"peak memory, {work.format(how, largest)}, {where}",
                    None if peak is None else peak / 2**30,
                    most=16.0 if where == LOCAL else 4.0,
                    unit="GiB",
                )
            )
    for kind in ("truths", "weights"):
        name = SWEEP.format(SWEEPS, kind, sizes.sweeps[-1])
        found.append(Bar(f"Spark's time for {name}", results.ratio(name, SPARK, LOCAL), most=3.0, unit="x"))
    for work, how in ((TRUTHS, "gtm"), (RELEASE, release)):
        name = work.format(how, middle)
        most = 4.0 if work is RELEASE else None
        found.append(Bar(f"Spark's time for {name}", results.ratio(name, SPARK, LOCAL), most=most, unit="x"))
        a, b = (results.seconds(work.format(how, size), SPARK) for size in (middle, last))
        found.append(
            Bar(
                f"Spark, time per claim at {last:,} against {middle:,}, {name.split(',')[0]}",
                over(None if b is None else b / last, None if a is None else a / middle),
                most=1.1,
                unit="x",
            )
        )
    return found


def _points(results: Found, work: str, how: str, sizes: tuple[int, ...], where: str) -> Points:
    measured = [(size, results.seconds(work.format(how, size), where)) for size in sizes]
    return [(size, one) for size, one in measured if one is not None]


def picture(results: Found) -> Figure:
    """Curves of seconds by claims, and by the claims of an object."""
    sizes = QUICK if results.quick else FULL
    panels: list[tuple[str, str, dict[str, Points]]] = []
    for what, work, how in (
        ("discover", TRUTHS, "gtm"),
        (f"release {METHOD}", RELEASE, f"release --method {METHOD}"),
    ):
        curves: dict[str, Points] = {
            where: _points(results, work, how, tuple(sorted({*sizes.growth, *sizes.spark})), where)
            for where in WHERE
        }
        panels.append((f"claims ({what})", "seconds", curves))
    by_object: dict[str, Points] = {
        where: [
            (per_object, one)
            for per_object in sizes.per_object
            if (one := results.seconds(OBJECT_SIZE.format(METHOD, sizes.of_objects, per_object), where))
        ]
        for where in (LOCAL, SPARK)
    }
    panels.append((f"claims an object, of {sizes.of_objects:,}", "seconds", by_object))
    return growth_curves(panels)


BENCHMARK = Benchmark(
    "scaling", "One machine and Spark as claims grow, from file to file", works, bars, picture
)
