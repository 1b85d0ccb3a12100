"""Ours as a user runs it: a command in a process and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"crowdveil {version('crowdveil')}"


def command(inputs: Arrays, arguments: list[str], cold: bool = False, read: bool = False) -> Steps:
    """`crowdveil ARGUMENTS`, "CLAIMS" standing for the file of claims.

    cold: nothing is compiled yet. read: the answers are the claims published in the folder "out".
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        if cold:
            environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
        given = [str(inputs["parquet"]) if one == "CLAIMS" else one for one in arguments]
        yield
        peak = _run([sys.executable, "-m", "crowdveil", *given], folder, environment)
        yield
        return {
            "peak_bytes": peak,
            **(_published(folder / "out", inputs["offsets"].size - 1) if read else {}),
        }


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> int:
    """Run it and give the peak of its memory, in bytes."""
    with (folder / "stderr").open("w+b") as stderr:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=stderr
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            stderr.seek(0)
            raise RuntimeError(stderr.read().decode(errors="replace"))
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _published(bundle: Path, objects: int) -> dict[str, Any]:
    """The published claims by the number in their object's name."""
    import polars as pl

    table = pl.read_parquet(bundle / "claims.parquet")
    number = table["object"].str.strip_prefix("object-").cast(pl.Int64).to_numpy()
    order = np.argsort(number, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=objects))])
    return {"released": table["value"].to_numpy()[order], "released_offsets": ends}
