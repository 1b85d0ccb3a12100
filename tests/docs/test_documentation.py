"""The documentation is current, its links lead somewhere and its commands run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_page_of_commands_is_current() -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "make_cli.py", "--check"], check=True)


def _commands(page: Path) -> list[list[str]]:
    text = page.read_text().replace("\\\n", " ")
    lines = re.findall(r"^\$ (?:\.venv/bin/)?crowdveil (.+)$", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_commands_on_the_page_run(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "README.md":
        sample = pl.read_csv(ROOT / "src" / "crowdveil" / "samples" / "side_effects.csv")
        sample.write_csv("claims.csv")
    commands = _commands(ROOT / name)
    assert commands
    for command in commands:
        done = run(*command)
        assert done.code == 0, (command, done.err)


def test_the_readmes_python_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    sample = ROOT / "src" / "crowdveil" / "samples" / "side_effects.csv"
    prelude = f"import polars as pl\ntable = pl.read_csv({str(sample)!r})\n"
    subprocess.run([sys.executable, "-c", prelude + code], check=True, cwd=tmp_path)


def test_figures_in_the_documentation_are_the_ones_that_were_measured() -> None:
    """The tables of docs/methods/priscrowd.md and of the README hold the figures in docs/figures."""
    page = (ROOT / "docs" / "methods" / "priscrowd.md").read_text()
    rows = (
        pl.read_json(ROOT / "docs" / "figures" / "priscrowd-simulated.json")["rows"].explode().struct.unnest()
    )
    for row in rows.filter(pl.col("method") == "PrisCrowd").iter_rows(named=True):
        assert f"{row['ise']:.3f} / {row['sise']:.3f}" in page
    real = pl.read_json(ROOT / "docs" / "figures" / "priscrowd-real.json")["rows"].explode().struct.unnest()
    for row in real.iter_rows(named=True):
        assert f"{row['centre_error']:.4g}"[:5] in page.replace(",", ""), row


@pytest.mark.parametrize(
    "benchmark",
    ["release", "growth", "noise", "startup", "truth", "truth-large", "sparse", "records", "service"],
)
def test_figures_of_speed_are_the_ones_that_were_measured(benchmark: str) -> None:
    """docs/performance.md holds what benchmarks/results holds, and every bar was met."""
    text = (ROOT / "docs" / "performance.md").read_text()
    results = json.loads((ROOT / "benchmarks" / "results" / f"{benchmark}.json").read_text())
    assert not results["failures"]
    assert not results["missed"]
    required = [bar for bar in results["bars"] if bar["met"] is not None]
    assert required
    if benchmark != "noise":  # its table is in millions of draws
        assert [bar["what"] for bar in required if f"{bar['measured']:.3g}" not in text] == []
    for work in results["works"]:
        if work["name"].startswith("one fit and sample"):
            alone = [one for one in work["contestants"] if "release" not in one["name"]]
            assert [one["name"] for one in alone if f"{one['seconds']['median']:.3g}" not in text] == []
        elif benchmark == "noise":
            each = [1 / one["cpu_seconds"]["median"] for one in work["contestants"]]  # a million draws
            assert [rate for rate in each if f"{rate:.3g}" not in text] == []


def test_figures_of_certified_releases_are_the_ones_that_were_measured() -> None:
    page = (ROOT / "docs" / "guarantees" / "certified.md").read_text()
    readme = (ROOT / "README.md").read_text()
    file = ROOT / "docs" / "figures" / "certified-simulated.json"
    rows = pl.read_json(file)["rows"].explode().struct.unnest()
    for (scenario,), found in rows.group_by("scenario"):
        ise = dict(found.select("method", "ise").iter_rows())
        figures = [f"certified, epsilon {e}" for e in ("0.5", "1", "2", "4")]
        wanted = ["PrisCrowd, not private", "Uniform, not private", *figures, "plain histogram, epsilon 1"]
        assert " | ".join(f"{ise[name]:.2f}" for name in wanted) in page, scenario
        if "papers" in str(scenario):
            ours, theirs = ise["certified, epsilon 1"], ise["PrisCrowd, not private"]
            assert f"{ours:.2f} against {theirs:.2f}" in " ".join(readme.split()), scenario


def test_figures_of_sensing_are_the_ones_that_were_measured() -> None:
    """The tables of docs/methods/sensing.md hold the figures in docs/figures."""
    page = (ROOT / "docs" / "methods" / "sensing.md").read_text()

    def rows(name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            (ROOT / "docs" / "figures" / f"sensing-{name}.json").read_text()
        )["rows"]
        return found

    for row in rows("methods"):
        error = f"({row['error']:.3f})".replace("(0.", "(.")
        change = f"{row['mae_change']:.3f} ".removeprefix("0") if row["noise"] else ""
        assert f"| {change}{error} |" in page, row
    for row in rows("real"):
        assert f"{row['error']:.4g}".removeprefix("0") in page, row
    for row in rows("noise-aware"):
        assert all(f"{row[name]:.4g}" in page for name in ("noise-aware", "gtm", "mean", "median")), row
