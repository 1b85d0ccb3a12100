"""The JavaScript client as a package: its own tests, its types, its README against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from make_documents import FILE, to_text
from node_side import CLIENT, NODE, SOURCES, needs_node, run

from serving import Server, closed_result

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "build" / "js" / "node_modules"  # by `make js`
TSC = INSTALLED / ".bin" / "tsc"
FAKE_INDEXEDDB = INSTALLED / "fake-indexeddb" / "build" / "esm" / "index.js"


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.glob("*.js")):
        yield path.name, path.read_text(encoding="utf-8")


@needs_node
def test_its_own_tests_pass() -> None:
    assert NODE is not None
    environment = os.environ | ({"FAKE_INDEXEDDB": str(FAKE_INDEXEDDB)} if FAKE_INDEXEDDB.exists() else {})
    tests = sorted(map(str, (CLIENT / "test").glob("*.test.js")))
    done = subprocess.run(
        [NODE, "--test", *tests], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
    passed = re.search(r"^# pass (\d+)", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) > 30


@pytest.mark.skipif(not TSC.exists(), reason="needs TypeScript: make js")
@pytest.mark.parametrize(
    "folder", [CLIENT, ROOT / "src" / "crowdveil" / "service" / "web"], ids=["client", "pages"]
)
def test_types_are_right(folder: Path) -> None:
    done = subprocess.run(
        [TSC, "-p", "jsconfig.json"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout


def test_documents_for_its_tests_are_those_of_today() -> None:
    """Else run tests/clients_js/make_documents.py."""
    assert FILE.read_text(encoding="utf-8") == to_text()


def test_it_depends_on_nothing_and_is_plain_modules() -> None:
    package = json.loads((CLIENT / "package.json").read_text())
    assert "dependencies" not in package
    assert (package["name"], package["type"], package["license"]) == (
        "crowdveil-client",
        "module",
        "Apache-2.0",
    )
    for name, text in modules():
        for imported in re.findall(r"from '([^']+)'", text):
            assert imported.startswith("./"), name
            assert (SOURCES / imported).exists(), name
        assert text.count("\n") < 300, name


def test_its_version_is_the_library_s() -> None:
    from crowdveil.version import __version__

    assert json.loads((CLIENT / "package.json").read_text())["version"] == __version__


def test_noise_comes_from_the_system_alone_and_never_from_floating_point() -> None:
    """No other source of randomness, and no logarithm or sine in what draws."""
    for name, text in modules():
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
        assert "Math.random" not in code, name
        if name != "variance_cost.js":  # which checks what is stated, and draws nothing
            found = re.findall(r"Math\.(?:log\b|exp|expm1|sin|cos|pow)\b", code)
            assert not found, (name, found)
        if name not in ("slot_lists.js", "chacha20.js"):
            assert "chacha20" not in code, f"{name}: public lists alone come from a seed"
    users = [name for name, text in modules() if "getRandomValues" in text]
    assert users == ["random.js"]


# --- a real server ------------------------------------------------------------------------------------------

SCHEMA = {
    "columns": {"2": {"values": ["a", "b"]}, "10": {"values": ["x", "y", "z"]}, "1": {"edges": [0, 5, 10]}}
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "laplace": ({"kind": "sensing", "range": [0, 10], "objects": ["Ä", "b"], "epsilon": 1}, {"b": 3}),
    "per user": (
        {
            **{"kind": "sensing", "range": [0, 10], "objects": ["a", "b"]},
            **{"mechanism": "gaussian-exponential-per-user", "options": {"lambda2": 0.01, "floor": 3000.0}},
        },
        {"a": 3, "b": 11},
    ),
    "own ranges": (
        {
            **{"kind": "sensing", "epsilon": 1},
            "objects": [{"name": "x", "range": [0, 1]}, {"name": "y", "range": [-40, 50]}],
        },
        {"x": 0.2, "y": 20},
    ),
    "cells": ({"kind": "sparse", "range": [1, 5], "objects": list("abcdef"), "epsilon": 1}, {"c": 3}),
    "slots": (
        {"kind": "sparse", "range": [1, 5], "objects": list("abcdef"), "epsilon": 3, "unit": "person"},
        {"c": 3},
    ),
    "records": (
        {"kind": "records", "schema": SCHEMA, "epsilon": 2, "people": 6, "options": {"rounds": 1}},
        {"2": "b", "10": "y", "1": 7},
    ),
    "samprivsyn": (
        {"kind": "records", "schema": SCHEMA, "epsilon": 2, "people": 6, "mechanism": "samprivsyn"},
        {"2": "b", "10": "y", "1": 7},
    ),
}
TAKE_PART = """
const [, , client, url, answer] = process.argv;
const { fetchCampaign, Participation, VolatileStore } = await import(client);
const outcomes = [];
for (let person = 0; person < 6; person += 1) {
  const participation = await Participation.join(await fetchCampaign(url), { store: new VolatileStore() });
  await participation.draw(JSON.parse(answer));
  outcomes.push(await participation.send(), await participation.send());
}
process.stdout.write(JSON.stringify(outcomes));
"""


@needs_node
def test_a_real_server_takes_what_it_sends_and_the_readme_works(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}")
    operator = server.operator()
    script = tmp_path / "take_part.mjs"
    script.write_text(TAKE_PART)

    def opened(asked: dict[str, Any]) -> str:
        created = operator.post("/campaigns", json={"title": "From a browser", **asked})
        assert created.status_code == 201, created.text
        id: str = created.json()["id"]
        assert operator.patch(f"/campaigns/{id}", json={"state": "open"}).status_code == 200
        return id

    for asked, answer in KINDS.values():
        id = opened(asked)
        said = run(script, (SOURCES / "client.js").as_uri(), f"{server.url}/c/{id}", json.dumps(answer))
        assert json.loads(said) == ["accepted"] * 12
        assert operator.get(f"/campaigns/{id}/results").json()["reports"] == 6

    id = opened({"kind": "sensing", "range": [0, 100], "objects": ["Main Street"], "epsilon": 1})
    (example,) = re.findall(r"```js\n(.+?)```", (CLIENT / "README.md").read_text(), re.DOTALL)
    code = example.replace("'crowdveil-client'", repr((SOURCES / "client.js").as_uri()))
    code = code.replace("https://example.org/c/4f1c", f"{server.url}/c/{id}")
    code = code.replace("new IndexedStore()", "new VolatileStore()").replace("IndexedStore", "VolatileStore")
    readme = tmp_path / "readme.mjs"
    readme.write_text(code)
    assert run(readme).decode().split()[-1] == "accepted"
    assert closed_result(operator, id)["reports"] == 1
