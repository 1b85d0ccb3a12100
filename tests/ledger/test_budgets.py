"""Sums without rounding, and budgets that hold."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from fractions import Fraction
from math import nextafter
from pathlib import Path

import pytest
from charging import TENTH, claim, in_scope, only, spend, spent
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import CrowdveilError, ParameterError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.ledger import BudgetExceeded, Ledger, plain

OTHER_SCOPES = [
    Guarantee(0.1, 0.0, "user", "replace-one", "central"),
    Guarantee(0.1, 0.0, "claim", "add-remove", "central"),
    Guarantee(0.1, 0.0, "claim", "replace-one", "local"),
]
WITHOUT = [NoGuarantee("draws repeat"), Deniability(5, 4.0, "1, all weights are equal", "draws repeat")]


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def test_ten_tenths_fit_a_budget_of_one_and_an_eleventh_does_not(book: Ledger) -> None:
    for _ in range(10):
        spend(book, budget=1.0)
    with pytest.raises(BudgetExceeded, match=r"'d', epsilon 1 .* 1 is spent and this release costs 0\.1"):
        spend(book)
    total = only(book)
    assert spent(book) == total.budget.epsilon == 1  # type: ignore[union-attr]
    assert total.left == 0
    assert len(book.entries()) == 10


@settings(max_examples=25, deadline=None)
@given(
    costs=st.lists(st.floats(0, 1e6) | st.decimals(0, 3, places=2).map(float), min_size=1, max_size=6),
    fits=st.booleans(),
)
def test_a_sum_is_exact_and_a_budget_holds_to_the_last_digit(costs: list[float], fits: bool) -> None:
    exact = sum(Fraction(repr(cost)) for cost in costs)
    budget = float(exact)
    if Fraction(repr(budget)) < exact:
        fits = False
    elif not fits:
        budget = min(budget * 0.999999, nextafter(budget, 0.0))
    if not budget > 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "ledger.sqlite3")
        for cost in costs[:-1]:
            spend(book, claim(cost))
        if fits:
            spend(book, claim(costs[-1]), budget=budget)
            assert Fraction(spent(book)) == exact
        else:
            with pytest.raises(BudgetExceeded):
                spend(book, claim(costs[-1]), budget=budget)
            assert len(book.entries()) == len(costs) - 1


def test_numbers_of_any_size_add_up_without_loss(book: Ledger) -> None:
    spend(book, claim(1e300))
    spend(book, claim(1e-300))
    assert Fraction(spent(book)) == Fraction("1e300") + Fraction("1e-300")
    with pytest.raises(BudgetExceeded):
        spend(book, claim(0.0), budget=1e300)


def test_deltas_are_added_too(book: Ledger) -> None:
    for _ in range(3):
        spend(book, claim(0.5, 1e-6), budget=10)
    assert in_scope(only(book)).delta == Decimal("0.000003")


def test_deltas_that_add_up_to_one_void_a_total(book: Ledger) -> None:
    spend(book, claim(0.1, 0.5), dataset="with", budget=10)
    with pytest.raises(BudgetExceeded, match="deltas"):
        spend(book, claim(0.1, 0.5), dataset="with")
    spend(book, claim(0.1, 0.5), dataset="without")
    assert not any(total.unbounded for total in book.totals())
    spend(book, claim(0.1, 0.5), dataset="without")
    assert [total.unbounded for total in book.totals()] == [False, True]


def test_a_seeded_run_is_recorded_as_not_private_and_adds_nothing(book: Ledger) -> None:
    spend(book, claim(0.9), budget=1.0)
    charge = spend(book, claim(5.0), seeded=True)
    assert (charge.seeded, charge.privacy) == (True, "not private (seeded)")
    total = only(book)
    assert (total.seeded, total.left, total.unbounded) == (1, Decimal("0.1"), False)
    assert [entry.epsilon for entry in book.entries()] == [Decimal("0.9"), Decimal("5.0")]


@pytest.mark.parametrize("promise", WITHOUT)
def test_a_release_without_a_guarantee_makes_the_total_unbounded_for_good(
    book: Ledger, promise: Promise
) -> None:
    assert spend(book, promise).privacy == "no guarantee"
    spend(book)
    total = only(book)
    assert total.unbounded
    assert total.without_guarantee == 1
    assert spent(book) == Decimal("0.1")
    with pytest.raises(BudgetExceeded, match="void"):
        spend(book, budget=100)
    assert only(book).budget is None
    assert not Ledger(book.path).totals("another")


@pytest.mark.parametrize("promise", WITHOUT)
def test_a_budget_cannot_hold_a_release_without_a_guarantee(book: Ledger, promise: Promise) -> None:
    with pytest.raises(ParameterError, match="promises none"):
        spend(book, promise, budget=1)
    spend(book, budget=1)
    with pytest.raises(BudgetExceeded, match="cannot hold"):
        spend(book, promise)
    assert len(book.entries()) == 1
    spend(book, promise, seeded=True)
    assert not only(book).unbounded


@pytest.mark.parametrize(("other", "cost"), [*zip(OTHER_SCOPES, ["0.1", "0.2", "0.1"], strict=True)])
def test_a_budget_counts_releases_of_other_scopes_by_what_they_cost_in_its_own(
    book: Ledger, other: Guarantee, cost: str
) -> None:
    spend(book, dataset="first", budget=1)
    spend(book, other, dataset="first")
    spend(book, other, dataset="later")
    spend(book, dataset="later", budget=1)
    assert [total.left for total in book.totals()] == [Decimal("0.9") - Decimal(cost)] * 2
    before = Decimal("0.1") + Decimal(cost)
    spend(book, claim(float(1 - before)), dataset="first")
    with pytest.raises(BudgetExceeded, match=f"1 is spent and this release costs {cost}".replace(".", r"\.")):
        spend(book, other, dataset="first")
    with pytest.raises(BudgetExceeded, match="would be exceeded"):
        spend(book, claim(float(1 - before) + 0.01), dataset="later")


def test_a_budget_for_users_counts_claims_by_their_number(book: Ledger) -> None:
    users = Guarantee(1.0, 0.0, "user", "replace-one", "central")
    spend(book, users, budget=3)
    spend(book, TENTH, claims_of_a_user=20)
    assert only(book).left == 0
    with pytest.raises(BudgetExceeded, match=r"3 is spent and this release costs 0\.1"):
        spend(book, TENTH, claims_of_a_user=1)


COMES = Guarantee(0.1, 0.0, "claim", "add-remove", "central")
GOES = Guarantee(0.1, 0.0, "user", "add-remove", "central")


@pytest.mark.parametrize(
    ("declaring", "other", "claims_of_a_user", "words"),
    [
        (COMES, TENTH, 3, "cannot hold .* protects each claim, replace-one, central, and costs not bounded"),
        (GOES, COMES, None, "costs 0.1 k in the budget's scope, where k is the number of claims of a user"),
        (OTHER_SCOPES[0], claim(0.1, 1e-3), 80, "costs not bounded"),
        (OTHER_SCOPES[2], TENTH, 3, "costs not bounded"),
    ],
)
def test_a_budget_refuses_what_nothing_bounds_in_its_scope(
    book: Ledger, declaring: Guarantee, other: Guarantee, claims_of_a_user: int | None, words: str
) -> None:
    spend(book, declaring, dataset="first", budget=100)
    with pytest.raises(BudgetExceeded, match=words):
        spend(book, other, dataset="first", claims_of_a_user=claims_of_a_user)
    spend(book, other, dataset="later", claims_of_a_user=claims_of_a_user)
    with pytest.raises(BudgetExceeded, match="is void: what was released before costs"):
        spend(book, declaring, dataset="later", budget=100)
    assert [entry.dataset for entry in book.entries()] == ["first", "later"]


def test_the_first_budget_stands(book: Ledger) -> None:
    spend(book, budget=1)
    spend(book, budget=1.0)
    for budget in (2, 0.5):
        with pytest.raises(ParameterError, match="stands at epsilon 1 for each claim, replace-one, central"):
            spend(book, budget=budget)
    with pytest.raises(ParameterError, match="stands"):
        spend(book, OTHER_SCOPES[0], budget=1)
    spend(book, dataset="another", budget=2)
    assert [total.left for total in book.totals()] == [Decimal("0.8"), Decimal("1.9")]


def test_a_refused_charge_declares_nothing(book: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        spend(book, claim(3.0), budget=2)
    assert book.entries() == []
    spend(book, claim(3.0), budget=4)
    assert only(book).left == 1


def test_what_was_spent_before_counts_against_a_later_budget(book: Ledger) -> None:
    spend(book, claim(0.7))
    with pytest.raises(BudgetExceeded):
        spend(book, claim(0.4), budget=1)
    spend(book, claim(0.3), budget=1)
    assert only(book).left == 0


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bad_budget_is_refused(book: Ledger, budget: float) -> None:
    with pytest.raises(ParameterError, match="budget must be a number above 0"):
        spend(book, budget=budget)
    assert book.entries() == []


def test_an_exceeded_budget_is_the_callers_to_mend() -> None:
    assert issubclass(BudgetExceeded, ParameterError)
    assert issubclass(BudgetExceeded, CrowdveilError)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("1.0", "1"),
        ("0.30", "0.3"),
        ("100", "100"),
        ("0.000001", "1e-6"),
        ("0", "0"),
        ("1e300", "1e+300"),
        ("1.00000000000000000000000000000001", "1.00000000000000000000000000000001"),
    ],
)
def test_numbers_are_shown_in_full(number: str, shown: str) -> None:
    assert plain(Decimal(number)) == shown
