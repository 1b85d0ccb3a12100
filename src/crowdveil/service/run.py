"""A running server: the web application, and beside it a worker in a process of its own.

The worker computes, which would make requests wait. If it dies it is started again; if the server dies, the
worker sees the pipe to it closed, and ends too.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from crowdveil.errors import OutputError
from crowdveil.service.logs import configure
from crowdveil.service.settings import Settings
from crowdveil.service.store.database import Database

if TYPE_CHECKING:
    from crowdveil.service.demo import Demo

AGAIN = 1.0  # seconds until a worker that died is started again
BACKLOG = 2048  # connections that wait to be accepted
OTHER_FILES = 400  # that a process opens beside its connections, those for proxies included
LAST_WORDS = 15.0  # seconds for a worker to end


class Companion:
    """A process beside the server: a module with arguments; if `again`, it is restarted whenever it dies."""

    def __init__(self, module: str, *arguments: str, again: bool) -> None:
        self._command = [sys.executable, "-m", f"crowdveil.service.{module}", *arguments]
        self._stopping = threading.Event()
        self._process = self._start()
        if again:
            threading.Thread(target=self._restart, daemon=True).start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603, our own modules and addresses
            self._command, stdin=subprocess.PIPE, start_new_session=True
        )

    def _restart(self) -> None:
        while True:
            self._process.wait()
            if self._stopping.wait(AGAIN):
                return
            self._process = self._start()

    def stop(self) -> None:
        """Let it finish what it does, but not for long."""
        self._stopping.set()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def application() -> FastAPI:
    """The web application in a process of its own, which writes the same logs as all others."""
    from crowdveil.service.app import create_app

    configure()
    return create_app()


def _allow_files(count: int) -> None:
    """Let this process and its children open that many files and connections, if that is up to us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def run_demo(settings: Settings) -> None:
    """Serve a demonstration until told to stop; nothing of it is left."""
    from crowdveil.service import demo

    with tempfile.TemporaryDirectory(prefix="crowdveil-demo-") as folder:
        own = demo.settings_of(settings, Path(folder))
        run(own, demo.prepare(own, Path(folder)))


def run(settings: Settings, demo: Demo | None = None) -> None:
    """Serve until told to stop: on Ctrl-C or SIGTERM requests that are there are answered first."""
    configure()
    database = Database(settings.database)
    database.migrate()
    database.close()
    # Other processes read their settings from the environment, which nobody else can see.
    for name, value in settings.model_dump().items():
        os.environ[f"CROWDVEIL_{name.upper()}"] = str(value)
    config = uvicorn.Config(
        f"{__name__}:application",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.processes,
        proxy_headers=True,
        forwarded_allow_ips=settings.proxies,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=30,
        timeout_keep_alive=30,
        backlog=BACKLOG,
        http="crowdveil.service.connections:Connection",
        ws="none",
    )
    try:
        socket = config.bind_socket()
    except SystemExit:
        raise OutputError(f"{settings.host}:{settings.port} cannot be listened on: is it taken?") from None
    socket.listen(BACKLOG)  # whoever connects from now on waits until a process is ready
    _allow_files(settings.connections + OTHER_FILES)
    port = socket.getsockname()[1]
    # uvicorn raises the signal that stopped it once more when all is done: SIGTERM then means nothing.
    signal.signal(signal.SIGTERM, lambda *_: None)
    beside = [Companion("worker", again=True)] if settings.worker else []
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{port}"
    lines = [f"crowdveil serves {url}"]
    if demo is not None:
        beside.append(Companion("demo_people", url, str(demo.folder), *demo.campaigns, again=False))
        lines += demo.words(url)
    sys.stdout.write("\n".join([*lines, ""]))
    sys.stdout.flush()
    try:
        if settings.processes > 1:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[socket]).run()
        else:
            uvicorn.Server(config).run(sockets=[socket])
    finally:
        for companion in reversed(beside):
            companion.stop()
        socket.close()
