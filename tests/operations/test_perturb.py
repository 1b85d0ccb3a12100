"""The operation behind `crowdveil perturb`: what it charges and when, what it refuses, what it says."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.files import File, read_cell_reports, read_claims_as_told, reserved
from crowdveil.ledger import BudgetExceeded, Ledger
from crowdveil.local import gaussian_exponential
from crowdveil.local.registry import MECHANISMS
from crowdveil.operations.perturb import Request, perturb
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness

FIVE = Range(0.0, 4.0)
ASKED: dict[str, dict[str, Any]] = {
    "laplace": {"epsilon": 1.0},
    "gaussian-exponential": {"options": {"lambda2": 0.02}},
    "gaussian-exponential-per-user": {"options": {"lambda2": 0.02, "floor": 300.0}},
    "auto": {"epsilon": 1.0, "options": {"sparsity": 0.5}},
    "rr": {"epsilon": 1.0},
    "three-symbols": {"epsilon": 1.0},
    "cell-response": {"epsilon": 1.0},
    "lp": {"epsilon": 1.0, "options": {"null": 2}},
    "two-layer": {"epsilon": 1.0},
    "mf": {"epsilon": 1.0, "options": {"ridge": 1.0, "dimensions": 2}},
    "mf-sound": {"epsilon": 1.0},
    "slots": {"epsilon": 1.0, "options": {"sparsity": 0.5}},
}
every_name = pytest.mark.parametrize("name", ASKED)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """30 users and 6 objects, answers 0 .. 4 and one far outside, half of the cells empty."""
    rng = np.random.default_rng(1)
    cells = [
        (f"o{i}", f"u{s:02}", float(rng.integers(0, 5))) for i in range(6) for s in range(30) if (i + s) % 2
    ]
    cells[0] = (*cells[0][:2], 987.0)
    path = tmp_path / "claims.csv"
    pl.DataFrame(cells, schema=["object", "user", "value"], orient="row").write_csv(path)
    return path


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(Ledger(tmp_path / "ledger.sqlite3"), "d")


def request(claims: Path, name: str, **more: Any) -> Request:
    return Request(**{"source": str(claims), "mechanism": name, "range": FIVE, **ASKED[name], **more})


def test_every_name_of_the_registry_is_tried_here() -> None:
    assert set(ASKED) == set(MECHANISMS)


@every_name
def test_it_charges_its_own_unit_writes_and_completes(claims: Path, account: Account, name: str) -> None:
    out = str(claims.with_name("out.parquet"))
    result = perturb(request(claims, name), account, out)
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["out"] == out
    assert told["private"] is True
    assert told["for_your_eyes"]["clamped"] == 1
    mechanism = result.description.build()
    (charge,) = account.ledger.entries()
    assert charge.method == f"perturb {told['mechanism']}"
    assert charge.released is not None
    assert not charge.seeded
    if name == "mf":
        assert charge.epsilon is None
    else:
        assert charge.scope is not None
        assert charge.scope.unit == mechanism.unit
        level = "user_promise" if mechanism.unit == "user" else "promise"
        assert float(charge.epsilon or 0) == told[level]["epsilon"]
        assert charge.scope.adjacency == told[level]["adjacency"]
    if mechanism.about == "claims":
        certificate = read_claims_as_told(out)[1]
        assert certificate is not None
        assert certificate.method == result.description.mechanism
        assert certificate.parameters == result.description.parameters
        assert told["claims"] == 90
    else:
        reports = read_cell_reports(out)
        assert reports is not None
        assert reports.mechanism == mechanism
        assert (told["users"], told["objects"], told["declared"]) == (30, 6, False)
        assert any("--objects and --users" in warning for warning in result.warnings)


@pytest.mark.parametrize("name", [name for name in ASKED if name != "mf"])  # which promises nothing
def test_the_ledger_counts_for_users_what_the_result_promises_them(
    claims: Path, account: Account, name: str
) -> None:
    result = perturb(request(claims, name), account, str(claims.with_name("out.parquet"))).to_dict()
    (charge,) = account.ledger.entries()
    assert charge.claims_of_a_user == (3 if "claims" in result else 6)
    (total,) = account.ledger.totals()
    users, promised = total.spent[0], result["user_promise"]
    assert users.scope.unit == "user"
    if not charge.delta:
        assert users.epsilon == pytest.approx(Decimal(promised["epsilon"]))
    else:  # by group privacy, which any mechanism keeps; the result knows its own better
        assert users.epsilon is None or users.epsilon >= Decimal(promised["epsilon"])


@every_name
def test_a_budget_that_does_not_suffice_stops_it_before_anything_is_drawn(
    claims: Path, account: Account, name: str
) -> None:
    if name == "mf":  # has no epsilon that a budget could count
        return
    out = claims.with_name("out.parquet")
    poor = Account(account.ledger, account.dataset, budget=1e-3)
    watched = WatchedRequest(**vars(request(claims, name)), out=out)
    with pytest.raises(BudgetExceeded):
        perturb(watched, poor, str(out))
    assert watched.seen == []
    kept = ["claims.csv", "ledger.sqlite3", "ledger.sqlite3.key"]
    assert sorted(path.name for path in claims.parent.iterdir()) == kept
    assert account.ledger.entries() == []


class Watched(Ledger):
    """A true ledger that remembers when it was called, and whether the file was there then."""

    def __init__(self, path: Path, out: Path, seen: list[tuple[str, bool]]) -> None:
        super().__init__(path)
        self.out, self.seen = out, seen

    def charge(self, *given: Any, **more: Any) -> Any:
        self.seen.append(("charge", self.out.exists()))
        return super().charge(*given, **more)

    def completed(self, charge: Any) -> None:
        self.seen.append(("completed", self.out.exists()))
        super().completed(charge)


@dataclass(frozen=True)
class WatchedRequest(Request):
    """A true request that remembers when randomness was asked for."""

    out: Path = Path()
    seen: list[tuple[str, bool]] = field(default_factory=list)

    def rng(self) -> Randomness:
        self.seen.append(("draw", self.out.exists()))
        return super().rng()


@every_name
def test_it_charges_then_draws_then_writes_then_completes(claims: Path, tmp_path: Path, name: str) -> None:
    out, seen = claims.with_name("out.parquet"), list[tuple[str, bool]]()
    ledger = Watched(tmp_path / "watched.sqlite3", out, seen)
    watched = WatchedRequest(**vars(request(claims, name)), out=out, seen=seen)
    perturb(watched, Account(ledger, "d"), str(out))
    assert seen == [("charge", False), ("draw", False), ("completed", True)]


@every_name
def test_what_cannot_be_written_stays_charged_and_is_not_completed(
    claims: Path, account: Account, name: str
) -> None:
    """What comes in the way while noise is drawn is not overwritten."""

    @dataclass(frozen=True)
    class Spoiling(Request):
        def rng(self) -> Randomness:
            claims.with_name("out.parquet").write_text("in the way")
            return super().rng()

    out = claims.with_name("out.parquet")
    with pytest.raises(OutputError):
        perturb(Spoiling(**vars(request(claims, name))), account, str(out))
    (charge,) = account.ledger.entries()
    assert charge.released is None
    assert out.read_text() == "in the way"


@pytest.mark.parametrize("name", ["laplace", "rr"])
@pytest.mark.parametrize("out", ["/proc/out.parquet", "claims.csv/out.parquet", "n" * 256 + ".parquet"])
def test_what_cannot_be_written_costs_nothing(claims: Path, account: Account, name: str, out: str) -> None:
    with pytest.raises(OutputError):
        perturb(request(claims, name), account, str(claims.parent / out))
    assert account.ledger.entries() == []


@pytest.mark.parametrize("name", ["laplace", "rr"])
def test_a_place_where_another_run_is_writing_costs_nothing(
    claims: Path, account: Account, name: str
) -> None:
    out = claims.with_name("out.parquet")
    with reserved([File(out)], force=False), pytest.raises(OutputError, match="another run"):
        perturb(request(claims, name), account, str(out))
    assert account.ledger.entries() == []


def test_a_pipe_that_nobody_reads_costs_nothing(
    claims: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(OutputError, match="nobody reads it"):
            perturb(request(claims, "laplace"), account, "-")
    with pytest.raises(OutputError, match="standard output is closed"):
        perturb(request(claims, "laplace"), account, "-")
    assert account.ledger.entries() == []


def test_what_does_not_reach_standard_output_is_not_completed(
    claims: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Path("/dev/full").open("w")  # noqa: SIM115, closing it fails
    monkeypatch.setattr(sys, "stdout", full)
    with pytest.raises(OutputError, match="No space"):
        perturb(request(claims, "laplace"), account, "-")
    with contextlib.suppress(OSError):
        full.close()
    (charge,) = account.ledger.entries()
    assert charge.released is None


def refused_requests(claims: Path) -> dict[str, tuple[str, dict[str, Any], str]]:
    """By what is wrong: mechanism, what else is asked for, and where it is to be written."""
    there = claims.with_name("there.parquet")
    there.write_bytes(b"something")
    return {
        "no strength": ("laplace", {"epsilon": None}, "x.parquet"),
        "strength": ("rr", {"epsilon": -1.0}, "x.parquet"),
        "another's option": ("rr", {"options": {"null": 1}}, "x.parquet"),
        "another's list": ("laplace", {"objects": claims}, "x.parquet"),
        "too fine": ("laplace", {"options": {"resolution": 1e-20}}, "x.csv"),
        "no such mechanism": ("rr", {"mechanism": "magic"}, "x.parquet"),
        "no sparsity": ("slots", {"options": {}}, "x.parquet"),
        "no whole numbers": ("rr", {"range": Range(0.0, 4.5)}, "x.parquet"),
        "rank": ("mf", {"options": {"dimensions": 15}}, "x.parquet"),
        "there already": ("rr", {}, "there.parquet"),
        "there already, claims": ("laplace", {}, "there.parquet"),
        "no Parquet": ("rr", {}, "x.csv"),
        "no input": ("laplace", {"source": str(claims.with_name("nowhere.csv"))}, "x.csv"),
        "no column": ("laplace", {"columns": {"object": "thing"}}, "x.csv"),
        "no list": ("rr", {"users": claims.with_name("nowhere.txt")}, "x.parquet"),
        "short list": ("rr", {"users": claims.with_name("short.txt")}, "x.parquet"),
    }


REFUSED = [
    *("no strength", "strength", "another's option", "another's list", "too fine", "no such mechanism"),
    *("no sparsity", "no whole numbers", "rank", "there already", "there already, claims", "no Parquet"),
    *("no input", "no column", "no list", "short list"),
]


@pytest.mark.parametrize("what", REFUSED)
def test_nothing_is_charged_for_what_is_refused(claims: Path, account: Account, what: str) -> None:
    claims.with_name("short.txt").write_text("u01\n", encoding="utf-8")
    requests = refused_requests(claims)
    assert list(requests) == REFUSED
    name, more, out = requests[what]
    with pytest.raises(CrowdveilError) as refused:
        perturb(request(claims, name, **more), account, str(claims.with_name(out)))
    assert isinstance(refused.value, InputError | ParameterError | OutputError)
    assert account.ledger.entries() == []
    assert not account.ledger.path.exists()
    assert not claims.with_name("x.parquet").exists()
    assert not claims.with_name("x.csv").exists()
    assert claims.with_name("there.parquet").read_bytes() == b"something"


def test_reports_are_not_perturbed_again(claims: Path, account: Account) -> None:
    once, twice = claims.with_name("once.parquet"), claims.with_name("twice.parquet")
    perturb(request(claims, "rr"), account, str(once))
    with pytest.raises(InputError, match="are reports already"):
        perturb(request(once, "rr"), account, str(twice))
    assert len(account.ledger.entries()) == 1
    assert not twice.exists()


@pytest.mark.parametrize("name", ["laplace", "rr"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_noisy_claims_are_perturbed_again_with_a_warning_and_charged(
    claims: Path, account: Account, name: str, ending: str
) -> None:
    once, twice = claims.with_name(f"once.{ending}"), claims.with_name("twice.parquet")
    assert not perturb(request(claims, "laplace"), account, str(once)).warnings
    result = perturb(request(once, name), account, str(twice))
    assert any("noisy claims already, not raw claims" in warning for warning in result.warnings)
    assert len(account.ledger.entries()) == 2
    assert twice.exists()


@pytest.mark.parametrize("name", ["laplace", "slots"])
def test_a_seed_repeats_and_is_recorded_as_not_private(claims: Path, account: Account, name: str) -> None:
    one, two = claims.with_name("one.parquet"), claims.with_name("two.parquet")
    for out in (one, two):
        assert perturb(request(claims, name, seed=5), account, str(out)).to_dict()["private"] is False
    assert one.read_bytes() == two.read_bytes()
    assert all(charge.seeded for charge in account.ledger.entries())


def test_a_user_with_more_claims_than_a_promise_covers_is_refused_before_anything_is_charged(
    claims: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaussian_exponential, "MOST_CLAIMS", 2)
    with pytest.raises(ParameterError, match="at most 2 claims"):
        perturb(request(claims, "gaussian-exponential-per-user"), account, str(claims.with_name("o.csv")))
    assert account.ledger.entries() == []


def test_force_replaces_and_charges_again(claims: Path, account: Account) -> None:
    out = str(claims.with_name("out.parquet"))
    for _ in range(2):
        perturb(request(claims, "laplace"), account, out, force=True)
    assert len(account.ledger.entries()) == 2


def test_the_ridge_that_decides_a_profile_is_told_as_a_warning(claims: Path, account: Account) -> None:
    result = perturb(
        request(claims, "mf", options={"ridge": 1.0, "dimensions": 15}),
        account,
        str(claims.with_name("o.parquet")),
    )
    assert any("the ridge decides" in warning for warning in result.warnings)


def test_lists_go_with_mechanisms_that_report_about_every_cell(claims: Path) -> None:
    for option in ("objects", "users"):
        with pytest.raises(ParameterError) as refused:
            request(claims, "laplace", **{option: claims})
        assert str(refused.value) == f"--{option} goes with mechanisms that report about every cell"


def test_noisy_claims_never_replace_the_raw_ones(claims: Path, account: Account) -> None:
    before = claims.read_bytes()
    with pytest.raises(OutputError, match="would replace the raw claims"):
        perturb(request(claims, "laplace"), account, str(claims), force=True)
    assert claims.read_bytes() == before
    assert account.ledger.entries() == []
