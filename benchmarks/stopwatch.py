"""Runs one contestant in this process: a warm-up and one timed run. It needs only NumPy.

A contestant is a generator function: it takes its inputs and prepares, yields (the clock starts), works,
yields (the clock stops), and returns its answers for checking. LIBRARY in its module names the library.

Run: python -m benchmarks.stopwatch JOB.json, where the job names the script, function, options, inputs,
optional warm-up inputs, and the files for answers (.npz) and report (.json).
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Steps = Generator[None, None, dict[str, Any]]


def cpu_seconds() -> float:
    """Processor time of this process and of its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_bytes() -> int:
    """The peak memory of this process.

    ru_maxrss is used only without /proc, because a process inherits it from its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def run(contestant: Callable[..., Steps], inputs: Arrays, options: Mapping[str, Any]) -> dict[str, Any]:
    """Wall and processor seconds between the two yields, peak memory, and the answers."""
    steps = contestant(inputs, **options)
    next(steps)
    cpu, wall = cpu_seconds(), time.perf_counter()
    next(steps)
    seconds, used = time.perf_counter() - wall, cpu_seconds() - cpu
    peak = peak_bytes()
    try:
        next(steps)
    except StopIteration as end:
        answers = dict(end.value or {})
    else:
        raise RuntimeError(f"{contestant.__name__} yields more than twice")
    # A contestant that runs a command reports the command's peak memory itself.
    peak = int(answers.pop("peak_bytes", peak))
    return {"seconds": seconds, "cpu_seconds": used, "peak_bytes": peak, "answers": answers}


def load(script: Path) -> ModuleType:
    """Import the module in a file."""
    name = f"contestant_{script.stem}"
    spec = importlib.util.spec_from_file_location(name, script)
    if spec is None or spec.loader is None:
        raise ImportError(f"{script} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run the job of the command line."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    module = load(Path(job["script"]))
    contestant = getattr(module, job["function"])
    if job["warm"] is not None:
        run(contestant, np.load(job["warm"]), job["options"])
    measured = run(contestant, np.load(job["inputs"]), job["options"])
    np.savez(job["answers"], **measured.pop("answers"))
    report = json.dumps({**measured, "library": module.LIBRARY})
    Path(job["report"]).write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
