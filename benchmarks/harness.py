"""The harness: a benchmark has works, contestants that do them, and bars that the figures must meet.

Every run is a separate process (processes.py) in the contestant's environment (environments.py), timed by
stopwatch.py. Machines are noisy, so contestants take turns: a round runs each of them once, and medians are
compared. Answers are checked in every round. A contestant that fails, takes too long or gives a wrong answer
runs no more, and the results name it with the error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import environments, processes
from benchmarks.stopwatch import Arrays

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Check:
    """A description, and a function of inputs and answers that returns a complaint or None."""

    what: str
    complaint: Callable[[Arrays, Arrays], str | None]


@dataclass(frozen=True)
class Contestant:
    """A function in a script that does a work, in an environment with pinned requirements.

    A contestant without requirements is ours and runs in the current interpreter. With `share` > 1 it does
    only every share-th unit of the work, and its seconds are scaled (for slow peers whose cost is
    proportional to the number of units).
    """

    name: str
    script: Path
    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    check: Check | None = None
    share: int = 1
    repeats: int = 5
    remark: str = ""


@dataclass(frozen=True)
class Work:
    """A task of a given size.

    `make(folder, count)` returns the inputs of `count` units; it may write files into the folder.
    `part(inputs, share)` returns every share-th unit. `warm` units are done before the clock starts; 0
    measures a cold start. Ratios are relative to the contestant `baseline`. `scores` are further figures by
    name, functions of inputs and answers.
    """

    name: str
    make: Callable[[Path, int], Arrays]
    count: int
    unit: str
    contestants: tuple[Contestant, ...]
    warm: int
    part: Callable[[Arrays, int], Arrays] | None = None
    baseline: str | None = None
    scores: Mapping[str, Callable[[Arrays, Arrays], float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """A figure (None if not measured) and its optional limits."""

    what: str
    measured: float | None
    least: float | None = None
    most: float | None = None
    unit: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the figure is within its limits; None without limits or without a figure."""
        if self.measured is None or (self.least is None and self.most is None):
            return None
        above = self.least is None or self.measured >= self.least
        return above and (self.most is None or self.measured <= self.most)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data for the results file."""
        return {
            "what": self.what,
            "unit": self.unit,
            "at_least": self.least,
            "at_most": self.most,
            "measured": self.measured,
            "met": self.met,
        }


@dataclass
class Measured:
    """Measurements of a contestant's runs, each of which did `counted` units of the work."""

    contestant: Contestant
    work: Work
    counted: int
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)
    library: str = ""
    error: str | None = None

    @property
    def scale(self) -> float:
        """The factor from the units done to all units of the work."""
        return self.work.count / self.counted

    def median_of(self, what: str) -> float | None:
        """The median over rounds of "seconds" or "cpu_seconds" (scaled), or of "peak_bytes"."""
        figures = getattr(self, what)
        if self.error is not None or not figures:
            return None
        return float(median(figures)) * (1.0 if what == "peak_bytes" else self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data for the results file."""
        part = f"{self.counted:,} of {self.work.count:,} {self.work.unit}"
        check = self.contestant.check
        return {
            "name": self.contestant.name,
            "library": self.library,
            "remark": self.contestant.remark,
            "scaled_from": part if self.counted != self.work.count else None,
            "seconds": _spread([one * self.scale for one in self.seconds]),
            "cpu_seconds": _spread([one * self.scale for one in self.cpu_seconds]),
            "peak_bytes": _spread(self.peak_bytes),
            **(
                {"scores": {name: median(values) for name, values in self.scores.items()}}
                if self.scores
                else {}
            ),
            "checked": check.what if check else None,
            "error": self.error,
        }


def _spread(figures: Sequence[float]) -> dict[str, Any] | None:
    if not figures:
        return None
    return {"median": median(figures), "min": min(figures), "max": max(figures), "all": list(figures)}


@dataclass(frozen=True)
class Found:
    """All measurements of a benchmark, by work and contestant."""

    works: tuple[Work, ...]
    measured: Mapping[tuple[str, str], Measured]
    quick: bool = False

    def of(self, work: Work) -> list[Measured]:
        """The measurements of all contestants of a work."""
        return [one for (name, _), one in self.measured.items() if name == work.name]

    def median_of(self, what: str, work: str, contestant: str) -> float | None:
        """`Measured.median_of` of a contestant; None if it did not take part."""
        one = self.measured.get((work, contestant))
        return None if one is None else one.median_of(what)

    def seconds(self, work: str, contestant: str) -> float | None:
        """Median wall seconds."""
        return self.median_of("seconds", work, contestant)

    def score(self, work: str, contestant: str, name: str) -> float | None:
        """The median of one of the work's scores."""
        one = self.measured.get((work, contestant))
        scores = one.scores.get(name) if one is not None and one.error is None else None
        return float(median(scores)) if scores else None

    def ratio(self, work: str, slow: str, fast: str, what: str = "seconds") -> float | None:
        """The ratio of the medians of `slow` and `fast`."""
        return over(self.median_of(what, work, slow), self.median_of(what, work, fast))

    @property
    def failures(self) -> list[str]:
        """The works, names and errors of contestants that failed."""
        return [
            f"{work}: {name}: {one.error}"
            for (work, name), one in self.measured.items()
            if one.error is not None
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain JSON data for the results file."""
        return [
            {
                "name": work.name,
                "size": f"{work.count:,} {work.unit}",
                "baseline": work.baseline,
                "contestants": [
                    {
                        **one.to_dict(),
                        "ratio": self._to_baseline(work, one, "seconds"),
                        "cpu_ratio": self._to_baseline(work, one, "cpu_seconds"),
                    }
                    for one in self.of(work)
                ],
            }
            for work in self.works
        ]

    def _to_baseline(self, work: Work, one: Measured, what: str) -> float | None:
        if work.baseline is None:
            return None
        return self.ratio(work.name, one.contestant.name, work.baseline, what)


def over(a: float | None, b: float | None) -> float | None:
    """a / b, or None unless both were measured."""
    return None if a is None or not b else a / b


@dataclass(frozen=True)
class Benchmark:
    """A name, a title, the works (small ones if quick), the bars and the picture."""

    name: str
    title: str
    works: Callable[[bool], Sequence[Work]]
    bars: Callable[[Found], Sequence[Bar]]
    picture: Callable[[Found], Figure]


@dataclass(frozen=True)
class Settings:
    """Repeats (by default each contestant's own, 1 if quick), sizes, and whether peers take part."""

    repeats: int | None = None
    quick: bool = False
    peers: bool = True
    say: Callable[[str], None] = lambda _: None

    def rounds(self, contestant: Contestant) -> int:
        """The number of runs of a contestant."""
        return self.repeats or (1 if self.quick else contestant.repeats)


def measure(benchmark: Benchmark, settings: Settings) -> Found:
    """Run every work of a benchmark."""
    works = tuple(benchmark.works(settings.quick))
    measured: dict[tuple[str, str], Measured] = {}
    used: set[str] = set()
    for work in works:
        with tempfile.TemporaryDirectory(prefix="crowdveil-bench.") as folder:
            for one in _measure(work, Path(folder), settings, used):
                measured[work.name, one.contestant.name] = one
    return Found(works, measured, settings.quick)


def _measure(work: Work, folder: Path, settings: Settings, used: set[str]) -> list[Measured]:
    """Run all rounds of a work; `used` are the contestants that have been warmed up."""
    racing = [one for one in work.contestants if settings.peers or not one.requirements]
    if not racing:
        return []
    settings.say(f"{work.name}: preparing")
    inputs = _Inputs(work, folder)
    measured = [Measured(one, work, inputs.counted(one.share)) for one in racing]
    for number in range(max(settings.rounds(one) for one in racing)):
        for one in measured:
            rounds = settings.rounds(one.contestant)
            if number >= rounds or one.error is not None:
                continue
            settings.say(f"{work.name}: {one.contestant.name}, {number + 1} of {rounds}")
            try:
                _use_first(one.contestant, inputs, settings, used)
                _run_once(one, inputs, settings)
            except (processes.FailedError, environments.NotInstalledError) as error:
                one.error = str(error)
                settings.say(f"{work.name}: {one.contestant.name}: {error}")
    return measured


class _Inputs:
    """The inputs of a work on disk, complete and in parts."""

    def __init__(self, work: Work, folder: Path) -> None:
        self.folder = folder
        self._work = work
        self._complete = work.make(_new(folder / "whole"), work.count)
        self.warm = (
            _save(folder / "warm.npz", work.make(_new(folder / "warm"), work.warm)) if work.warm else None
        )

    def counted(self, share: int) -> int:
        """The number of units of a part."""
        return len(range(0, self._work.count, share))

    def arrays(self, share: int) -> Arrays:
        """The inputs of every share-th unit."""
        if share == 1 or self._work.part is None:
            return self._complete
        return self._work.part(self._complete, share)

    def file(self, share: int) -> Path:
        """The file with the inputs of every share-th unit."""
        path = self.folder / f"one-in-{share}.npz"
        return path if path.exists() else _save(path, self.arrays(share))


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _save(path: Path, arrays: Arrays) -> Path:
    named: dict[str, Any] = dict(arrays)
    np.savez(path, **named)
    return path


def _use_first(contestant: Contestant, inputs: _Inputs, settings: Settings, used: set[str]) -> None:
    """An unmeasured first run of ours, because compiling takes time and memory."""
    key = repr((contestant.script, contestant.function, contestant.options))
    if inputs.warm is not None and not contestant.requirements and key not in used:
        used.add(key)
        _run(contestant, inputs, inputs.warm, settings)


def _run_once(one: Measured, inputs: _Inputs, settings: Settings) -> None:
    """Run a contestant once, check its answers and add its measurements."""
    share = one.contestant.share
    report, answers = _run(one.contestant, inputs, inputs.file(share), settings)
    if one.contestant.check is not None:
        complaint = _complaint(one.contestant.check, inputs.arrays(share), answers)
        if complaint is not None:
            raise processes.FailedError(f"wrong answer: {complaint}")
    for name, score in one.work.scores.items():
        one.scores.setdefault(name, []).append(score(inputs.arrays(share), answers))
    one.seconds.append(report["seconds"])
    one.cpu_seconds.append(report["cpu_seconds"])
    one.peak_bytes.append(report["peak_bytes"])
    one.library = report["library"]


def _run(
    contestant: Contestant, inputs: _Inputs, input_file: Path, settings: Settings
) -> tuple[dict[str, Any], Arrays]:
    python = environments.interpreter(contestant.requirements, settings.say)
    job = {
        "script": str(contestant.script.resolve()),
        "function": contestant.function,
        "options": dict(contestant.options),
        "inputs": str(input_file),
        "warm": None if inputs.warm is None else str(inputs.warm),
    }
    return processes.run(python, job, inputs.folder, isolated=bool(contestant.requirements))


def _complaint(check: Check, inputs: Arrays, answers: Arrays) -> str | None:
    try:
        return check.complaint(inputs, answers)
    except (KeyError, ValueError, IndexError) as error:  # missing arrays or wrong shapes
        return repr(error)
