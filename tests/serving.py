"""A real server for tests: `crowdveil serve` in its own processes, on a free port, stopped by its number."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

UNLIMITED = {
    "CROWDVEIL_REQUESTS_PER_MINUTE": "10000000",
    "CROWDVEIL_REPORTS_PER_MINUTE": "100000000",
    "CROWDVEIL_SIGN_INS_PER_MINUTE": "1000",
}


class Server:
    """A server process on a database; `with` starts and stops it."""

    def __init__(self, database: str, folder: Path, *, port: int = 0, **settings: Any) -> None:
        self.database, self._folder, self._port = database, folder, port
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = {f"CROWDVEIL_{name.upper()}": str(value) for name, value in settings.items()}
        self._process: subprocess.Popen[str] | None = None
        self._clients: list[httpx.Client] = []
        self.url = ""
        self.output = ""  # what it wrote on standard output after its address, once it has stopped

    @property
    def log(self) -> Path:
        """What it wrote on standard error."""
        return self._folder / "log"

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def environment(self) -> dict[str, str]:
        """Of the server, and of commands on the same database."""
        state = {"XDG_STATE_HOME": str(self._folder), "CROWDVEIL_DATABASE": self.database}
        return os.environ | UNLIMITED | state | self._settings

    def start(self) -> Server:
        """Start it, and wait until it answers; a second start takes the same port."""
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "crowdveil", "serve", "--port", str(self._port)],
                env=self.environment(),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("crowdveil serves "), f"{line}{self.log.read_text()}"
        self.url = line.split()[-1]
        self._port = int(self.url.rpartition(":")[2])
        give_up = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            assert time.monotonic() < give_up, self.log.read_text()
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.02)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, and wait; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self.output = self._process.stdout.read()
        self._process.stdout.close()
        return code

    def kill(self) -> None:
        """Kill it, as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for client in self._clients:
            client.close()
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def command(self, *arguments: object) -> dict[str, Any]:
        """What a crowdveil command with --json prints on the same database."""
        done = subprocess.run(
            [sys.executable, "-m", "crowdveil", *map(str, arguments), "--json"],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def operator(self, name: str = "ann") -> httpx.Client:
        """A client with the token of a new operator."""
        token = self.command("operator", "add", name)["token"]
        return self.client(token)

    def client(self, token: str | None = None) -> httpx.Client:
        """A client of the API, with a token or without one."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.kept(
            httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60, verify=False)
        )

    def kept(self, client: httpx.Client) -> httpx.Client:
        """A client that is closed when the server stops."""
        self._clients.append(client)
        return client


def closed_result(operator: httpx.Client, campaign: str, seconds: float = 120) -> dict[str, Any]:
    """Close a campaign, and wait for its result."""
    assert operator.patch(f"/campaigns/{campaign}", json={"state": "closed"}).status_code == 200
    give_up = time.monotonic() + seconds
    while True:
        result: dict[str, Any] = operator.get(f"/campaigns/{campaign}/results").json()
        if not result["provisional"]:
            return result
        assert time.monotonic() < give_up
        time.sleep(0.1)
