"""Who asks often whether the database answers does not keep it busy."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from crowdveil.service import readiness
from crowdveil.service.readiness import Readiness
from stores import migrated


def test_the_database_is_asked_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "LASTS", 60.0)
    with migrated(f"sqlite:///{tmp_path / 'service.sqlite3'}") as store:
        asked: list[str] = []
        event.listen(store.engine, "before_cursor_execute", lambda _, __, what, *___: asked.append(what))
        ready = Readiness(store)
        assert all(ready.check() for _ in range(100))
        assert sum("leases" in what for what in asked) == 1
        monkeypatch.setattr(ready, "_until", 0.0)
        with store.writing() as connection:
            connection.execute(text("DROP TABLE leases"))
        assert not ready.check()
        assert not ready.check()  # which is asked each time: it should be noticed at once when it is back
        with store.writing() as connection:
            connection.execute(text("CREATE TABLE leases (name text)"))
        assert ready.check()


def test_while_the_database_is_slow_nobody_else_waits_for_it(tmp_path: Path) -> None:
    with migrated(f"sqlite:///{tmp_path / 'service.sqlite3'}") as store:
        ready, asking, go_on = Readiness(store), threading.Event(), threading.Event()

        def slow(*_: Any) -> None:
            asking.set()
            assert go_on.wait(30)

        event.listen(store.engine, "before_cursor_execute", slow)
        answers: list[bool] = []
        first = threading.Thread(target=lambda: answers.append(ready.check()))
        first.start()
        assert asking.wait(30)
        assert not ready.check()  # nothing is known yet
        ready._ready, ready._until = True, time.monotonic() - readiness.OLD - 1
        assert not ready.check()  # what was known is old
        go_on.set()
        first.join(30)
        assert answers == [True]
        assert ready.check()
