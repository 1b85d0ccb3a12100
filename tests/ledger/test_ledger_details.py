"""Parameters and events are kept with a charge, and ledgers of the version before stay readable."""

from __future__ import annotations

import shutil
import sqlite3
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from charging import claim, raw

from crowdveil.accounting import NoiseEvent, PrivateEvent, event_of, events_epsilon
from crowdveil.errors import InputError, ParameterError
from crowdveil.ledger import LEDGER_VERSION, Ledger
from crowdveil.ledger.schema import schema

VERSION_1 = Path(__file__).parent / "version1.sqlite3"  # written by crowdveil before events were kept
EVENTS = (
    NoiseEvent("discrete_laplace", Fraction(40, 17), 2),
    NoiseEvent("discrete_gaussian", 3.25, 1, 14),
    PrivateEvent(Fraction(1, 3), 1e-6),
    PrivateEvent(0.5),
)


def test_what_a_cost_was_computed_from_comes_back_as_it_was(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    charge = book.charge(
        "d", claim(1.0), method="certified", seeded=False, parameters={"range": [0, 10]}, events=EVENTS
    )
    (entry,) = book.entries()
    assert entry == charge
    assert entry.events == EVENTS
    assert entry.parameters == {"range": [0, 10]}
    # A total can be composed again, from the ledger alone.
    assert events_epsilon(entry.events[2:], 1e-6) == pytest.approx(1 / 3 + 0.5)
    kept = entry.to_dict()
    assert kept["events"][0] == {
        **{"kind": "discrete_laplace", "scale": "40/17"},
        **{"sensitivity": 2, "times": 1},
    }


def test_details_cannot_be_changed_or_removed(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    book.charge("d", claim(1.0), method="certified", seeded=False, events=EVENTS)
    with raw(book) as db:
        for change in (
            "UPDATE details SET events = '[]'",
            "DELETE FROM details",
            "INSERT OR REPLACE INTO details VALUES (1, '{}', '[]')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="only added to"):
                db.execute(change)


def test_a_ledger_of_the_version_before_is_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    shutil.copy(VERSION_1, path)
    before, book = path.read_bytes(), Ledger(path)
    old = book.entries()
    assert path.read_bytes() == before  # reading changes nothing
    assert [entry.method for entry in old] == ["certified", "smoothed", "priscrowd"]
    assert [entry.status for entry in old] == ["released", *["charged, not released"] * 2]
    assert all(entry.events == () and entry.parameters == {} for entry in old)
    new = book.charge("drugs", claim(1.0), method="certified", seeded=False, events=EVENTS[:1])
    assert book.entries() == [*old, new]
    drugs = next(total for total in book.totals() if total.dataset == "drugs")
    assert drugs.left == Decimal("0.5")
    with raw(book) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (LEDGER_VERSION,)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "cauchy", "scale": 1.0},
        {"kind": "laplace"},
        {"kind": "laplace", "scale": "1/0"},
        {"kind": "laplace", "scale": "much"},
        {"kind": "laplace", "scale": -1.0},
        {"kind": "private", "epsilon": 1.0, "more": 2},
        {"kind": "private", "epsilon": 1.0, "delta": 2.0},
    ],
)
def test_what_is_no_event_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        event_of(stored)


@pytest.mark.parametrize("events", ["5", "null", '["x"]', '[{"kind": "laplace", "scale": "1e9999999"}]'])
def test_damaged_details_are_told_with_their_file_and_stop_no_charge(tmp_path: Path, events: str) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    book.charge("d", claim(1.0), method="certified", seeded=False)
    with raw(book) as db:
        db.execute("DROP TRIGGER details_update")
        db.execute("UPDATE details SET events = ?", (events,))
        db.execute(schema()["details_update"])
    with pytest.raises(InputError, match=rf"{book.path}: parameters or events of an entry are damaged"):
        book.entries("d")
    assert book.entries("another") == []
    book.completed(book.charge("another", claim(1.0), method="certified", seeded=False))
    assert len(book.entries("another")) == 1
