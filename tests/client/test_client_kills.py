"""A run that is killed at any point: the next one sends everything once, with the noise that was drawn first.

Run as a script, this file is what the tests start: a process that has loaded everything, and whose forks are
killed: `test_client_kills.py URL TOKEN FOLDER KIND TIMES`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from sending import counted, crowd, opened, remembered

from crowdveil.client.campaign_client import CampaignClient
from crowdveil.client.memory import Memory
from crowdveil.client.send import Request, prepare, send
from serving import Server

PEOPLE = 5
LOADED = (
    *("crowdveil.files.certificates", "crowdveil.local.laplace", "crowdveil.kernels.oracles"),
    *("crowdveil.local.best_oracle", "crowdveil.local.krr", "crowdveil.local.split_krr"),
    *("crowdveil.synthesis.latent_class_synthesis", "crowdveil.local.cell_response"),
    "crowdveil.local.slot_response",
)
WATCHED = ("crowdveil/client/", "httpcore/_backends/sync.py")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with Server(f"sqlite:///{folder / 'service.sqlite3'}", folder) as running:
        yield running


def _phases(service: Server, folder: Path, kind: str, times: int) -> dict[str, int]:
    """How often runs were killed in each phase."""
    token, tests = (
        service.command("operator", "add", f"{kind} {times}")["token"],
        Path(__file__).parent.parent,
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__, service.url, token, str(folder), kind, str(times)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{tests / 'client'}"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    phases: dict[str, int] = json.loads(done.stdout)
    return phases


ALL = {"nothing drawn", "drawn, not sent", "sent, not noted", "noted"}


def test_killed_at_any_step_everything_is_sent_once_with_the_first_noise(
    service: Server, tmp_path: Path
) -> None:
    phases = _phases(service, tmp_path, "records", 12)
    assert {phase for phase, kills in phases.items() if kills} == ALL
    assert sum(phases.values()) == 12


@pytest.mark.slow_audit
@pytest.mark.parametrize("kind", ["sensing", "sparse", "slots", "records"])
def test_runs_of_every_kind_that_are_killed_at_many_steps(service: Server, tmp_path: Path, kind: str) -> None:
    phases = _phases(service, tmp_path, kind, 150)
    assert {phase for phase, kills in phases.items() if kills} == ALL


# --- what the test starts -----------------------------------------------------------------------------------


def _count_steps(at_step: Callable[[int], None]) -> None:
    """Call this whenever a function of the client is about to be called, or comes back."""
    step = 0

    def watch(frame: Any, _event: str, _argument: Any) -> None:
        nonlocal step
        if any(part in frame.f_code.co_filename for part in WATCHED):
            step += 1
            at_step(step)

    sys.setprofile(watch)


def _forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _send(url: str, source: Path, memory: Path, at_step: Callable[[int], None] | None = None) -> None:
    request = Request(str(source))
    with CampaignClient(url, patience=10) as client:
        prepared = prepare(request, client)
        if at_step is not None:
            _count_steps(at_step)
        sent = send(prepared, client, Memory(memory), request)
        sys.setprofile(None)
        assert sent.tally.sent + sent.tally.already == PEOPLE


def _steps(url: str, source: Path, folder: Path) -> int:
    """How many steps a run has that is not killed."""
    last = folder / "last step"
    taken = [0]

    def run() -> None:
        _send(url, source, folder / "memory 0", lambda step: taken.__setitem__(0, step))
        last.write_text(str(taken[0]))

    assert _forked(run) == 0
    return int(last.read_text())


def _kill(url: str, source: Path, memory: Path, last: int) -> None:
    """Kill a run at a step; it may be over before, as no two runs take quite the same steps."""

    def at_step(step: int) -> None:
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)

    assert _forked(lambda: _send(url, source, memory, at_step)) in (0, -signal.SIGKILL)


def _phase(rows: list[dict[str, Any]], reports: int) -> str:
    if not rows:
        return "nothing drawn"
    if not reports:
        return "drawn, not sent"
    return "noted" if all(row["outcome"] == "accepted" for row in rows) else "sent, not noted"


def _kill_again_and_again(url: str, token: str, folder: Path, kind: str, times: int) -> Counter[str]:
    source = folder / f"{kind}.csv"
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{url}/api/v1", headers=headers) as operator:
        campaigns = [opened(operator, kind) for _ in range(times + 1)]
        steps = _steps(f"{url}/c/{campaigns.pop()}", source, folder)
        memories = [folder / f"memory {number + 1}" for number in range(times)]
        for number, (campaign, memory) in enumerate(zip(campaigns, memories, strict=True)):
            _kill(f"{url}/c/{campaign}", source, memory, 1 + number * (steps - 1) // (times - 1))
        drawn = [remembered(memory) for memory in memories]
        phases = Counter(
            _phase(rows, counted(operator, campaign)[1])
            for rows, campaign in zip(drawn, campaigns, strict=True)
        )
        for campaign, memory, first in zip(campaigns, memories, drawn, strict=True):
            _send(f"{url}/c/{campaign}", source, memory)
            _check(operator, campaign, first, remembered(memory))
    return phases


def _check(
    operator: httpx.Client, campaign: str, first: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> None:
    """What was drawn before the kill is what was sent, once for everybody."""
    drawn = ("person", "participant", "key", "place", "round", "report")
    kept = {row["person"]: [row[name] for name in drawn] for row in rows}
    assert all(kept[row["person"]] == [row[name] for name in drawn] for row in first)
    assert counted(operator, campaign) == (PEOPLE, PEOPLE) == (len(rows), len(rows))
    lines = [
        json.dumps(
            {"participant": row["participant"], "key": row["key"], "report": json.loads(row["report"])}
        )
        for row in rows
    ]
    again = operator.post(
        f"/campaigns/{campaign}/reports/batch",
        content="\n".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert [json.loads(line)["status"] for line in again.text.splitlines()] == [200] * PEOPLE


if __name__ == "__main__":
    where, secret, place, what, often = sys.argv[1:]
    for module in LOADED:  # once, not in every fork
        import_module(module)
    # Polars' threads do not survive a fork: a fork writes the file, and this process uses it after the kills.
    assert _forked(lambda: crowd(what, PEOPLE, Path(place))) == 0
    print(json.dumps(_kill_again_and_again(where, secret, Path(place), what, int(often))))
