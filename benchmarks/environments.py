"""An interpreter for each contestant: ours is this one, a peer has a virtual environment of its own.

Environments are made once and kept in the user's cache folder, named after what is in them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


class NotInstalledError(Exception):
    """An environment could not be made; says why."""


def interpreter(requirements: Sequence[str], say: Callable[[str], None]) -> Path:
    """The Python that has these pinned requirements; none: this one."""
    if not requirements:
        return Path(sys.executable)
    place = home() / _digest(requirements)
    python = place / "bin" / "python"
    if python.exists():
        return python
    say(f"installing {', '.join(one.replace('==', ' ') for one in requirements)} ...")
    if place.exists():  # its interpreter is gone
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{place.name}.", dir=place.parent))
    try:
        _run([sys.executable, "-m", "venv", "--without-pip", str(draft)])
        pip = [sys.executable, "-m", "pip", "--python", str(draft / "bin" / "python")]
        _run([*pip, "install", "--quiet", "--disable-pip-version-check", "--no-input", *requirements])
        try:
            draft.rename(place)  # whole or not at all
        except OSError:
            if not python.exists():  # if it does, somebody else was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return python


def home() -> Path:
    """Where environments are kept."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return cache / "crowdveil" / "benchmarks"


def _digest(requirements: Sequence[str]) -> str:
    content = "\n".join([sys.version, sys.base_prefix, *sorted(requirements)])
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise NotInstalledError("cannot be installed: " + " / ".join(last))
