"""A process that writes to databases without HTTP, for tests of several at once.

It reads commands, as JSON in lines, and prints what becomes of each:
["migrate", DATABASE], or ["report", DATABASE, CAMPAIGN, FIRST, LAST, KEY, SECONDS]. Participants FIRST to
LAST - 1 report in transactions of their own, and for SECONDS new ones do, until the campaign is closed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from crowdveil.service.store import campaigns
from crowdveil.service.store.database import Database
from stores import submission, submit

SENT = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}


class Writer:
    """Such a process, for the test that starts it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, *command: Any) -> None:
        """Let it do something, and do not wait."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def end(self) -> Any:
        """What became of that."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has died"
        return json.loads(line)

    def stop(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


def migrate(url: str) -> str:
    """Bring a database to this version."""
    database = Database(url)
    database.migrate()
    database.close()
    return "migrated"


def report(url: str, id: str, first: int, last: int, key: str, seconds: float = 0.0) -> dict[int, int | str]:
    """What becomes of each participant's report."""
    database = Database(url)
    with database.reading() as connection:
        campaign = campaigns.find(connection, id)
    give_up = time.monotonic() + seconds
    number, outcomes = first, dict[int, int | str]()
    while number < last or time.monotonic() < give_up:
        entry = submission(campaign.intake, str(number), key, SENT)
        (outcomes[number],) = submit(database, campaign, [entry])
        if outcomes[number] == "closed":
            break
        number += 1
    database.close()
    return outcomes


COMMANDS: dict[str, Callable[..., Any]] = {"migrate": migrate, "report": report}

if __name__ == "__main__":
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        print(json.dumps(COMMANDS[verb](*arguments)), flush=True)
