"""Databases and servers for the tests of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postgres import Postgres, installation
from serving import Server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server; tests that need it are skipped without an installation."""
    programs = installation()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    running = Postgres(programs)
    yield running
    running.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'service.sqlite3'}"
    return str(request.getfixturevalue("postgres").new_database())


def running_server(request: pytest.FixtureRequest, folder: Path) -> Iterator[Server]:
    """A server on the kind of database that the fixture's parameter names."""
    if request.param == "sqlite":
        url = f"sqlite:///{folder / 'service.sqlite3'}"
    else:
        url = request.getfixturevalue("postgres").new_database()
    with Server(url, folder) as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server, on both kinds of database; the tests of a file share it."""
    yield from running_server(request, tmp_path_factory.mktemp("server"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start servers with settings of one's own; all are stopped after the test."""
    started: list[Server] = []

    def go(database: str, **settings: Any) -> Server:
        server = Server(database, tmp_path / f"server{len(started)}", **settings)
        started.append(server)
        return server.start()

    yield go
    for server in started:
        server.__exit__(None)
