"""The benchmark harness: fair rounds, checked answers, and nobody dropped in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naive
from crowdveil.randomness import seeded
from crowdveil.releases.deniability import PrivacyTest
from crowdveil.truth import crh, gtm

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import checks, claims, crowds, environments, growth, harness, processes, registry, truth  # noqa: E402
from benchmarks.harness import Bar, Benchmark, Check, Contestant, Found, Measured, Settings, Work  # noqa: E402
from benchmarks.peers import (  # noqa: E402
    numpy_loop,
    numpy_truths,
    pandas_groupby_truths,
    pandas_merge_truths,
)
from benchmarks.pictures import seconds_as_bars  # noqa: E402

SCRIPT = """
import os, sys, time

LIBRARY = "fake 1.0"

def doubled(inputs, seconds=0.0, log="", times=2):
    x = inputs["x"]
    yield
    time.sleep(seconds)
    y = times * x
    yield
    if log:
        with open(log, "a") as file:
            file.write(f"{os.path.basename(log)} {times} {x.size}\\n")
    return {"y": y}

def broken(inputs):
    yield
    raise RuntimeError("the peer fell over")

def silent(inputs):
    yield
    sys.stdout.flush()
    os._exit(0)

def nothing(inputs):
    yield
    yield
"""


def _complain(inputs: Any, answers: Any) -> str | None:
    return None if np.array_equal(answers["y"], 2 * inputs["x"]) else "not twice as much"


TWICE = Check("twice as much", _complain)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "fake.py"
    path.write_text(SCRIPT)
    return path


def work(*contestants: Contestant, count: int = 12, warm: int = 0) -> Work:
    return Work(
        "double",
        lambda _, size: {"x": np.arange(size)},
        count,
        "numbers",
        contestants,
        warm,
        part=lambda inputs, share: {"x": inputs["x"][::share]},
        baseline="ours",
    )


def run(one: Work, **settings: Any) -> Found:
    found = Benchmark("fake", "A fake", lambda _: [one], lambda _: [], seconds_as_bars)
    return harness.measure(found, Settings(**settings))


def test_medians_ratios_and_scales() -> None:
    ours = Contestant("ours", Path("ours.py"), "f")
    peer = Contestant("peer", Path("peer.py"), "f", share=4)
    job = work(ours, peer)
    found = Found(
        (job,),
        {
            ("double", "ours"): Measured(ours, job, 12, [3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [5, 9, 7]),
            ("double", "peer"): Measured(peer, job, 3, [5.0, 4.0, 90.0], [2.0, 2.0, 2.0], [1, 1, 1]),
        },
    )
    assert found.seconds("double", "ours") == 2.0
    assert found.seconds("double", "peer") == 20.0  # four times what three of twelve took
    assert found.ratio("double", "peer", "ours") == 10.0
    assert found.ratio("double", "nobody", "ours") is None
    assert found.median_of("peak_bytes", "double", "ours") == 7.0
    told = {one["name"]: one for one in found.to_dict()[0]["contestants"]}
    assert told["peer"]["scaled_from"] == "3 of 12 numbers"
    assert told["ours"]["scaled_from"] is None
    assert told["peer"]["ratio"] == 10.0
    assert told["peer"]["cpu_ratio"] == 8.0
    assert told["ours"]["seconds"] == {"median": 2.0, "min": 1.0, "max": 3.0, "all": [3.0, 1.0, 2.0]}


def test_bars_are_met_missed_or_not_measured() -> None:
    assert Bar("x", 60.0, least=50.0).met is True
    assert Bar("x", 40.0, least=50.0).met is False
    assert Bar("x", 1.0, most=1.05).met is True
    assert Bar("x", None, least=50.0).met is None
    assert Bar("x", 3.0).met is None


def test_contestants_take_turns_and_the_slow_one_is_slower(script: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = {"seconds": 0.2, "log": str(log)}
    job = work(
        Contestant("ours", script, "doubled", {"log": str(log)}, check=TWICE),
        Contestant("slow", script, "doubled", slow, check=TWICE, share=3),
        warm=2,
    )
    found = run(job, repeats=2)
    assert found.failures == []
    first = ["log 2 2", "log 2 2"]  # warmed up, and run, on two numbers: does not count
    ours, theirs = ["log 2 2", "log 2 12"], ["log 2 2", "log 2 4"]
    assert log.read_text().splitlines() == [*first, *ours, *first, *theirs, *ours, *theirs]
    seconds = found.seconds("double", "slow")
    assert seconds is not None
    assert 0.6 <= seconds < 6.0  # three times 0.2
    assert found.measured["double", "slow"].library == "fake 1.0"
    assert found.measured["double", "ours"].peak_bytes[0] > 1e6


def test_who_fails_or_errs_is_named_and_the_others_go_on(script: Path) -> None:
    job = work(
        Contestant("ours", script, "doubled", check=TWICE),
        Contestant("wrong", script, "doubled", {"times": 3}, check=TWICE),
        Contestant("empty", script, "nothing", check=TWICE),
        Contestant("broken", script, "broken"),
        Contestant("silent", script, "silent"),
        Contestant("missing", script, "no_such_function"),
    )
    said: list[str] = []
    found = run(job, repeats=1, say=said.append)
    failures = {line.split(": ")[1]: line for line in found.failures}
    assert set(failures) == {"wrong", "empty", "broken", "silent", "missing"}
    assert failures["wrong"].endswith("wrong answer: not twice as much")
    assert "wrong answer: KeyError('y')" in failures["empty"]
    assert "exit code 1" in failures["broken"]
    assert "the peer fell over" in failures["broken"]
    assert "without a report" in failures["silent"]
    assert "no_such_function" in failures["missing"]
    assert any("the peer fell over" in line for line in said)
    assert found.seconds("double", "ours") is not None
    assert found.ratio("double", "wrong", "ours") is None
    shown = {one["name"]: one for one in found.to_dict()[0]["contestants"]}
    assert shown["broken"]["error"] is not None
    assert shown["broken"]["seconds"] is None


def test_nobody_is_waited_for_forever(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LONGEST_RUN", 0.5)
    found = run(work(Contestant("endless", script, "doubled", {"seconds": 600.0})), repeats=3)
    assert found.failures == ["double: endless: took longer than 0.5 s"]


def test_peers_can_be_left_out(script: Path) -> None:
    peer = Contestant("peer", script, "broken", requirements=("anything==1",))
    assert run(work(peer), peers=False).measured == {}


def tiny_wheel(folder: Path) -> str:
    """A package that can be installed without a network."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny.py", "VERSION = '1.0'\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return str(path)


def test_an_environment_is_made_once_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing can be fetched
    said: list[str] = []
    tiny = [tiny_wheel(tmp_path)]
    python = environments.interpreter(tiny, said.append)
    assert tmp_path in python.parents
    code = "import tiny, sys; sys.exit(tiny.VERSION != '1.0')"
    assert subprocess.run([python, "-c", code], check=False).returncode == 0
    assert environments.interpreter(tiny, said.append) == python
    assert len(said) == 1
    with pytest.raises(environments.NotInstalledError, match="no-such-package"):
        environments.interpreter(["no-such-package==1.0"], said.append)
    assert said[-1] == "installing no-such-package 1.0 ..."
    assert [path.name for path in environments.home().iterdir()] == [python.parents[1].name]
    assert environments.interpreter([], said.append) == Path(sys.executable)


def test_no_contestant_of_a_peer_imports_crowdveil() -> None:
    for path in (ROOT / "benchmarks" / "peers").glob("*.py"):
        code = path.read_text()
        assert "import crowdveil" not in code
        assert "from crowdveil" not in code


def test_every_script_and_function_that_is_named_exists() -> None:
    for benchmark in registry.BENCHMARKS.values():
        for quick in (False, True):
            for job in benchmark.works(quick):
                assert job.baseline is None or job.baseline in {one.name for one in job.contestants}
                for one in job.contestants:
                    assert f"def {one.function}(" in one.script.read_text()


def test_the_peers_whole_release_is_the_method() -> None:
    arrays = claims.simulated(12, 20)
    steps = numpy_loop.whole_release(arrays)
    next(steps)
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    table = claims.as_claims(arrays)
    twin = naive.estimate_weights(table, naive.smallest_bandwidth(table))
    np.testing.assert_allclose(end.value.value["combined"], twin.combined, rtol=0, atol=1e-7)
    np.testing.assert_allclose(end.value.value["bandwidths"], twin.bandwidth, rtol=1e-6)
    assert end.value.value["released"].size == 12 * 30


def test_wrong_densities_and_draws_are_noticed() -> None:
    arrays = claims.with_estimate(claims.simulated(20, 10))
    steps = numpy_loop.fit_and_sample(arrays)
    next(steps)
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    right = end.value.value
    complaint = checks.densities_and_draws(1e-9).complaint
    assert complaint(arrays, right) is None
    assert "densities" in str(complaint(arrays, {**right, "densities": right["densities"] * (1 + 1e-8)}))
    assert "mean" in str(complaint(arrays, {**right, "draws": right["draws"] + 1.0}))
    flat = np.broadcast_to(right["draws"].mean(axis=1)[:, None], right["draws"].shape)
    assert "variance" in str(complaint(arrays, {**right, "draws": flat}))
    assert "finite" in str(complaint(arrays, {**right, "draws": right["draws"] * np.nan}))


def _answers(steps: Any) -> Any:
    next(steps)
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


@pytest.mark.parametrize("method", ["gtm", "crh"])
@pytest.mark.parametrize("peer", [numpy_truths, pandas_groupby_truths, pandas_merge_truths])
def test_the_peers_truths_are_ours(peer: Any, method: str) -> None:
    arrays = crowds.numbers(300, 10)
    prior = gtm.GTM(beta=1.0)  # whatever the default is: this one rests soon
    table = claims.as_claims(arrays)
    ours = gtm.discover(table, prior) if method == "gtm" else crh.discover(table)
    settings = {"gtm_alpha": np.array(prior.alpha), "gtm_beta": np.array(prior.beta)}
    arrays |= {**settings, f"{method}_truths": ours.estimates, f"{method}_sweeps": np.array(ours.sweeps)}
    check = checks.same_truths(method)
    found = _answers(peer.truths(arrays, method))
    assert check.complaint(arrays, found) is None
    np.testing.assert_allclose(found["truths"], ours.estimates, rtol=0, atol=1e-4)
    assert "differ" in str(check.complaint(arrays, {**found, "truths": found["truths"] + 1e-2}))
    assert "sweeps" in str(check.complaint(arrays, {**found, "sweeps": np.array(1)}))


def test_labels_with_fewer_votes_are_noticed() -> None:
    arrays = truth._with_majority(crowds.labels(50, 10, 3))
    check = checks.same_labels("majority")
    ours = arrays["majority"]
    assert check.complaint(arrays, {"labels": ours}) is None
    assert "other numbers of votes" in str(check.complaint(arrays, {"labels": (ours + 1) % 3}))


def test_simulated_crowds_are_claims() -> None:
    for arrays in (crowds.numbers(70, 10), crowds.labels(1, 500, 3), crowds.labels(30, 7, 2)):
        pairs = np.stack([crowds.owners(arrays), arrays["users"]])
        assert np.unique(pairs, axis=1).shape[1] == arrays["values"].size
        assert arrays["users"].max() < arrays["user_count"]
        values = arrays["values"].reshape(arrays["offsets"].size - 1, -1)
        assert np.all(np.diff(values, axis=1) >= 0)


def test_scores_are_told_of_each_contestant(script: Path) -> None:
    job = replace(
        work(Contestant("ours", script, "doubled", check=TWICE), Contestant("broken", script, "broken")),
        scores={"sum": lambda inputs, answers: float(answers["y"].sum() - inputs["x"].sum())},
    )
    found = run(job, repeats=2)
    assert found.score("double", "ours", "sum") == 66.0
    assert found.score("double", "ours", "nothing") is None
    assert found.score("double", "broken", "sum") is None
    assert found.to_dict()[0]["contestants"][0]["scores"] == {"sum": 66.0}


def test_moments_behind_the_privacy_test_are_those_of_draws() -> None:
    x = np.array([0.0, 0.1, 0.3, 0.4, 0.6, 0.9, 3.0, 3.2])
    c, h = np.array([2.0, 1, 1, 1, 1, 1, 2, 1]) / 10, 0.5
    mean, variance = checks.released_moments(x, c, h)
    test = PrivacyTest()
    stream = seeded(5).stream("object", purpose="test")
    drawn = naive.draw_object(x, c, h, test, 3000, stream)
    assert drawn.size == 3000
    assert checks.moments(drawn - mean, np.full(drawn.size, variance)) is None
    unfiltered = naive.draw_object(x, c, h, test, 3000, stream, tested=False)
    assert checks.moments(unfiltered - mean, np.full(drawn.size, variance)) is not None


def test_draws_of_another_law_are_noticed() -> None:
    inputs = {"count": np.array(20_000), "scale": np.array(10)}
    draws = seeded(1).stream("x", purpose="test").discrete_laplace(20_000, num=10, den=1)
    check = checks.follows(lambda y, scale: -np.abs(y) / scale, "law")
    assert check.complaint(inputs, {"draws": draws}) is None
    assert check.complaint(inputs, {"draws": draws[1:]}) is not None
    other = {**inputs, "scale": np.array(9)}
    assert "do not follow" in str(check.complaint(other, {"draws": draws}))


def test_a_part_holds_whole_objects() -> None:
    arrays = claims.with_estimate(claims.simulated(10, 6))
    part = claims.every(arrays, 3)
    assert part["offsets"].tolist() == [0, 6, 12, 18, 24]
    np.testing.assert_array_equal(part["values"][6:12], arrays["values"][18:24])
    np.testing.assert_array_equal(part["bandwidths"], arrays["bandwidths"][::3])


def test_simulated_claims_are_claims() -> None:
    for objects, per_object in ((70, 10), (1, 500), (3, 200)):
        arrays = claims.simulated(objects, per_object)
        owners = np.repeat(np.arange(objects), per_object)
        assert np.unique(np.stack([owners, arrays["users"]]), axis=1).shape[1] == objects * per_object
        assert arrays["users"].max() < arrays["user_count"]
        assert np.all(np.diff(arrays["values"].reshape(objects, per_object), axis=1) >= 0)


def test_the_exponent_of_a_power_law() -> None:
    assert growth.exponent([(10.0, 3.0), (100.0, 30.0), (1000.0, 300.0)]) == pytest.approx(1.0)
    assert growth.exponent([(1.0, 1.0), (10.0, 100.0)]) == pytest.approx(2.0)
    assert growth.exponent([(1.0, 1.0)]) is None


def test_the_machine_is_described_without_its_name() -> None:
    from benchmarks import machine

    told = str(machine.describe())
    assert os.uname().nodename not in told
    assert machine.describe()["cores"] >= 1
