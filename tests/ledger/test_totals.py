"""Totals: every release counts in every scope, by what it costs there."""

from __future__ import annotations

import shutil
import sqlite3
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path

import pytest
from charging import TENTH, claim, in_scope, only, raw, spend, spent
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.accounting.scopes import STEPS, Kind, changes_between, counted_in
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Guarantee, NoGuarantee, Scope, Trust, Unit
from crowdveil.ledger import LEDGER_VERSION, Charge, Ledger
from crowdveil.ledger.totals import spending_in

VERSION_2 = Path(__file__).parent / "version2.sqlite3"  # written by crowdveil before bounds were kept


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def scope(unit: Unit, adjacency: Adjacency = "replace-one", trust: Trust = "central") -> Scope:
    return Scope(unit, adjacency, trust)


def promise(unit: Unit, adjacency: Adjacency, trust: Trust = "central", epsilon: float = 1.0) -> Guarantee:
    return Guarantee(epsilon, 0.0, unit, adjacency, trust)


def test_three_releases_in_three_scopes_count_in_each_of_them(book: Ledger) -> None:
    spend(book, promise("claim", "replace-one"), claims_of_a_user=7)
    spend(book, promise("user", "replace-one"))
    spend(book, promise("claim", "add-remove"))
    told = {str(spending.scope): spending.in_words() for spending in only(book).spent}
    assert told == {
        "each user, replace-one, central": "8 + 2 k",
        "each user, add-remove, central": "not bounded",
        "each claim, replace-one, central": "4",
        "each claim, add-remove, central": "not bounded",
    }
    assert list(told)[:2] == [name for name in told if "user" in name]
    assert not only(book).unbounded


def test_the_users_of_claims_and_cells_and_the_budgets_scope_are_shown(book: Ledger) -> None:
    spend(book, promise("cell", "replace-or-none", "local"), claims_of_a_user=12)
    assert {str(spending.scope): spending.in_words() for spending in only(book).spent} == {
        "each user, replace-or-none, local": "12",
        "each cell, replace-or-none, local": "1",
    }
    spend(book, promise("claim", "replace-one"), seeded=True, budget=5)
    shown = {str(spending.scope): spending.in_words() for spending in only(book).spent}
    assert shown["each claim, replace-one, central"] == "1"
    assert shown["each user, replace-one, central"] == "12"
    assert only(book).left == 4


@pytest.mark.parametrize("unit", ["claim", "user"])
def test_beside_add_remove_stands_what_a_replaced_value_costs(book: Ledger, unit: Unit) -> None:
    spend(book, promise(unit, "add-remove"))
    assert spent(book, scope(unit, "add-remove")) == 1
    assert spent(book, scope(unit)) == 2
    shown = [spending.scope for spending in only(book).spent]
    for each in shown:
        if each.adjacency == "add-remove":
            assert shown[shown.index(each) + 1] == scope(each.unit)


def test_beside_a_budget_of_add_remove_stands_the_other_number_too(book: Ledger) -> None:
    spend(book, promise("user", "add-remove"), seeded=True, budget=3)
    assert [spending.scope for spending in only(book).spent] == [scope("user", "add-remove"), scope("user")]
    assert only(book).left == 3


def test_records_stand_for_themselves(book: Ledger) -> None:
    spend(book, promise("record", "replace-one", "local"))
    assert [spending.in_words() for spending in only(book).spent] == ["1"]
    spend(book, TENTH, claims_of_a_user=1)
    assert {spending.in_words() for spending in only(book).spent} == {"not bounded"}
    assert only(book).unbounded


def test_a_seeded_run_adds_nothing_and_a_release_without_a_guarantee_everything(book: Ledger) -> None:
    spend(book, TENTH, claims_of_a_user=4)
    spend(book, promise("user", "replace-one"), seeded=True)
    assert spent(book, scope("user")) == Decimal("0.4")
    assert spent(book) == Decimal("0.1")
    spend(book, NoGuarantee("why"))
    assert only(book).unbounded


def test_tenths_of_thirty_claims_are_exactly_three(book: Ledger) -> None:
    spend(book, claim(0.1), claims_of_a_user=30)
    assert spent(book, scope("user")) == 3


KINDS: list[Kind] = [*sorted({kind for step in STEPS for kind in step}), ("record", "replace-one")]
TRUSTS: tuple[Trust, ...] = ("central", "local")
SCOPES = [Scope(unit, adjacency, trust) for (unit, adjacency), trust in product(KINDS, TRUSTS)]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    own=st.sampled_from(SCOPES),
    other=st.sampled_from(SCOPES),
    epsilon=st.floats(0, 20),
    delta=st.just(0.0) | st.floats(1e-30, 1e-3),
    bound=st.none() | st.integers(1, 40),
)
def test_a_charge_costs_what_the_rules_say_and_never_less(
    own: Scope, other: Scope, epsilon: float, delta: float, bound: int | None
) -> None:
    guarantee = Guarantee(epsilon, delta, own.unit, own.adjacency, own.trust)
    charge = Charge(
        *(1, "t", "d", "m", "differential privacy", Decimal(repr(epsilon)), Decimal(repr(delta)), own, False),
        claims_of_a_user=bound,
    )
    found, rule = spending_in(other, [charge]), counted_in(guarantee, other, bound)
    if rule is None:
        changes = changes_between(own, other)
        symbolic = bound is None and changes is not None and not delta and own.unit == "claim"
        assert found.bounded == symbolic
        assert found.epsilon is None or epsilon == 0
        return
    changes = changes_between(own, other)
    assert changes is not None
    assert found.epsilon is not None
    assert Fraction(found.epsilon) == Fraction(repr(epsilon)) * (changes.of(bound) or 0)
    assert Fraction(rule.delta) <= Fraction(found.delta) * (1 + Fraction(1, 10**15))
    assert float(found.delta) <= rule.delta * (1 + 2e-5)


def test_the_delta_of_users_grows_as_that_of_a_group_does(book: Ledger) -> None:
    spend(book, claim(0.5, 1e-8), claims_of_a_user=3)
    users = in_scope(only(book), scope("user"))
    assert users.epsilon == Decimal("1.5")
    exact = 1e-8 * (1 + exp(0.5) + exp(1.0))
    assert exact <= users.delta <= Decimal(exact * (1 + 1e-5))
    spend(book, claim(0.5, 1e-3), claims_of_a_user=100)
    assert in_scope(only(book), scope("user")).in_words() == "not bounded"
    assert spent(book) == 1


def test_a_number_of_claims_is_kept_and_cannot_be_changed(book: Ledger) -> None:
    charge = spend(book, claims_of_a_user=5)
    spend(book)
    assert (
        [entry.claims_of_a_user for entry in book.entries()] == [charge.claims_of_a_user, None] == [5, None]
    )
    assert book.entries()[0].to_dict()["claims_of_a_user"] == 5
    with raw(book) as db:
        for change in (
            "UPDATE bounds SET claims_of_a_user = 1",
            "DELETE FROM bounds",
            "INSERT OR REPLACE INTO bounds VALUES (1, 1)",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="only added to"):
                db.execute(change)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="number of claims of a user"):
            spend(book, claims_of_a_user=wrong)  # type: ignore[arg-type]


def test_a_ledger_of_version_2_is_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    shutil.copy(VERSION_2, path)
    before, book = path.read_bytes(), Ledger(path)
    totals = {total.dataset: total for total in book.totals()}
    assert path.read_bytes() == before  # reading changes nothing
    assert all(entry.claims_of_a_user is None for entry in book.entries())
    drugs, trial, marks, paper = totals.values()
    assert [spending.in_words() for spending in drugs.spent] == ["1.5 k", "1.5"]
    assert drugs.left == Decimal("0.5")
    assert [spending.in_words() for spending in trial.spent] == ["1 + 0.5 k", "2 + k", "2.5", "3"]
    assert [spending.in_words() for spending in marks.spent] == ["not bounded", "1"]
    assert paper.unbounded
    new = book.charge("drugs", claim(0.25), method="certified", seeded=False, claims_of_a_user=4)
    assert book.entries()[-1] == new
    assert [spending.in_words() for spending in book.totals("drugs")[0].spent] == ["1 + 1.5 k", "1.75"]
    with raw(book) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (LEDGER_VERSION,) == (3,)
