"""Mutation check: make each mistake of `mutations.py` in a copy of the sources, and see that tests notice.

Every mutation is made in the same copy, one at a time, so that machine code stays cached: numba's cache goes
by the place and the time of a file. Exit code 1 if a mutation survives, does not fit any more, or ends in
anything but a failed test.

Usage: python tests/mutants/run.py [words of names ...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "crowdveil"
PLACE = ROOT / "build" / "mutants"
COPY = PLACE / "src" / "crowdveil"
TIMEOUT = 600.0  # seconds; the first run also compiles the loops
VERDICTS = {0: "SURVIVED", 1: "killed"}  # by pytest's exit code; all others mean that the tests did not run


def main(words: list[str]) -> int:
    """Run the mutations whose names contain any of the words, by default all of them."""
    chosen = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    if not chosen:
        print("there is no such mutation")
        return 1
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(SOURCES, COPY, ignore=shutil.ignore_patterns("__pycache__"))
    began = time.monotonic()
    code, output = run_tests(sorted({test for one in chosen for test in one.tests}))
    if code != 0:
        print(f"{output}\nthe tests fail without any mutation")
        return 1
    print(f"{time.monotonic() - began:6.1f} s  passed    (no mutation)", flush=True)
    verdicts = [verdict(one) for one in chosen]
    alive = len(verdicts) - verdicts.count("killed")
    print(f"{len(verdicts)} mutations, {alive} not killed, {time.monotonic() - began:.0f} s")
    return 1 if alive else 0


def verdict(mutation: Mutation) -> str:
    """Make one mutation in the copy, run its tests, and undo it."""
    source, target = SOURCES / mutation.file, COPY / mutation.file
    began = time.monotonic()
    text = source.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        found, output = "NO PLACE", f"the old text occurs {text.count(mutation.old)} times"
    else:
        target.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        try:
            code, output = run_tests(mutation.tests)
        finally:
            shutil.copy2(source, target)
        found = VERDICTS.get(code, "BROKEN")
    print(f"{time.monotonic() - began:6.1f} s  {found:8}  {mutation.name} ({mutation.file})", flush=True)
    if found not in VERDICTS.values():
        print(output)
    return found


def run_tests(tests: Iterable[str]) -> tuple[int, str]:
    """Pytest's exit code and output with the copy in place of the sources; -1 if time ran out.

    PYTHONPATH comes before what is installed, also in processes that tests start. No bytecode is kept: that
    of a file that changes twice in a second would pass for the newer one's.
    """
    copied = {
        "PYTHONPATH": str(COPY.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(PLACE / "compiled"),
    }
    paths = [f"tests/{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | copied,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no end after {TIMEOUT:.0f} s"
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
