"""A release from Python: charged before it is drawn, or a promise that says that nobody kept account."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import crowdveil
from crowdveil.certificates.certificate import of_release
from crowdveil.certificates.reading import read_text
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Guarantee
from crowdveil.ledger import BudgetExceeded, Ledger
from crowdveil.operations.release_claims import NO_ACCOUNT, release
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.result import Release
from crowdveil.releases.smoothed import Smoothed
from crowdveil.simulation.claims import SimulatedClaims

TEN = Range(0, 10)
METHODS = [
    Certified(4.0, TEN, unit="claim"),
    Certified(8.0, TEN, unit="user", cap=2),
    Basic(1.0, TEN),
    Smoothed(TEN, 0.5),
]


@pytest.fixture(scope="module")
def claims() -> Claims:
    return SimulatedClaims(users=20, objects=6).claims(rng=seeded(1))


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


class Looking(Basic):
    """Basic, but it looks into a ledger when it draws, and may fail then."""

    book: Ledger
    seen: list[list[str]]
    fails: bool

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        self.seen.append([entry.status for entry in self.book.entries()])
        if self.fails:
            raise KeyboardInterrupt
        return super().draw(claims, rng=rng, engine=engine)


def looking(book: Ledger, *, fails: bool = False) -> Looking:
    parameters = Looking(1.0, TEN)
    for name, value in (("book", book), ("seen", []), ("fails", fails)):
        object.__setattr__(parameters, name, value)
    return parameters


COMING_AND_GOING = [
    Certified(1.0, TEN, unit="claim", adjacency="add-remove", objects=("a", "b")),
    Certified(1.0, TEN, unit="user", cap=2, adjacency="add-remove", objects=("a", "b")),
    Certified(1.0, TEN, unit="user", cap=2, adjacency="add-remove", pooled=True),
]
FEW: dict[str, tuple[list[str], list[str], list[float]]] = {
    "none": ([], [], []),
    "one": (["a"], ["u"], [3.0]),
    "infinite": (["a"], ["u"], [float("inf")]),
}


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("parameters", COMING_AND_GOING)
def test_where_claims_come_and_go_none_and_infinite_ones_are_released_too(
    book: Ledger, parameters: Certified, few: str
) -> None:
    claims = Claims.from_columns(*FEW[few], if_any=True, saturate=True)
    released = release(claims, parameters, ledger=book, dataset="d")
    assert released.objects.to_list() == (["all objects"] if parameters.pooled else ["a", "b"])
    assert len(released) == 30 * len(released.objects)
    assert [entry.status for entry in book.entries()] == ["released"]


@pytest.mark.parametrize("parameters", METHODS)
def test_where_the_number_of_claims_is_public_none_are_refused(
    book: Ledger, parameters: ReleaseMethod
) -> None:
    with pytest.raises(ParameterError, match="there are no claims"):
        release(Claims.from_columns([], [], [], if_any=True), parameters, ledger=book, dataset="d")
    assert book.entries() == []


def test_it_is_the_public_name() -> None:
    assert crowdveil.release is release


@pytest.mark.parametrize("parameters", METHODS)
def test_it_charges_what_it_promises(claims: Claims, book: Ledger, parameters: ReleaseMethod) -> None:
    released = release(claims, parameters, ledger=book, dataset="d")
    (entry,) = book.entries()
    assert isinstance(released.promise, Guarantee)
    assert NO_ACCOUNT not in released.promise.assumptions
    assert (entry.dataset, entry.method, entry.status) == ("d", parameters.name, "released")
    assert entry.parameters == parameters.to_dict()
    assert (float(entry.epsilon or 0), entry.scope) == (released.promise.epsilon, released.promise.scope)
    assert entry.claims_of_a_user == (2 if released.promise.unit == "user" else 6)


def test_the_charge_is_on_record_before_the_draw_and_complete_after_it(claims: Claims, book: Ledger) -> None:
    parameters = looking(book)
    release(claims, parameters, ledger=str(book.path), dataset="d")
    assert parameters.seen == [["charged, not released"]]
    assert [entry.status for entry in book.entries()] == ["released"]


def test_what_a_budget_cannot_hold_is_not_drawn(claims: Claims, book: Ledger) -> None:
    parameters = looking(book)
    release(claims, parameters, ledger=book.path, dataset="d", budget=1.5)
    with pytest.raises(BudgetExceeded):
        release(claims, parameters, ledger=book, dataset="d")
    assert len(parameters.seen) == len(book.entries()) == 1


def test_a_draw_that_fails_stays_charged(claims: Claims, book: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        release(claims, looking(book, fails=True), ledger=book, dataset="d")
    assert [entry.status for entry in book.entries()] == ["charged, not released"]


def test_a_seeded_release_is_recorded_as_not_private(claims: Claims, book: Ledger) -> None:
    assert release(claims, METHODS[0], ledger=book, dataset="d", rng=seeded(1)).promise is SEEDED
    assert [entry.privacy for entry in book.entries()] == ["not private (seeded)"]


def test_what_is_refused_is_not_charged(claims: Claims, book: Ledger) -> None:
    unlisted = Certified(4.0, TEN, unit="claim", adjacency="add-remove")
    with pytest.raises(ParameterError, match="listed"):
        release(claims, unlisted, ledger=book, dataset="d")
    with pytest.raises(ParameterError, match="dataset="):
        release(claims, METHODS[0], ledger=book)
    for more in ({"dataset": "d"}, {"budget": 1.0}):
        with pytest.raises(ParameterError, match="ledger="):
            release(claims, METHODS[0], **more)
    assert book.entries() == []


@pytest.mark.parametrize("parameters", METHODS)
def test_without_a_ledger_the_promise_says_so_and_its_certificate_is_computed_again(
    claims: Claims, parameters: ReleaseMethod
) -> None:
    released = release(claims, parameters)
    assert isinstance(released.promise, Guarantee)
    assert released.promise.assumptions[-1] == NO_ACCOUNT
    text = json.dumps(of_release(released).to_dict())
    assert NO_ACCOUNT in text
    checked = read_text(text, "certificate.json")
    assert checked.recomputed
    bare = replace(released.promise, assumptions=())
    assert isinstance(checked.certificate.promise, Guarantee)
    assert replace(checked.certificate.promise, assumptions=()) == bare


def test_what_promises_nothing_has_no_account_to_keep(claims: Claims) -> None:
    assert release(claims, METHODS[0], rng=seeded(1)).promise is SEEDED
    assert not isinstance(release(claims, PrisCrowd()).promise, Guarantee)
