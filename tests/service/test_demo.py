"""`crowdveil serve --demo`: campaigns that fill by themselves, and nothing is left of them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from test_stopping import children, gone

from crowdveil.service import demo, demo_people
from devices import until


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A demonstration, and what it printed."""
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary), "XDG_STATE_HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "crowdveil", "serve", "--demo", "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or "Ctrl-C" not in lines[-1]:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        lines.append(line.rstrip("\n"))
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_simulated_people_answer_in_three_campaigns(tmp_path: Path) -> None:
    with running(tmp_path) as (process, lines):
        url = lines[0].removeprefix("crowdveil serves ")
        page = next(line for line in lines if "/sign-in#" in line).split()[-1]
        token = page.rpartition(":")[2]
        assert page == f"{url}/sign-in#demo:{token}"
        ids = re.findall(rf"{url}/c/([0-9a-f]{{32}})", "\n".join(lines))
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60) as api:
            until(lambda: api.get("/campaigns").status_code == 200)
            listed = api.get("/campaigns").json()["campaigns"]
            assert {(each["id"], each["state"]) for each in listed} == {(id, "open") for id in ids}
            assert {each["kind"] for each in listed} == {"sensing", "sparse", "records"}
            assert all("simulated" in each["title"] for each in listed)
            assert all("demonstration" in httpx.get(f"{url}/c/{id}").text for id in ids)

            def result(id: str) -> Any:
                return api.get(f"/campaigns/{id}/results").json()

            until(lambda: all(result(id)["counted"] >= demo_people.AT_ONCE for id in ids))
            before = {id: result(id)["reports"] for id in ids}
            until(lambda: all(result(id)["reports"] > before[id] for id in ids))  # more come by themselves
        family = children(process.pid)
        assert len(family) == 2  # the worker, and the people
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        gone(family)
    assert list((tmp_path / "tmp").iterdir()) == []  # neither database nor memory
    assert not (tmp_path / "state").exists()
    assert '"level": "error"' not in (tmp_path / "log").read_text()


def test_sigterm_ends_it_without_a_trace(tmp_path: Path) -> None:
    with running(tmp_path) as (process, _):
        family = children(process.pid)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        gone(family)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--database", "sqlite:////tmp/x.sqlite3"], "--database"),
        (["--host", "0.0.0.0"], "this machine"),
        (["--host", "example.org"], "this machine"),
    ],
)
def test_a_demonstration_is_for_this_machine_and_keeps_nothing(arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crowdveil", "serve", "--demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("request_", demo.SAMPLES, ids=lambda request: request["kind"])
def test_everybody_answers_what_is_asked(request_: dict[str, Any]) -> None:
    said = demo_people.answers(request_["kind"])
    assert said == demo_people.answers(request_["kind"])
    assert len(said) == demo_people.PEOPLE
    if request_["kind"] == "records":
        names = set(request_["schema"]["columns"])
        assert all(set(each) == names for each in said)
    else:
        names = {item if isinstance(item, str) else item["name"] for item in request_["objects"]}
        assert all(set(each) <= names for each in said)
        low, high = request_["range"]
        values = [value for each in said for value in each.values()]
        assert sum(low <= value <= high for value in values) > 0.95 * len(values)
