"""The benchmarks by name, and the files that a run writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import (
    growth,
    machine,
    noise,
    records,
    release,
    scaling,
    service,
    sparse,
    startup,
    truth,
    truth_large,
)
from benchmarks.harness import Benchmark, Settings, measure
from crowdveil.errors import ParameterError
from crowdveil.files import whole_file
from crowdveil.plain_data import to_json
from crowdveil.report.plots import save

MODULES = (release, growth, noise, startup, truth, truth_large, sparse, records, service, scaling)
BENCHMARKS = {module.BENCHMARK.name: module.BENCHMARK for module in MODULES}


def named(name: str | None) -> list[Benchmark]:
    """The benchmark of this name, or all benchmarks for None."""
    if name is None:
        return list(BENCHMARKS.values())
    if name not in BENCHMARKS:
        raise ParameterError(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    return [BENCHMARKS[name]]


def run(benchmark: Benchmark, settings: Settings, out: Path | None) -> dict[str, Any]:
    """Run a benchmark, write NAME.json and NAME.svg into `out` if given, and return the JSON data."""
    measured = measure(benchmark, settings)
    bars = list(benchmark.bars(measured))
    results = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "quick": settings.quick,
        "machine": machine.describe(),
        "peers": "each in an environment of its own, linear algebra in one thread (more are slower)",
        "works": measured.to_dict(),
        "bars": [bar.to_dict() for bar in bars],
        "failures": measured.failures,
        "missed": [bar.what for bar in bars if bar.met is False],
    }
    if out is not None:
        with whole_file(out / f"{benchmark.name}.json", force=True) as draft:
            draft.write_text(to_json(results), encoding="utf-8")
        with whole_file(out / f"{benchmark.name}.svg", force=True) as draft:
            save(benchmark.picture(measured), draft)
    return results
