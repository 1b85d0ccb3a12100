"""A browser and a server for the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browsing import Traffic, chromium
from serving import Server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Shared by the tests of a file: as long as it is there, no other event loop can run in this thread."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with its worker, which the tests of a file share."""
    folder = tmp_path_factory.mktemp("pages")
    with Server(f"sqlite:///{folder / 'service.sqlite3'}", folder) as running:
        yield running


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A browser without a past."""
    fresh = browser.new_context(locale="en-GB")
    yield fresh
    fresh.close()


@pytest.fixture
def traffic() -> Traffic:
    """What is noted of pages that are watched."""
    return Traffic()
