"""Without the optional packages: what needs one says what to install, and everything else works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Run

WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'sklearn']))\n"  # as if not installed
    "from crowdveil.cli.main import main; main()"
)
PICTURES = "crowdveil: error: pictures need matplotlib: pip install 'crowdveil[plots]'\n"
MODELS = "models need scikit-learn: pip install 'crowdveil[evaluate]'"


def without_extras(*arguments: object) -> subprocess.CompletedProcess[str]:
    """`crowdveil ...` where neither matplotlib nor scikit-learn can be imported."""
    command = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ["reproduce", "priscrowd-simulated"],
        ["bench", "noise", "--quick", "--without-peers"],
        ["plan", "sensing", "--users", "50", "--range", "0:10", "--epsilon", "4", "-o", "picture.svg"],
    ],
    ids=lambda command: command[0],
)
def test_pictures_say_what_to_install(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = without_extras(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == PICTURES
    assert list(tmp_path.iterdir()) == []


def test_records_are_evaluated_without_models(run: Run, tmp_path: Path) -> None:
    real, schema, page = tmp_path / "real.csv", tmp_path / "schema.json", tmp_path / "page.html"
    run("simulate", "records", "--rows", 200, "--columns", 3, "-o", real, "--schema", schema)
    asked = ("evaluate", real, "--real", real, "--schema", schema, "--label", "column-1", "-o", page)
    done = without_extras(*asked)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"crowdveil: what models learn is left out: {MODELS}"
    assert "models were tested" not in done.stderr
    with_models = run(*asked, "--force").out
    assert with_models.startswith(done.stdout)
    assert "boosting" in with_models.removeprefix(done.stdout)
    assert page.exists()


def test_a_release_and_its_pages_need_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = without_extras("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "demo" / "public.html").read_text()
    assert "<svg" in (tmp_path / "demo-private" / "steward.html").read_text()
    planned = without_extras("plan", "sensing", "--users", 50, "--range", "0:10", "--epsilon", 4)
    assert planned.returncode == 0, planned.stderr
