"""`crowdveil perturb`, and `crowdveil discover` on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Run


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """60 users, 12 objects; truths 1 .. 9 on a range of 0:10, one claim outside."""
    rng = np.random.default_rng(1)
    truths = np.linspace(1, 9, 12)
    values = truths[:, None] + 0.3 * rng.normal(size=(12, 60))
    values[0, 0] = 123.456
    objects, users = np.divmod(np.arange(720), 60)
    path = tmp_path / "claims.csv"
    names = {"object": [f"o{i:02}" for i in objects], "user": [f"u{s:02}" for s in users]}
    pl.DataFrame({**names, "value": values.ravel()}).write_csv(path)
    pl.DataFrame({"object": [f"o{i:02}" for i in range(12)], "value": truths}).write_csv(
        tmp_path / "truths.csv"
    )
    return path


def told_in(path: Path) -> Any:
    """The certificate in the first line of a CSV file."""
    return json.loads(path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("#crowdveil "))


PER_USER = ("--mechanism", "gaussian-exponential", "--variance-per-user", "--lambda2", "0.02")
WAYS = {
    "laplace": ("--epsilon", "4"),
    "gaussian-exponential": ("--mechanism", "gaussian-exponential", "--epsilon", "4"),
    "gaussian-exponential-per-user": (*PER_USER, "--floor", "300"),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", WAYS)
def test_what_was_perturbed_is_discovered_with_the_noise_in_mind(
    run: Run, claims: Path, name: str, ending: str
) -> None:
    noisy, out = claims.with_name(f"noisy.{ending}"), claims.with_name("truths-found.csv")
    told = run("perturb", claims, "-o", noisy, "--range", "0:10", *WAYS[name], "--json").json()
    assert told["mechanism"] == name
    assert told["private"] is True
    assert told["for_your_eyes"]["clamped"] == 1
    assert told["promise"]["unit"] == "claim"
    assert told["user_promise"]["unit"] == "user"
    assert told["promise"]["trust"] == "local"
    found = run("discover", noisy, "-o", out, "--truths", claims.with_name("truths.csv"), "--json").json()
    assert found["method"] == "noise-aware"
    assert found["promise"] == told["promise"]["sentence"]
    estimates = pl.read_csv(out)["estimate"].to_numpy()
    assert ((estimates >= 0) & (estimates <= 10)).all()
    assert found["mae"] < 2.5  # a constant has 2.2: noise, not nonsense
    plain = run("discover", noisy, "-o", out, "--force", "--method", "inverse-deviation", "--json").json()
    assert plain["method"] == "inverse-deviation"


def test_noisy_claims_have_the_same_users_and_objects_on_the_grid(run: Run, claims: Path) -> None:
    noisy = claims.with_name("noisy.csv")
    done = run("perturb", claims, "-o", noisy, "--range", "0:10", "--epsilon", "1", "--resolution", "0.5")
    assert done.code == 0
    assert "FOR YOUR EYES ONLY: 1 of " in done.err
    assert "123.456" not in done.out + done.err + noisy.read_text(encoding="utf-8")
    raw, sent = pl.read_csv(claims), pl.read_csv(noisy, skip_lines=1)
    pairs = ["object", "user"]
    assert sent.select(pairs).sort(pairs).equals(raw.select(pairs).sort(pairs))
    assert np.allclose(sent["value"].to_numpy() * 2 % 1, 0)
    assert told_in(noisy)["parameters"] == {"epsilon": 1.0, "range": [0.0, 10.0], "resolution": 0.5}


def test_a_seed_repeats_and_is_not_private_everywhere(run: Run, claims: Path) -> None:
    one, two = claims.with_name("one.csv"), claims.with_name("two.csv")
    for path in (one, two):
        done = run("perturb", claims, "-o", path, "--range", "0:10", "--epsilon", "1", "--seed", "5")
        assert "NOT PRIVATE" in done.out
    assert one.read_bytes() == two.read_bytes()
    told = run("discover", one, "-o", claims.with_name("t.csv"), "--json").json()
    assert told["promise"].startswith("No differential privacy guarantee")
    assert "NOT PRIVATE" in run("ledger").out.upper() or "not private" in run("ledger").out


def test_every_perturbing_is_charged_and_a_budget_holds(run: Run, claims: Path) -> None:
    options = ("--range", "0:10", "--epsilon", "1", "--budget", "1.5")
    assert run("perturb", claims, "-o", claims.with_name("a.csv"), *options).code == 0
    again = run("perturb", claims, "-o", claims.with_name("b.csv"), *options)
    assert again.code == 2
    assert not claims.with_name("b.csv").exists()
    assert not list(claims.parent.glob("*.json"))


def test_bad_requests_are_refused_in_a_line(run: Run, claims: Path) -> None:
    out = claims.with_name("noisy.csv")
    for wrong in (
        (),
        ("--epsilon", "0"),
        ("--epsilon", "-1"),
        ("--epsilon", "1", "--lambda2", "1"),
        ("--epsilon", "1", "--floor", "1"),
        ("--mechanism", "gaussian-exponential"),
        ("--mechanism", "gaussian-exponential", "--lambda2", "0"),
        ("--mechanism", "gaussian-exponential", "--lambda2", "-2"),
        ("--mechanism", "gaussian-exponential", "--epsilon", "0"),
        ("--mechanism", "gaussian-exponential", "--lambda2", "1", "--epsilon", "1"),
        ("--mechanism", "gaussian-exponential", "--lambda2", "1", "--floor", "1"),
        ("--mechanism", "gaussian-exponential", "--variance-per-user", "--epsilon", "1"),
        (*PER_USER, "--delta", "1e-6"),
        (*PER_USER, "--floor", "-1"),
    ):
        done = run("perturb", claims, "-o", out, "--range", "0:10", *wrong)
        assert done.code == 2, wrong
        assert done.err.count("\n") == 1, done.err
    for range_text in ("10:0", "0", "a:b"):
        assert run("perturb", claims, "-o", out, "--range", range_text, "--epsilon", "1").code == 2
    assert not out.exists()


def test_noisy_claims_are_perturbed_again_with_a_warning(run: Run, claims: Path) -> None:
    noisy = claims.with_name("noisy.parquet")
    run("perturb", claims, "-o", noisy, "--range", "0:10", "--epsilon", "1")
    done = run("perturb", noisy, "-o", claims.with_name("x.csv"), "--range", "0:10", "--epsilon", "1")
    assert done.code == 0
    assert "noisy claims already, not raw claims" in done.err


def test_a_damaged_mechanism_file_is_refused(run: Run, claims: Path) -> None:
    """Such files lie beside CSV files that crowdveil wrote before these carried their certificate."""
    before = Path(__file__).parents[1] / "certificates" / "before"
    noisy, beside = claims.with_name("noisy.csv"), claims.with_name("noisy.csv.mechanism.json")
    for path in (noisy, beside):
        path.write_bytes((before / path.name).read_bytes())
    assert run("discover", noisy).code == 0
    told = json.loads(beside.read_text(encoding="utf-8"))
    for damage in (
        "{",
        "[]",
        json.dumps(told | {"format": 99}),
        json.dumps(told | {"mechanism": "magic"}),
        json.dumps(told | {"parameters": {"epsilon": -1, "range": [0, 10]}}),
        json.dumps(told | {"parameters": {"epsilon": 1}}),
        json.dumps(told | {"parameters": {"epsilon": 1, "range": [0, 10], "more": 1}}),
    ):
        beside.write_text(damage, encoding="utf-8")
        done = run("discover", noisy)
        assert done.code == 2, damage
        assert done.err.count("\n") == 1
        assert "noisy.csv.mechanism.json" in done.err


def test_standard_output_gives_the_file_and_standard_error_the_promise(run: Run, claims: Path) -> None:
    asked = ("perturb", claims, "--range", "0:10", "--epsilon", "1")
    done = run(*asked, "-o", "-")
    line, rows = done.out.split("\n", 1)
    assert line.startswith("#crowdveil {")
    assert rows.startswith("object,user,value\no00,")
    assert rows.count("\n") == 721
    assert "Differential privacy for each claim with epsilon = 1" in done.err
    assert "Differential privacy for each user with epsilon = 12" in done.err
    assert "It rests on this: the range and the resolution were declared" in done.err
    assert "whoever ran this had the raw claims" in done.err
    assert "NOT PRIVATE" not in done.err
    seeded = run(*asked, "-o", "-", "--seed", "1")
    assert seeded.code == 0
    assert "crowdveil: NOT PRIVATE" in seeded.err
    run(*asked, "-o", claims.with_name("same.csv"), "--seed", "1")
    assert seeded.out == claims.with_name("same.csv").read_text(encoding="utf-8")


def test_a_promise_is_not_told_of_other_claims(run: Run, claims: Path) -> None:
    noisy = claims.with_name("noisy.csv")
    run("perturb", claims, "-o", noisy, "--range", "0:10", "--epsilon", "1")
    raw = claims.read_bytes()
    claims.with_name("noisy.txt").write_bytes(raw)
    plain = run("discover", claims.with_name("noisy.txt"), "-o", claims.with_name("t.csv"), "--json").json()
    assert plain["method"] == "gtm"
    assert plain["promise"].startswith("No guarantee")
    assert plain["origin"] == "unknown"
    assert "unknown origin" in plain["promise"]
    noisy.write_bytes(noisy.read_bytes().split(b"\n", 1)[0] + b"\n" + raw)
    done = run("discover", noisy)
    assert done.code == 2
    assert "its rows are not those that its first line tells of" in done.err


def test_reports_are_known_by_what_they_hold_not_by_their_name(run: Run, claims: Path) -> None:
    noisy, renamed = claims.with_name("noisy.parquet"), claims.with_name("noisy.dat")
    run("perturb", claims, "-o", noisy, "--range", "0:10", "--epsilon", "1")
    renamed.write_bytes(noisy.read_bytes())
    told = run("discover", renamed, "-o", claims.with_name("t.csv"), "--json").json()
    assert told["method"] == "noise-aware"


def test_gzipped_claims_can_be_written_and_read(run: Run, claims: Path) -> None:
    noisy, out = claims.with_name("noisy.csv.gz"), claims.with_name("truths.csv.gz")
    assert run("perturb", claims, "-o", noisy, "--range", "0:10", "--epsilon", "1").code == 0
    told = run("discover", noisy, "-o", out, "--json").json()
    assert told["method"] == "noise-aware"
    assert told["weights"].endswith("truths.weights.csv.gz")
    assert out.read_bytes()[:2] == b"\x1f\x8b"


@pytest.mark.parametrize("options", [("--resolution", "3"), ("--range", "0:7", "--epsilon", "0.3")])
def test_an_epsilon_is_never_exceeded(run: Run, claims: Path, options: tuple[str, ...]) -> None:
    noisy = claims.with_name("noisy.csv")
    for mechanism in ("laplace", "gaussian-exponential"):
        usual = ("--range", "0:10", "--epsilon", "1", "--mechanism", mechanism)
        told = run("perturb", claims, "-o", noisy, *usual, *options, "--json", "--force").json()
        assert told["promise"]["epsilon"] <= told["parameters"]["epsilon"]


def test_what_cannot_be_is_refused_before_anything_is_charged(run: Run, claims: Path) -> None:
    for options, why in (
        (("--epsilon", "-1"), "epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--epsilon", "1", "--resolution", "1e-20"), "resolution"),
        (("--epsilon", "1", "--range", "0:1e-170"), "range"),
        (("--epsilon", "1", "--range", "1e15:1000000000000100"), "range"),
    ):
        done = run("perturb", claims, "-o", claims.with_name("x.csv"), "--range", "0:10", *options)
        assert done.code == 2
        assert why in done.err
    much = ("--range", "0:10", "--epsilon", "1500", "--resolution", "10")
    weak = run("perturb", claims, "-o", claims.with_name("x.csv"), *much)
    assert weak.code == 0
    assert run("ledger", "--json").json()["entries"][0]["epsilon"] <= 1500


def test_places_without_a_name_are_refused(run: Run, claims: Path) -> None:
    for wrong in (("discover", "/"), ("discover", claims, "-o", "/"), ("discover", claims, "-o", "")):
        done = run(*wrong)
        assert done.code == 2, wrong
        assert done.err.count("\n") == 1
