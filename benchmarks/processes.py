"""A contestant's run in a separate process with a time limit, which leaves no files behind."""

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
# On arrays as small as an object's, threads of a linear algebra library slow a peer down, up to forty times
# if another process uses the second core.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class FailedError(Exception):
    """A run failed, for the reason in the message."""


def run(
    python: Path, job: Mapping[str, Any], folder: Path, *, isolated: bool
) -> tuple[dict[str, Any], Arrays]:
    """Do a job of stopwatch.py in `folder`; return its report and its answers."""
    answers, report, task = (folder / name for name in ("answers.npz", "report.json", "job.json"))
    complete_job = {**job, "answers": str(answers), "report": str(report)}
    task.write_text(json.dumps(complete_job), encoding="utf-8")
    environment = _isolated(os.environ) if isolated else dict(os.environ)
    environment["TMPDIR"] = str(folder)  # files left there are removed with the folder
    _run_to_its_end([str(python), "-m", "benchmarks.stopwatch", str(task)], environment)
    if not report.exists():
        raise FailedError("ended without a report")
    measured: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    with np.load(answers) as arrays:
        return measured, dict(arrays)


def _isolated(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings of our interpreter, and with one thread of linear algebra."""
    inherited = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    return {**inherited, **ONE_THREAD, "PYTHONNOUSERSITE": "1"}


def _run_to_its_end(command: list[str], environment: Mapping[str, str]) -> None:
    """Run a process in the checkout; if we are stopped, it and its children are killed."""
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
            _, errors = process.communicate(timeout=LONGEST_RUN)
        except BaseException as interruption:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(interruption, subprocess.TimeoutExpired):
                raise FailedError(f"took longer than {LONGEST_RUN:g} s") from None
            raise
    if process.returncode:
        last = " / ".join(errors.strip().splitlines()[-5:])
        raise FailedError(f"failed with exit code {process.returncode}: {last}")
