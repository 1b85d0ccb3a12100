"""What the figures were measured on; nothing that tells whose machine it is."""

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
    """All the memory there is."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cores() -> int:
    """The cores that a process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    names = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    found = [line.partition(":")[2].strip() for line in names if line.startswith("model name")]
    return found[0] if found else platform.processor() or platform.machine()
