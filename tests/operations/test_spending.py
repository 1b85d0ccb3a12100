"""Charge, draw, write, complete: the order, and what is left when a step fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crowdveil.accounting import PrivateEvent
from crowdveil.errors import OutputError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.ledger import BudgetExceeded, Charge, Ledger
from crowdveil.operations.spending import Account, Cost, spend

ONE = Guarantee(1.0, 0.0, "claim", "replace-one", "central")
COST = Cost(ONE, "certified", {"epsilon": 1.0}, (PrivateEvent(1.0),))


@dataclass
class Steps:
    """Looks into the ledger at every step."""

    book: Ledger
    seen: list[tuple[str, list[str]]] = field(default_factory=list)

    def note(self, step: str) -> None:
        self.seen.append((step, [entry.status for entry in self.book.entries()]))

    def draw(self) -> str:
        self.note("draw")
        return "drawn"

    def write(self, result: str) -> None:
        assert result == "drawn"
        self.note("write")


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def test_a_charge_is_on_record_before_the_draw_and_complete_after_the_files(book: Ledger) -> None:
    steps = Steps(book)
    assert spend(Account(book, "d"), COST, draw=steps.draw, write=steps.write) == "drawn"
    steps.note("end")
    assert steps.seen == [
        ("draw", ["charged, not released"]),
        ("write", ["charged, not released"]),
        ("end", ["released"]),
    ]


def test_what_a_budget_cannot_hold_is_not_drawn(book: Ledger) -> None:
    steps = Steps(book)
    spend(Account(book, "d", budget=1.5), COST, draw=steps.draw, write=steps.write)
    steps.seen.clear()
    with pytest.raises(BudgetExceeded):
        spend(Account(book, "d", budget=1.5), COST, draw=steps.draw, write=steps.write)
    assert steps.seen == []
    assert len(book.entries()) == 1


def test_a_draw_that_fails_stays_charged(book: Ledger) -> None:
    def draw() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spend(Account(book, "d"), COST, draw=draw, write=Steps(book).write)
    assert [entry.status for entry in book.entries()] == ["charged, not released"]


def test_what_cannot_be_written_stays_charged_and_is_not_complete(book: Ledger) -> None:
    def write(_: str) -> None:
        raise OutputError("the disk is full")

    with pytest.raises(OutputError):
        spend(Account(book, "d"), COST, draw=Steps(book).draw, write=write)
    assert [entry.status for entry in book.entries()] == ["charged, not released"]


def test_the_ledger_keeps_what_the_cost_was_computed_from(book: Ledger) -> None:
    steps = Steps(book)
    spend(Account(book, "d"), COST, draw=steps.draw, write=steps.write)
    (entry,) = book.entries()
    assert isinstance(entry, Charge)
    assert (entry.method, entry.parameters, entry.events) == (COST.method, COST.parameters, COST.events)


def test_a_promise_is_an_event_where_nothing_more_is_known() -> None:
    assert Cost(ONE, "perturb laplace").events == (PrivateEvent(1.0, 0.0),)
    assert Cost(NoGuarantee("none."), "priscrowd").events == ()
