"""How much memory is taken for usable, and how sizes are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crowdveil.cli.options import parse_memory
from crowdveil.engines import memory
from crowdveil.errors import ParameterError

GIB = 2**30


@pytest.mark.parametrize(
    ("most", "current", "stat", "usable"),
    [
        ("max", GIB, "", int(0.8 * 10 * GIB)),
        (str(4 * GIB), 3 * GIB, "", int(0.8 * GIB)),
        (str(4 * GIB), 4 * GIB, f"anon 5\ninactive_file {GIB}\nactive_file {2 * GIB}\n", int(0.8 * 3 * GIB)),
        (str(4 * GIB), 4 * GIB, "", memory.LEAST),
    ],
)
def test_a_container_limits_what_is_usable(
    most: str, current: int, stat: str, usable: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "/proc/meminfo": f"MemTotal: 9 kB\nMemAvailable:   {10 * GIB // 1024} kB\n",
        "/sys/fs/cgroup/memory.max": most,
        "/sys/fs/cgroup/memory.current": str(current),
        "/sys/fs/cgroup/memory.stat": stat,
    }
    monkeypatch.setattr(Path, "read_text", lambda self, **_: texts[str(self)])
    assert memory.usable() == usable


@pytest.mark.parametrize(
    ("most", "size"), [("max", 8 * GIB), (str(4 * GIB), 4 * GIB), (str(9 * GIB), 8 * GIB)]
)
def test_a_container_has_its_own_memory(most: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: most)
    monkeypatch.setattr(os, "sysconf", lambda name: 4096 if "SIZE" in name else 2 * GIB // 1024)
    assert memory.installed() == size


def test_a_system_that_tells_nothing_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert memory.usable() is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * GIB), ("500MB", 500_000_000), ("2g", 2 * GIB), (" 1.5 GiB ", 3 * GIB // 2), (None, None)],
)
def test_sizes_are_read(text: str | None, size: int | None) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "4", "-1GiB", "4 GiX", "1e3GiB", "63MiB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="--memory takes a size of at least 64MiB"):
        parse_memory(text)
