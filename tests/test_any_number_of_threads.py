"""Seeded results are the same to the last bit, whatever the threads of BLAS and of the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("seeded_results.py")
OF_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@cache
def hashes(blas_threads: int, engine_threads: int) -> dict[str, str]:
    """Of releases by both estimators, perturbed claims, truths and synthetic records."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(engine_threads)],
        env={**os.environ, **dict.fromkeys(OF_BLAS, str(blas_threads))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("blas_threads", "engine_threads"), [(1, 3), (2, 1), (4, 2)])
def test_results_do_not_depend_on_threads(blas_threads: int, engine_threads: int) -> None:
    assert hashes(blas_threads, engine_threads) == hashes(1, 1)
