"""What is written about the service is true: its pages are current, their commands run, their tests exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from crowdveil.service.settings import Settings
from postgres import free_port
from serving import Server

ROOT = Path(__file__).parents[2]
DOCS, DEPLOY = ROOT / "docs", ROOT / "deploy"
sys.path.insert(0, str(DOCS))
from http_examples import EXAMPLES, ID, Example  # type: ignore[import-not-found]  # noqa: E402


def test_the_http_reference_is_current() -> None:
    subprocess.run([sys.executable, DOCS / "make_http.py", "--check"], check=True)


# --- examples -----------------------------------------------------------------------------------------------


def test_the_examples_of_the_http_reference_are_what_the_service_answers(server: Server) -> None:
    operator, everybody, id = server.operator("examples"), server.client(), ""
    for example in EXAMPLES:
        client = operator if example.signed_in else everybody
        answer = _answer(client, example, id)
        assert answer.status_code == example.status, answer.text
        if example.lines:
            assert [json.loads(line) for line in answer.text.splitlines()] == example.answer
            continue
        id = id or answer.json()["id"]
        expected = json.loads(json.dumps(example.answer).replace(ID, id))
        assert _shown(answer.json(), expected) == expected


def _answer(client: httpx.Client, example: Example, id: str) -> httpx.Response:
    path = example.path.replace(ID, id).removeprefix("/api/v1")
    if example.body is None:
        return client.request(example.method, path)
    kind = "application/x-ndjson" if example.lines else "application/json"
    return client.request(example.method, path, content=example.content(), headers={"Content-Type": kind})


def _shown(value: Any, like: Any) -> Any:
    """Those parts of an answer that an example shows."""
    if isinstance(like, dict):
        return {name: _shown(value[name], like[name]) for name in like}
    if isinstance(like, list):
        assert len(value) == len(like)
        return [_shown(*pair) for pair in zip(value, like, strict=True)]
    return value


# --- commands -----------------------------------------------------------------------------------------------


def _script(page: Path) -> str:
    """All blocks of a page that are commands of a shell, one after the other."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: apt-get install curl")
@pytest.mark.parametrize("page", ["README.md", "docs/campaigns.md"])
def test_the_commands_of_a_campaign_run(page: str, tmp_path: Path) -> None:
    port = free_port()
    programs = Path(sys.executable).parent
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(programs)
    script = _script(ROOT / page)
    assert "crowdveil serve" in script
    stop = "trap 'kill $(jobs -p) && wait' EXIT\n"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", stop + script.replace("127.0.0.1:8000", f"127.0.0.1:{port}")],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        | {  # not measured: thirty commands and servers, each of which has tests of its own
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "CROWDVEIL_PORT": str(port),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sent 200, already there 0, refused 0" in done.stdout
    assert "problem:" not in done.stdout
    assert [
        path.name for path in tmp_path.glob("*.json") if "urn:crowdveil:problem" in path.read_text()
    ] == []
    if page == "docs/campaigns.md":
        for printed in re.findall(
            r"^```text\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE
        ):
            assert printed.splitlines()[0] in done.stdout


# --- settings -----------------------------------------------------------------------------------------------


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = dict(
        re.findall(r"^\| `CROWDVEIL_(\w+)` \| (.+?) \|", (DOCS / "deploy.md").read_text(), re.MULTILINE)
    )
    assert rows.keys() == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        if name != "database":
            default = field.default
            shown = json.dumps(default) if isinstance(default, bool) else default
            assert rows[name.upper()] == f"`{shown}`"


def test_only_settings_that_there_are_are_spoken_of() -> None:
    pages = [ROOT / "README.md", DOCS / "deploy.md", DOCS / "campaigns.md", DOCS / "threat-model.md"]
    known = {name.upper() for name in Settings.model_fields} | {"DATA"}
    for page in [*pages, *(path for path in DEPLOY.iterdir() if path.is_file())]:
        assert set(re.findall(r"\bCROWDVEIL_([A-Z_]+)", page.read_text())) <= known, page.name


def test_addresses_are_believed_of_listed_proxies_only(tmp_path: Path, start: Callable[..., Server]) -> None:
    """What docs/deploy.md says about CROWDVEIL_PROXIES."""
    for proxies, refused in (("127.0.0.1", False), ("192.0.2.1", True)):
        server = start(f"sqlite:///{tmp_path / proxies}.sqlite3", proxies=proxies, requests_per_minute=5)
        asked = [
            httpx.get(f"{server.url}/api/v1/openapi.json", headers={"X-Forwarded-For": f"198.51.100.{host}"})
            for host in range(12)
        ]
        assert any(answer.status_code == 429 for answer in asked) == refused
        server.stop()


# --- names of tests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    ["threat-model.md", "deploy.md", *(f"decisions/{number}" for number in ("0016", "0017", "0018", "0019"))],
)
def test_the_tests_that_a_page_names_exist(page: str) -> None:
    (path,) = DOCS.glob(page if page.endswith(".md") else f"{page}-*.md")
    named = set(re.findall(r"`(test_\w+)`", path.read_text()))
    assert named
    there = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert named - there == set()


# --- system packages ----------------------------------------------------------------------------------------


def test_missing_system_packages_are_installed_by_root_and_named_to_others(tmp_path: Path) -> None:
    """With programs of ours in the place of id and apt-get; nothing is installed."""

    def told(user: int) -> str:
        for name, text in {"id": f"echo {user}", "apt-get": "exit 1"}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        sh = shutil.which("sh")
        assert sh is not None
        return subprocess.run(
            [sh, ROOT / "tests" / "system_packages.sh", "--dry-run"],
            env={"PATH": str(tmp_path), "POSTGRESQL": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "apt-get update -qq\napt-get install -qq -y" in told(0)
    assert told(1000).endswith("sudo apt-get install curl postgresql nodejs npm chromium\n")
