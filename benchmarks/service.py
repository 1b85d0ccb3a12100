"""The service: reports a second and latencies, beside what the database alone does with the same rows.

Clients and server share the machine. The peers are the databases' own drivers: the rows that become of the
same reports, with the same indexes and the same care for the disk, a thousand in a transaction.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work, over
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays

OURS = HERE / "ours" / "service.py"
DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
BATCHES, SINGLES, MILLION = "{:,} reports in batches, {}", "{:,} single reports, {}", "{:,} reports there, {}"
ONE, TWO = "crowdveil serve, one process", "crowdveil serve, two processes"
ALONE = {"sqlite": ("executemany",), "postgresql": ("COPY", "executemany")}
COMMITS = "the database alone, a commit for each row"
START = "crowdveil serve starts"


def works(quick: bool) -> list[Work]:
    """Two hundred thousand reports in batches, twenty thousand single ones, a million that are there."""
    sizes = (4_000, 400, 5_000) if quick else (200_000, 20_000, 1_000_000)
    makers = (_batches, _singles, _million)
    return [make(size, kind) for make, size in zip(makers, sizes, strict=True) for kind in DATABASES]


def _reports(_: Path, count: int) -> Arrays:
    """Noisy places of five objects, and random tokens."""
    rng = np.random.default_rng(1)
    return {
        "steps": rng.integers(-2000, 3000, size=(count, 5)),
        "tokens": rng.integers(0, 256, size=(count, 32), dtype=np.uint8),
    }


def _batches(count: int, kind: str) -> Work:
    ours = (
        Contestant(name, OURS, "batches", {"database": kind, "processes": number}, check=ALL, repeats=3)
        for name, number in ((ONE, 1), (TWO, 2))
    )
    alone = (
        Contestant(_alone(way), OURS, "rows", {"database": kind, "way": way}, check=ALL, repeats=3)
        for way in ALONE[kind]
    )
    name = BATCHES.format(count, DATABASES[kind])
    return Work(name, _reports, count, "reports", (*ours, *alone), warm=0, baseline=_alone(ALONE[kind][0]))


def _singles(count: int, kind: str) -> Work:
    ours = (
        Contestant(name, OURS, "singles", {"database": kind, "processes": number}, repeats=3)
        for name, number in ((ONE, 1), (TWO, 2))
    )
    commits = Contestant(COMMITS, OURS, "one_by_one", {"database": kind}, repeats=3)
    scores = {
        "reports a second": lambda _, answers: float(answers["rate"]),
        "p50 ms": lambda _, answers: float(np.quantile(answers["waits"], 0.5) * 1000),
        "p99 ms": lambda _, answers: float(np.quantile(answers["waits"], 0.99) * 1000),
    }
    name = SINGLES.format(count, DATABASES[kind])
    return Work(name, _reports, count, "reports", (*ours, commits), warm=0, baseline=ONE, scores=scores)


def _million(count: int, kind: str) -> Work:
    ours = Contestant(START, OURS, "million", {"database": kind}, repeats=1)  # minutes
    scores = {
        "results p99 ms": lambda _, answers: float(np.quantile(answers["results"], 0.99) * 1000),
        "counted s": lambda _, answers: float(answers["counted"]),
        "estimated s": lambda _, answers: float(answers["estimated"]),
        "first estimate s": lambda _, answers: float(answers["first"]),
        "closed result s": lambda _, answers: float(answers["closed"]),
    }
    name = MILLION.format(count, DATABASES[kind])
    return Work(name, _reports, count, "reports", (ours,), warm=0, scores=scores)


def _alone(way: str) -> str:
    return f"the database alone, {way}"


def _all(inputs: Arrays, answers: Arrays) -> str | None:
    """All reports are in the database."""
    kept, sent = int(answers["kept"]), len(inputs["steps"])
    return None if kept == sent else f"{kept:,} reports of {sent:,} are there"


ALL = Check("every report is in the database once", _all)


def bars(results: Found) -> list[Bar]:
    """What must hold."""
    listed: list[Bar] = []
    for work in results.works:
        contestants = [one.name for one in work.contestants]
        if _alone("executemany") in contestants:
            listed += _batch_bars(results, work, contestants)
        elif COMMITS in contestants:
            listed += _single_bars(results, work)
        else:
            listed += _million_bars(results, work)
    return listed


def _batch_bars(results: Found, work: Work, contestants: list[str]) -> list[Bar]:
    best = min(filter(None, (results.seconds(work.name, name) for name in (ONE, TWO))), default=None)
    rate = over(float(work.count), best)
    shares = [
        Bar(
            f"{work.name}: rate over that of {name}",
            over(results.seconds(work.name, name), best),
            least=None if results.quick else 0.6,
        )
        for name in contestants
        if name not in (ONE, TWO)
    ]
    return [Bar(work.name, rate, unit="reports a second"), *shares]


def _single_bars(results: Found, work: Work) -> list[Bar]:
    limit = None if results.quick else 50.0
    return [
        bar
        for name in (ONE, TWO)
        for bar in (
            Bar(
                f"{work.name}, {name}",
                results.score(work.name, name, "reports a second"),
                unit="reports a second",
            ),
            Bar(
                f"{work.name}, {name}: p99 at 70 % of that",
                results.score(work.name, name, "p99 ms"),
                most=limit,
                unit="ms",
            ),
        )
    ]


def _million_bars(results: Found, work: Work) -> list[Bar]:
    limits = {"results p99 ms": 100.0, "counted s": 5.0}
    start = Bar(f"{work.name}: start until ready", results.seconds(work.name, START), most=2.0, unit="s")
    return [
        start,
        *(
            Bar(f"{work.name}: {name}", results.score(work.name, START, name), most=limits.get(name))
            for name in work.scores
        ),
    ]


def picture(results: Found) -> Figure:
    """Seconds of everybody."""
    return seconds_as_bars(results)


BENCHMARK = Benchmark("service", "reports over HTTP, beside the database's own inserts", works, bars, picture)
