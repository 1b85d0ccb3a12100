"""A server that is told to stop answers what is there, ends with its worker, and says that all went well."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from serving import Server

Start = Callable[..., Server]


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(number) for number in listed.stdout.split()]


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(family: list[int]) -> None:
    """Wait until all of them have ended."""
    give_up = time.monotonic() + 30
    while any(alive(pid) for pid in family):
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.mark.parametrize("processes", [1, 2])
def test_sigterm_ends_everything_with_exit_code_0(tmp_path: Path, start: Start, processes: int) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", processes=processes)
    family = children(server.pid)
    assert family  # at least the worker
    assert server.stop() == 0
    gone(family)


def test_every_process_writes_its_log_to_standard_error(tmp_path: Path, start: Start) -> None:
    """Standard output has the address and nothing else: whoever waits for it may not read any further."""
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", processes=2)
    for _ in range(40):
        with server.client() as device:
            assert device.get("/campaigns/nowhere").status_code == 404
    assert server.stop() == 0
    assert server.output == ""
    requests = [
        line for line in map(json.loads, server.log.read_text().splitlines()) if line["event"] == "request"
    ]
    assert len([line for line in requests if line["status"] == 404]) == 40


def test_ctrl_c_is_exit_code_130(tmp_path: Path, start: Start) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}")
    assert server.stop(signal.SIGINT) == 130


def test_a_worker_ends_when_its_server_is_killed(tmp_path: Path, start: Start) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}")
    family = children(server.pid)
    server.kill()
    gone(family)


def test_a_worker_that_dies_is_started_again(tmp_path: Path, start: Start) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}")
    (worker,) = children(server.pid)
    subprocess.run(["kill", "-9", str(worker)], check=True)
    give_up = time.monotonic() + 30
    while not set(children(server.pid)) - {worker}:
        assert time.monotonic() < give_up
        time.sleep(0.05)
