"""An interpreter for each contestant: ours is the current one, each peer has a virtual environment.

Environments are created once in the user's cache folder and named after a hash of their requirements.
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
    """An environment could not be created, for the reason in the message."""


def interpreter(requirements: Sequence[str], say: Callable[[str], None]) -> Path:
    """The Python interpreter with these pinned requirements; without requirements the current one."""
    if not requirements:
        return Path(sys.executable)
    folder = home() / _digest(requirements)
    python = folder / "bin" / "python"
    if python.exists():
        return python
    say(f"installing {', '.join(one.replace('==', ' ') for one in requirements)} ...")
    if folder.exists():  # without an interpreter: incomplete
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        _run([sys.executable, "-m", "venv", "--without-pip", str(draft)])
        pip = [sys.executable, "-m", "pip", "--python", str(draft / "bin" / "python")]
        _run([*pip, "install", "--quiet", "--disable-pip-version-check", "--no-input", *requirements])
        try:
            draft.rename(folder)  # atomic
        except OSError:
            if not python.exists():  # if it does, another process was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return python


def home() -> Path:
    """The folder of the environments."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return cache / "crowdveil" / "benchmarks"


def _digest(requirements: Sequence[str]) -> str:
    content = "\n".join([sys.version, sys.base_prefix, *sorted(requirements)])
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise NotInstalledError("cannot be installed: " + " / ".join(last))
