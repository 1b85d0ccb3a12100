"""The JavaScript client in Node: calls, draws in bulk, and copies of it with a line broken on purpose."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

CLIENT = Path(__file__).parents[2] / "clients" / "js"
SOURCES = CLIENT / "src"
SIDE = CLIENT / "test" / "side.js"
NODE = shutil.which("node")
OLDEST = 20


def _version() -> int:
    if NODE is None:
        return 0
    said = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.lstrip("v").split(".")[0])


needs_node = pytest.mark.skipif(_version() < OLDEST, reason=f"needs Node {OLDEST} or newer")


def run(*arguments: str | Path, given: str = "", folder: Path = CLIENT, seconds: float = 300) -> bytes:
    """What Node writes to standard output; an error shows what it wrote to standard error."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, *map(str, arguments)],
        input=given.encode(),
        capture_output=True,
        cwd=folder,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]
    return done.stdout


def ask(calls: Sequence[dict[str, Any]], sources: Path = SOURCES) -> list[Any]:
    """What the JavaScript side answers to each call; {"refused": code} where it refuses."""
    answers: list[Any] = json.loads(run(SIDE, sources, given=json.dumps(list(calls))))
    return answers


def key_of(*seed: object) -> list[int]:
    """Eight words of a key, for draws that can be repeated."""
    digest = hashlib.blake2b(repr(seed).encode(), digest_size=32).digest()
    return [int(word) for word in np.frombuffer(digest, dtype="<u4")]


def draws(call: dict[str, Any], count: int, *seed: object, sources: Path = SOURCES) -> NDArray[np.float64]:
    """(count, numbers): what so many devices draw."""
    given = json.dumps({**call, "count": count, "key": key_of(*seed)})
    rows = np.frombuffer(run(SIDE, sources, "draws", given=given), dtype="<f8")
    return rows.reshape(count, -1)


def broken(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """A copy of the sources in which each (file, text, other text) was replaced; the text must occur once."""
    sources = folder / "src"
    shutil.copytree(SOURCES, sources)
    (folder / "package.json").write_text('{"type": "module"}')
    for name, text, other in edits:
        code = (sources / name).read_text(encoding="utf-8")
        assert code.count(text) == 1, (name, text, code.count(text))
        (sources / name).write_text(code.replace(text, other), encoding="utf-8")
    return sources
