"""A PostgreSQL server for tests: in a folder of its own, on a socket and a free port, run by another user.

PostgreSQL refuses to run as root, so that its own account runs it then. Without an installation the tests
that need it are skipped, and counted.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def installation() -> Path | None:
    """The folder of the newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return None if program is None else Path(program).resolve().parent


class Postgres:
    """A running server."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="crowdveil-postgres-", dir="/tmp"))
        self._account = _account()
        self.port = free_port()
        if self._account is not None:
            entry = pwd.getpwnam(self._account)
            os.chown(self._folder, entry.pw_uid, entry.pw_gid)
        self._data = self._folder / "data"
        self._run("initdb", "-D", self._data, "-U", "crowdveil", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()

    def start(self) -> None:
        """Start it; it syncs, as it does in production."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self._folder} -c max_connections=60"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; "immediate" is a crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"test_{secrets.token_hex(6)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "crowdveil", name)
        return f"postgresql+psycopg://crowdveil@127.0.0.1:{self.port}/{name}"

    def remove(self) -> None:
        """Stop it and delete everything."""
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, program: str, *arguments: object) -> str:
        """A program of the installation, like pg_dump."""
        return self._run(program, *arguments)

    def _run(self, program: str, *arguments: object) -> str:
        command: Sequence[str] = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            user=self._account,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout.decode()
        return done.stdout.decode()


def _account() -> str | None:
    """Who runs it: whoever runs the tests, unless that is root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None
