"""A description of the machine that does not identify its owner."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("crowdveil", "numpy", "numba", "polars", "scipy")


def describe() -> dict[str, Any]:
    """Processor, cores, memory, Python and our libraries."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": round(memory_bytes() / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def memory_bytes() -> int:
    """The size of the physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cores() -> int:
    """The number of cores that a process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [entry.partition(":")[2].strip() for entry in lines if entry.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
