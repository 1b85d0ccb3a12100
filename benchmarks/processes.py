"""A contestant's run in a process of its own: apart from ours, not for ever, and leaving nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stopwatch import Arrays

ROOT = Path(__file__).parents[1]
LONGEST_RUN = 900.0  # seconds
# On arrays as small as an object's, threads of a linear algebra library cost a peer more than they bring: up
# to forty times as much where another process wants the second core.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class FailedError(Exception):
    """A run that does not count; says why."""


def run(
    python: Path, job: Mapping[str, Any], folder: Path, *, isolated: bool
) -> tuple[dict[str, Any], Arrays]:
    """Do a job of stopwatch.py in `folder`: what it reports, and its answers."""
    answers, report, task = (folder / name for name in ("answers.npz", "report.json", "job.json"))
    whole = {**job, "answers": str(answers), "report": str(report)}
    task.write_text(json.dumps(whole), encoding="utf-8")
    environment = _isolated(os.environ) if isolated else dict(os.environ)
    environment["TMPDIR"] = str(folder)  # whatever is left there goes with the folder
    _run_to_its_end([str(python), "-m", "benchmarks.stopwatch", str(task)], environment)
    if not report.exists():
        raise FailedError("ended without a report")
    told: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    with np.load(answers) as found:
        return told, dict(found)


def _isolated(environment: Mapping[str, str]) -> dict[str, str]:
    """Nothing of our interpreter's settings, and the best setting for a peer."""
    kept = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    return {**kept, **ONE_THREAD, "PYTHONNOUSERSITE": "1"}


def _run_to_its_end(command: list[str], environment: Mapping[str, str]) -> None:
    """Run a process in the checkout; whatever stops us stops it and all that it started."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            _, told = process.communicate(timeout=LONGEST_RUN)
        except BaseException as stopped:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise FailedError(f"took longer than {LONGEST_RUN:g} s") from None
            raise
    if process.returncode:
        last = " / ".join(told.strip().splitlines()[-5:])
        raise FailedError(f"failed with exit code {process.returncode}: {last}")
