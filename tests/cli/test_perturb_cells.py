"""`crowdveil perturb` on every cell, and `crowdveil discover` on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Run

WAYS: dict[str, tuple[str, ...]] = {
    "auto": ("--sparsity", "0.5"),
    "rr": (),
    "three-symbols": (),
    "lp": ("--null", "2"),
    "two-layer": (),
    "mf": ("--ridge", "1"),
    "mf-sound": ("--dimensions", "2"),
    "slots": ("--sparsity", "0.5"),
}
KINDS = {"auto": "cell-response", "rr": "cell-response", "three-symbols": "cell-response"}
OWN = {"auto": "randomized", "rr": "randomized", "three-symbols": "randomized", "two-layer": "randomized"}


@pytest.fixture
def answers(run: Run, tmp_path: Path) -> Path:
    """300 users, 20 objects, answers 0 .. 4, half of the cells empty; truths beside."""
    path = tmp_path / "answers.csv"
    made = ("--users", "300", "--objects", "20", "--sparsity", "0.5", "--range", "0:4", "--wide", "--lists")
    run("simulate", "sparse", "-o", path, "--truths", tmp_path / "truths.csv", *made)
    for name in ("object", "user"):
        with (tmp_path / f"{name}s.txt").open("a", encoding="utf-8") as file:
            file.write(f"{name}-without\n")
    return path


def listed(answers: Path) -> tuple[Any, ...]:
    return ("--objects", answers.with_name("objects.txt"), "--users", answers.with_name("users.txt"))


def perturbed(run: Run, answers: Path, name: str, *more: Any, epsilon: float = 4) -> dict[str, Any]:
    out = answers.with_name("reports.parquet")
    options = ("-o", out, "--mechanism", name, "--epsilon", epsilon, "--range", "0:4", "--force", "--json")
    done = run("perturb", answers, *options, *WAYS[name], *more)
    assert done.code == 0, done.err
    told: dict[str, Any] = done.json()
    return told


@pytest.mark.parametrize("name", WAYS)
def test_what_was_reported_is_discovered_by_its_own_estimator(run: Run, answers: Path, name: str) -> None:
    told = perturbed(run, answers, name, *listed(answers))
    assert told["mechanism"] == KINDS.get(name, name)
    assert (told["users"], told["objects"], told["declared"]) == (301, 21, True)
    assert told["private"] is True
    if name == "mf":
        assert told["promise"]["kind"] == told["user_promise"]["kind"] == "none"
        assert "which objects were answered is not protected" in told["promise"]["sentence"]
    else:
        assert (told["promise"]["unit"], told["user_promise"]["unit"]) == ("cell", "user")
        assert told["promise"]["trust"] == "local"
        assert told["promise"]["epsilon"] == pytest.approx(4, rel=1e-6)
        cells = 1 if name == "slots" else 21
        assert told["user_promise"]["epsilon"] == pytest.approx(4 * cells, rel=1e-6)
    out = answers.with_name("found.csv")
    reports = answers.with_name("reports.parquet")
    known = answers.with_name("truths.csv")
    found = run("discover", reports, "-o", out, "--truths", known, "--json").json()
    assert found["promise"] == told["promise"]["sentence"]
    assert found["user_promise"] == told["user_promise"]["sentence"]
    assert found["cells"] == 301 * 21
    assert found["compared"] == 20
    if name in OWN:
        assert found["method"] == OWN[name]
    frame = pl.read_csv(out)
    assert frame.columns == ["object", "estimate", "lower", "upper", "error"]
    assert frame.height == 21
    assert pl.read_csv(answers.with_name("found.weights.csv")).height == 301


@pytest.mark.parametrize("name", OWN)
def test_what_is_discovered_is_near_the_truths(run: Run, answers: Path, name: str) -> None:
    perturbed(run, answers, name, "--seed", "1")
    reports, out, known = (answers.with_name(each) for each in ("reports.parquet", "f.csv", "truths.csv"))
    found = run("discover", reports, "-o", out, "--truths", known, "--json").json()
    assert found["mae"] < 0.5  # a constant has about 1


@pytest.mark.parametrize("name", ["rr", "lp", "two-layer", "mf"])
def test_the_papers_inference_takes_reports_as_they_are(run: Run, answers: Path, name: str) -> None:
    perturbed(run, answers, name)
    reports, out = answers.with_name("reports.parquet"), answers.with_name("found.csv")
    raw = run("discover", reports, "-o", out, "--method", "inverse-deviation", "--json").json()
    assert raw["method"] == "inverse-deviation"
    refused = run("discover", reports, "-o", answers.with_name("x.csv"), "--method", "gtm")
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_a_stated_sparsity_frees_laplace_reports_of_what_stands_for_none(run: Run, answers: Path) -> None:
    perturbed(run, answers, "lp", "--seed", "1")
    reports, out, known = (answers.with_name(name) for name in ("reports.parquet", "f.csv", "truths.csv"))
    found = {}
    for stated in ((), ("--sparsity", "0.5")):
        done = run("discover", reports, "-o", out, "--truths", known, "--force", "--json", *stated)
        assert ("--sparsity S" in done.err) is not bool(stated)
        found[bool(stated)] = done.json()
    assert found[True]["method"] == "randomized"
    assert found[False]["method"] == "inverse-deviation"
    assert found[True]["mae"] < 0.3 < found[False]["mae"]
    assert "covered" in found[True]
    assert "covered" not in found[False]
    for wrong in (("--sparsity", "1"), ("--method", "randomized")):
        assert run("discover", reports, "-o", out, "--force", *wrong).code == 2
    perturbed(run, answers, "rr")
    assert run("discover", reports, "-o", out, "--force", "--sparsity", "0.5").code == 2
    assert run("discover", answers, "-o", out, "--force", "--sparsity", "0.5").code == 2


def test_a_seed_repeats_and_is_not_private_everywhere(run: Run, answers: Path) -> None:
    told = perturbed(run, answers, "rr", "--seed", "5")
    first = answers.with_name("reports.parquet").read_bytes()
    assert told["private"] is False
    assert "fixed seed" in told["promise"]["sentence"]
    perturbed(run, answers, "rr", "--seed", "5")
    assert answers.with_name("reports.parquet").read_bytes() == first
    found = run("discover", answers.with_name("reports.parquet"), "-o", answers.with_name("t.csv"), "--json")
    assert found.json()["promise"].startswith("No differential privacy guarantee")
    assert found.json()["user_promise"].startswith("No differential privacy guarantee")


def test_lists_that_were_read_off_the_claims_are_an_assumption(run: Run, answers: Path) -> None:
    out = answers.with_name("reports.parquet")
    options = ("-o", out, "--mechanism", "rr", "--epsilon", "1", "--range", "0:4", "--json")
    done = run("perturb", answers, *options)
    assert "--objects and --users" in done.err
    assert any("not hidden" in each for each in done.json()["promise"]["assumptions"])
    assert "NOT protected" in done.json()["promise"]["sentence"]
    assert "NOT protected" in done.json()["user_promise"]["sentence"]
    assert run("ledger", "--json").json()["entries"][0]["scope"]["adjacency"] == "replace-or-not-last"
    found = run("discover", out, "-o", answers.with_name("t.csv"), "--json").json()
    assert "NOT protected" in found["promise"]
    quiet = run("perturb", answers, *options, *listed(answers), "--force")
    assert quiet.err == ""
    assert "NOT protected" not in quiet.json()["promise"]["sentence"]
    assert not any("not hidden" in each for each in quiet.json()["promise"]["assumptions"])
    certificate = json.loads(pl.read_parquet_metadata(out)["crowdveil"])
    assert certificate["public"] == {"objects": 21, "declared": True}
    assert len(certificate["contents"]["objects"]) == 21


def test_everything_is_charged_before_it_is_drawn(run: Run, answers: Path) -> None:
    out = answers.with_name("reports.parquet")
    options = ("--mechanism", "rr", "--epsilon", "1", "--range", "0:4", "--budget", "1.5")
    assert run("perturb", answers, "-o", out, *options).code == 0
    again = run("perturb", answers, "-o", answers.with_name("more.parquet"), *options)
    assert again.code == 2
    assert not answers.with_name("more.parquet").exists()
    entries = run("ledger", "--json").json()["entries"]
    assert [(entry["method"], entry["scope"]["unit"]) for entry in entries] == [
        ("perturb cell-response", "cell")
    ]


def test_nothing_is_spent_on_what_is_refused(run: Run, answers: Path) -> None:
    """Somebody without answers has no profile: known before anything is drawn or charged."""
    out, lists = answers.with_name("reports.parquet"), listed(answers)
    options = ("-o", out, "--range", "0:4", "--epsilon", "1")
    done = run("perturb", answers, *options, "--mechanism", "mf", *lists)
    assert (done.code, "use a ridge" in done.err) == (2, True)
    with answers.with_name("objects.txt").open("w", encoding="utf-8") as file:
        file.write("elsewhere\n")
    assert "not on the list of objects" in run("perturb", answers, *options, "--mechanism", "rr", *lists).err
    assert run("ledger", "--json").json()["entries"] == []


@pytest.mark.parametrize("epsilon", ["0.7", "0.3"])
@pytest.mark.parametrize("name", ["lp", "mf-sound", "rr"])
def test_what_is_asked_for_is_what_it_costs(run: Run, answers: Path, name: str, epsilon: str) -> None:
    out = answers.with_name("reports.parquet")
    options = ("-o", out, "--range", "0:4", "--epsilon", epsilon, "--budget", epsilon)
    done = run("perturb", answers, *options, "--mechanism", name, "--json")
    assert done.code == 0, done.err
    assert done.json()["promise"]["epsilon"] <= float(epsilon)


@pytest.mark.parametrize("epsilon", ["0.001", "8", "20", "60"])
def test_estimates_are_finite_at_any_epsilon(run: Run, answers: Path, epsilon: str) -> None:
    perturbed(run, answers, "auto", "--seed", "1", epsilon=float(epsilon))
    known = answers.with_name("truths.csv")
    options = ("-o", answers.with_name("t.csv"), "--truths", known, "--json")
    found = run("discover", answers.with_name("reports.parquet"), *options).json()
    assert found["mae"] < (0.3 if float(epsilon) > 1 else 2.0)
    frame = pl.read_csv(answers.with_name("t.csv"))
    assert frame["lower"].min() >= 0  # type: ignore[operator]
    assert frame["upper"].max() <= 4  # type: ignore[operator]


def test_what_does_not_go_together_is_refused_in_a_line(run: Run, answers: Path) -> None:
    out = answers.with_name("reports.parquet")
    for wrong in (
        ("--mechanism", "rr"),
        ("--mechanism", "rr", "--epsilon", "0"),
        ("--mechanism", "rr", "--epsilon", "1", "--sparsity", "0.5"),
        ("--mechanism", "rr", "--epsilon", "1", "--resolution", "0.5"),
        ("--mechanism", "auto", "--epsilon", "1"),
        ("--mechanism", "auto", "--epsilon", "1", "--sparsity", "1.5"),
        ("--mechanism", "slots", "--epsilon", "1"),
        ("--mechanism", "lp", "--epsilon", "1", "--null", "9"),
        ("--mechanism", "mf", "--epsilon", "1", "--dimensions", "0"),
        ("--mechanism", "mf", "--epsilon", "1", "--dimensions", "15"),  # too few answers, no ridge
        ("--mechanism", "mf-sound", "--epsilon", "1", "--ridge", "0"),
        ("--mechanism", "laplace", "--epsilon", "1", "--objects", "objects.txt"),
        ("--mechanism", "rr", "--epsilon", "1", "--objects", answers.with_name("nothing.txt")),
        ("--mechanism", "rr", "--epsilon", "1", "--users", answers.with_name("objects.txt")),
    ):
        done = run("perturb", answers, "-o", out, "--range", "0:4", *wrong)
        assert done.code == 2, wrong
        assert done.err.count("\n") == 1, done.err
    for range_text in ("0:4.5", "0:0", "0:1000", "4:0"):
        done = run(
            "perturb", answers, "-o", out, "--range", range_text, "--mechanism", "rr", "--epsilon", "1"
        )
        assert done.code == 2, range_text
    options = ("--range", "0:4", "--mechanism", "rr", "--epsilon", "1")
    csv = run("perturb", answers, "-o", answers.with_name("reports.csv"), *options)
    assert (csv.code, ".parquet" in csv.err) == (2, True)
    assert not out.exists()
    assert run("perturb", answers, "-o", out, *options).code == 0
    assert run("perturb", answers, "-o", out, *options).code == 2  # nothing is replaced
    for command in (("perturb", out, "-o", answers.with_name("x.parquet"), *options),):
        assert "reports already" in run(*command).err
    labels = run("discover", out, "-o", answers.with_name("x.csv"), "--labels")
    assert labels.code == 2
    raw = run("discover", answers, "-o", answers.with_name("x.csv"), "--method", "randomized")
    assert raw.code == 2


def broken(
    frame: pl.DataFrame, certificate: dict[str, Any]
) -> dict[str, tuple[pl.DataFrame, dict[str, Any]]]:
    reports = frame["report"].to_list()
    swapped = pl.DataFrame({"user": frame["user"], "report": [bytes([99] * len(reports[0])), *reports[1:]]})
    short = pl.DataFrame({"user": frame["user"], "report": [reports[0][:-1], *reports[1:]]})
    contents = certificate["contents"]
    return {
        "symbol": (swapped, certificate),
        "bytes": (short, certificate),
        "two reports": (pl.concat([frame, frame.head(1)]), certificate),
        "no report": (frame.head(0), certificate),
        "missing": (frame.tail(-1), certificate),
        "another place": (frame.reverse(), certificate),
        "columns user and report": (frame.drop("report"), certificate),
        "in order": (
            frame,
            certificate | {"contents": contents | {"objects": contents["objects"][::-1]}},
        ),
        "contents.objects": (frame, certificate | {"contents": contents | {"objects": "all"}}),
        "public.objects": (
            frame,
            certificate | {"contents": contents | {"objects": contents["objects"][:-1]}},
        ),
        "no mechanism": (frame, certificate | {"method": "unheard-of"}),
        "promise.epsilon": (
            frame,
            certificate | {"promise": certificate["promise"] | {"epsilon": 0.01}},
        ),
        "as crowdveil perturb": (frame, {"format": 1}),
    }


@pytest.mark.parametrize(
    "why",
    [
        *("symbol", "bytes", "two reports", "no report", "missing", "another place"),
        *("columns user and report", "in order"),
        *("contents.objects", "public.objects", "no mechanism", "promise.epsilon", "as crowdveil perturb"),
    ],
)
def test_reports_that_no_device_sent_are_refused(run: Run, answers: Path, why: str) -> None:
    perturbed(run, answers, "rr")
    reports, bad = answers.with_name("reports.parquet"), answers.with_name("bad.parquet")
    certificate = json.loads(pl.read_parquet_metadata(reports)["crowdveil"])
    del certificate["signature"], certificate["contents"]["rows_sha256"]  # either would notice all of it
    del certificate["levels"]
    certificate["schema_version"] = 2  # which needs neither
    frame, changed = broken(pl.read_parquet(reports), certificate)[why]
    frame.write_parquet(bad, metadata={"crowdveil": json.dumps(changed)})
    done = run("discover", bad, "-o", answers.with_name("x.csv"))
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert why in done.err


def test_objects_and_users_may_be_whole_numbers(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "numbers.parquet"
    columns = {"object": np.repeat(np.arange(8), 50), "user": np.tile(np.arange(50), 8)}
    pl.DataFrame({**columns, "value": rng.integers(0, 3, 400)}).write_parquet(path)
    (tmp_path / "u.txt").write_text("\n".join(map(str, range(60))), encoding="utf-8")
    out = tmp_path / "r.parquet"
    options = ("--mechanism", "rr", "--epsilon", "2", "--range", "0:2", "--users", tmp_path / "u.txt")
    assert run("perturb", path, "-o", out, *options, "--json").json()["users"] == 60
    assert run("discover", out, "-o", tmp_path / "t.parquet").code == 0
    assert pl.read_parquet(tmp_path / "t.parquet")["object"].to_list() == list(range(8))


@pytest.mark.parametrize("unit", ["cell", "user"])
def test_a_plan_reads_nothing_and_its_command_runs(run: Run, answers: Path, unit: str) -> None:
    wish = ("--users", "3000", "--objects", "20", "--range", "0:4", "--epsilon", "4", "--sparsity", "0.5")
    found = run("plan", "sparse", *wish, "--unit", unit, "--json").json()
    rows = {row["mechanism"]: row for row in found["mechanisms"]}
    asked = "cell_epsilon" if unit == "cell" else "user_epsilon"
    for row in rows.values():
        assert row[asked] <= 4 * (1 + 1e-12)
        assert found["without_noise"]["error"] < row["error"]
    assert rows["slots"]["user_epsilon"] <= 4 * (1 + 1e-12)
    assert rows["auto"]["user_epsilon"] == pytest.approx(80 if unit == "cell" else 4)
    assert found["advice"] == ("auto" if unit == "cell" else "slots")
    assert found["error"] < found["range_only"]["error"]
    words = found["command"].replace("answers.csv", str(answers)).split()[1:]
    words = [
        str(answers.with_name(word)) if "." in word and word.endswith(("txt", "parquet")) else word
        for word in words
    ]
    assert run(*words).code == 0
    text = run("plan", "sparse", *wish, "--unit", unit).out
    assert "nobody is asked" in text
    assert "advice" in text


def test_a_plan_says_when_it_is_not_worth_it(run: Run) -> None:
    wish = ("--users", "20", "--objects", "20", "--range", "0:4", "--epsilon", "0.1", "--sparsity", "0.9")
    assert "advice: none" in run("plan", "sparse", *wish).out
    for wrong in (("--sparsity", "1"), ("--epsilon", "0"), ("--range", "0:0.5"), ("--users", "0")):
        assert run("plan", "sparse", *wish, *wrong).code == 2
