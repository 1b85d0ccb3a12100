"""Sparse answers: reports about every cell and truths from them, against NumPy on dense tables.

We know of no library for reports about cells with NULL, or for truths from such reports. So the peers are
randomized response and the paper's inference in plain NumPy, without secure randomness.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays
from crowdveil.answers import Answers, Domain
from crowdveil.experiments.sparse_real import SOURCES
from crowdveil.local import CellResponse, recommended_levels, report
from crowdveil.local.inverse_deviation import on_symbols
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers

OURS = HERE / "ours" / "cells.py"
NUMPY = ("numpy==2.4.6",)
EPSILON, SPARSITY = 2.0, 0.9
MECHANISMS = ("cell-response", "lp", "two-layer", "mf-sound", "slots")
REPORTS, TRUTHS = "reports of {:,} users about {:,} objects", "truths from {:,} users about {:,} objects"
REAL = "adult_content"
DENSE, OURS_RAW, OURS_TRUTHS = "NumPy, dense", "crowdveil, the paper's inference", "crowdveil, randomized"
FARTHEST = 1e-3  # of the domain


def works(quick: bool) -> list[Work]:
    """Works of ten thousand users and a thousand objects, if quick of far fewer; and adult_content."""
    users, objects = (200, 50) if quick else (10_000, 1_000)
    folder = Path(os.environ.get("CROWDVEIL_DATA") or "no such folder")
    simulated = SimulatedAnswers(users, objects, SPARSITY, "wide").answers(rng=seeded(1))
    listed = [_reports(simulated), _truths(simulated)]
    if not quick and (folder / f"{REAL}_claims.parquet").is_file():
        real = next(source for source in SOURCES if source.name == REAL).load(folder)[0]
        listed += [_reports(real), _truths(real)]
    return listed


def _arrays(answers: Answers) -> dict[str, np.ndarray]:
    domain: Domain = answers.domain
    return {
        "offsets": answers.offsets,
        "about": answers.object_codes,
        "codes": answers.codes,
        "objects": np.array(len(answers.objects)),
        "domain": np.array([domain.low, domain.high]),
        "levels": np.array(recommended_levels(EPSILON, domain, SPARSITY)),
    }


def _reports(answers: Answers) -> Work:
    size = len(answers.users), len(answers.objects)
    ours = (
        Contestant(name, OURS, "reports", {"mechanism": name}, check=LAW if name == "cell-response" else None)
        for name in MECHANISMS
    )
    dense = Contestant(
        *(DENSE, HERE / "peers" / "numpy_cells.py", "reports"), requirements=NUMPY, check=LAW, repeats=3
    )
    return Work(
        *(REPORTS.format(*size), lambda _, __: _arrays(answers), size[0], "users", (*ours, dense)),
        warm=1,
        baseline="cell-response",
    )


def _truths(answers: Answers) -> Work:
    size = len(answers.users), len(answers.objects)

    def make(_: Path, __: int) -> Arrays:
        arrays = _arrays(answers)
        mechanism = CellResponse(EPSILON, answers.domain, int(arrays["levels"]))
        reports = report(answers, mechanism, rng=seeded(1)).read()
        raw = on_symbols(reports)
        return {
            **arrays,
            "symbols": reports.symbols,
            "raw": raw.estimates,
            "sweeps": np.array(raw.sweeps),
        }

    contestants = (
        Contestant(OURS_TRUTHS, OURS, "truths", {"method": "randomized"}, remark="does more: undoes the law"),
        Contestant(OURS_RAW, OURS, "truths", {"method": "raw"}, check=SAME),
        Contestant(
            *(DENSE, HERE / "peers" / "numpy_cells.py", "truths"), requirements=NUMPY, check=SAME, repeats=3
        ),
    )
    return Work(TRUTHS.format(*size), make, size[0], "users", contestants, warm=1, baseline=OURS_RAW)


def _law(inputs: Arrays, answers: Arrays) -> str | None:
    """Compare the shares of all symbols with the law, within six standard errors."""
    domain = Domain(*(int(end) for end in inputs["domain"]))
    law = CellResponse(EPSILON, domain, int(inputs["levels"])).law
    cells = (inputs["offsets"].size - 1) * int(inputs["objects"])
    counts = np.bincount(inputs["codes"], minlength=domain.size)
    shares = np.append(counts, cells - counts.sum()) / cells @ law
    worst = float(np.max(np.abs(answers["shares"] - shares) / np.sqrt(shares * (1 - shares) / cells)))
    return None if worst <= 6 else f"a symbol's share is off by {worst:.1f} standard errors"


def _same(inputs: Arrays, answers: Arrays) -> str | None:
    low, high = inputs["domain"]
    estimated = np.isfinite(answers["truths"])  # NumPy has no estimate for objects without reports
    worst = float(np.max(np.abs(answers["truths"] - inputs["raw"])[estimated]) / (high - low))
    return None if worst <= FARTHEST else f"truths are off by {worst:.1e} of the domain"


LAW = Check("the shares of symbols within 6 standard errors of the law's", _law)
SAME = Check(f"truths within {FARTHEST:g} of the domain of ours", _same)


def bars(results: Found) -> list[Bar]:
    """Bars: seconds of each mechanism and inference, and ratios to NumPy."""
    listed = []
    for work in results.works:
        real = "11,040" in work.name
        most = None if results.quick else 5.0 if real else 3.0
        reporting = work.name.startswith("reports")
        for name in MECHANISMS if reporting else (OURS_TRUTHS, OURS_RAW):
            listed.append(Bar(f"{work.name}: {name}", results.seconds(work.name, name), most=most, unit="s"))
        fast = "cell-response" if reporting else OURS_RAW
        listed.append(Bar(f"{work.name}: against {DENSE}", results.ratio(work.name, DENSE, fast), unit="x"))
    return listed


BENCHMARK = Benchmark(
    "sparse", "Sparse answers: reports about every cell, and truths from them", works, bars, seconds_as_bars
)
