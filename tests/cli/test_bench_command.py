"""`crowdveil bench`: runs, tells, writes, and refuses what it cannot do."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Run
from crowdveil.cli.bench import checkout
from crowdveil.errors import InputError

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import truth  # noqa: E402
from benchmarks.harness import Bar, Benchmark, Check, Contestant, Found, Work  # noqa: E402
from benchmarks.pictures import seconds_as_bars  # noqa: E402
from benchmarks.registry import BENCHMARKS  # noqa: E402

SCRIPT = """
LIBRARY = "fake 1.0"

def add(inputs, extra=0):
    yield
    total = inputs["x"].sum() + extra
    yield
    return {"total": total}
"""


def _complain(inputs: Any, answers: Any) -> str | None:
    return None if answers["total"] == inputs["x"].sum() else f"{answers['total']} is not the sum"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Benchmarks "sums" and "wrong-sums" whose second bar is out of reach."""
    path = tmp_path / "fake.py"
    path.write_text(SCRIPT)
    check = Check("the sum", _complain)

    def bars(found: Found) -> list[Bar]:
        seconds = found.seconds("adding", "ours")
        return [
            Bar("quick", seconds, most=60.0, unit="s"),
            Bar("out of reach", seconds, least=60.0, unit="s"),
        ]

    def works(extra: int) -> list[Work]:
        contestants = (
            Contestant("ours", path, "add", check=check),
            Contestant("other", path, "add", {"extra": extra}, check=check),
        )
        return [
            Work("adding", lambda _, n: {"x": np.arange(n)}, 10, "numbers", contestants, 2, baseline="ours")
        ]

    right = Benchmark("sums", "Fake sums", lambda _: works(0), bars, seconds_as_bars)
    wrong = Benchmark("wrong-sums", "Fake sums", lambda _: works(1), bars, seconds_as_bars)
    for one in (right, wrong):
        monkeypatch.setitem(BENCHMARKS, one.name, one)
    return tmp_path


def test_help_has_an_example(run: Run) -> None:
    done = run("bench", "--help")
    assert done.code == 0
    assert "Example: crowdveil bench" in done.out


def test_an_unknown_name_is_answered_with_the_known_ones(run: Run) -> None:
    done = run("bench", "nothing")
    assert done.code == 2
    assert done.err.count("\n") == 1
    for name in ("release", "growth", "noise", "startup", "truth", "truth-large", "sparse", "records"):
        assert name in done.err


def test_repeats_are_at_least_one(run: Run) -> None:
    done = run("bench", "noise", "--repeats", 0)
    assert done.code == 2
    assert "repeats must be at least 1" in done.err


def test_benchmarks_need_a_checkout(tmp_path: Path) -> None:
    assert checkout(tmp_path, ROOT) == ROOT
    with pytest.raises(InputError, match="source checkout"):
        checkout(tmp_path)


def test_tables_are_shown_and_files_are_written(run: Run, fake: Path) -> None:
    done = run("bench", "sums", "--repeats", 1, "-o", fake / "results")
    assert done.code == 0, done.err
    assert "adding (10 numbers)" in done.out
    bars = [line for line in done.out.splitlines() if line.startswith(("quick", "out of reach"))]
    assert bars[0].startswith("quick")
    assert bars[0].endswith("yes")
    assert bars[1].endswith("NO")
    assert "crowdveil: adding: other, 1 of 1" in done.err
    told = json.loads((fake / "results" / "sums.json").read_text())
    assert [bar["met"] for bar in told["bars"]] == [True, False]
    assert told["missed"] == ["out of reach"]
    assert told["machine"]["cores"] >= 1
    assert (fake / "results" / "sums.svg").read_text().startswith("<svg")


def test_a_missed_bar_is_an_error_only_if_asked_for(run: Run, fake: Path) -> None:
    assert run("bench", "sums", "--quick", "--check").code == 1
    assert list(fake.iterdir()) == [fake / "fake.py"]  # a quick run leaves no files


def test_a_wrong_answer_is_always_an_error(run: Run, fake: Path) -> None:
    done = run("bench", "wrong-sums", "--quick", "--json")
    assert done.code == 1
    (results,) = done.json()["benchmarks"]
    assert results["failures"] == ["adding: other: wrong answer: 46 is not the sum"]
    assert "FAILED adding: other: wrong answer" in run("bench", "wrong-sums", "--quick").out


def test_our_noise_alone(run: Run, tmp_path: Path) -> None:
    done = run("bench", "noise", "--quick", "--without-peers", "--json", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    (results,) = done.json()["benchmarks"]
    assert [len(work["contestants"]) for work in results["works"]] == [1, 1, 1]
    against = [bar for bar in results["bars"] if "against" in bar["what"]]
    assert all(bar["measured"] is None and bar["met"] is None for bar in against)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["noise.json", "noise.svg"]


def test_our_truths_alone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(quick: bool) -> list[Work]:
        """Some of the contestants, to be quick."""
        numbers, _, votes, *_ = truth.works(quick)
        return [
            replace(numbers, contestants=numbers.contestants[::2]),
            replace(votes, contestants=votes.contestants[:1], baseline=None),
        ]

    monkeypatch.setitem(BENCHMARKS, "truth", replace(truth.BENCHMARK, works=some))
    done = run("bench", "truth", "--quick", "--without-peers", "--json", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    (results,) = done.json()["benchmarks"]
    numbers, votes = (work["contestants"] for work in results["works"])
    assert [one["name"] for one in numbers] == [truth.TWO, truth.READ]
    assert len({one["scores"]["sweeps"] for one in numbers}) == 1
    assert [one["scores"]["accuracy"] > 0.9 for one in votes] == [True]
    against = [bar for bar in results["bars"] if "NumPy" in bar["what"] or "pandas" in bar["what"]]
    assert all(bar["measured"] is None and bar["met"] is None for bar in against)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["truth.json", "truth.svg"]
