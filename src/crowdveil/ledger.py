"""The ledger: what was spent on each dataset or campaign, written down before noise is drawn.

A ledger is one SQLite file. Charges are only ever added: the database itself refuses to change or remove
them, and a charge whose release was never written stays charged. A charge is durable before `charge`
returns, so whatever kills the process afterwards, the ledger never shows less than what was released.

Totals are sums (basic composition) of decimal numbers, exact to the last digit, one for each scope (unit,
adjacency, trust): epsilons of different scopes cannot be added. A release without a guarantee makes a
dataset's total unbounded; a seeded run is recorded as not private and adds nothing.

No private value is kept here, and no hash of the data: a dataset is known by its name or its path.
"""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation
from math import isfinite
from pathlib import Path
from typing import Any

from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.guarantee import Guarantee, Promise

LEDGER_VERSION = 1
PATIENCE = 60.0  # seconds to wait for other processes that are charging
_APPLICATION = 0x43564C47  # marks the file as ours: "CVLG"
_EXACT = Context(prec=1000)  # enough for the sum of any two doubles: nothing is ever rounded

_TABLES = {
    # table: (its key, its columns)
    "budgets": (
        "dataset",
        """dataset TEXT PRIMARY KEY NOT NULL, time TEXT NOT NULL, epsilon TEXT NOT NULL,
        unit TEXT NOT NULL, adjacency TEXT NOT NULL, trust TEXT NOT NULL,
        CHECK (epsilon NOT GLOB '*[^0-9.eE+-]*' AND CAST(epsilon AS REAL) > 0)""",
    ),
    "charges": (
        "id",
        """id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, dataset TEXT NOT NULL,
        method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT,
        unit TEXT, adjacency TEXT, trust TEXT, seeded INTEGER NOT NULL CHECK (seeded IN (0, 1)),
        CHECK ((kind = 'differential privacy') = (epsilon IS NOT NULL)),
        CHECK ((epsilon IS NULL) = (delta IS NULL) AND (epsilon IS NULL) = (unit IS NULL)),
        CHECK ((epsilon IS NULL) = (adjacency IS NULL) AND (epsilon IS NULL) = (trust IS NULL)),
        CHECK (epsilon NOT GLOB '*[^0-9.eE+-]*' AND CAST(epsilon AS REAL) >= 0),
        CHECK (delta NOT GLOB '*[^0-9.eE+-]*' AND CAST(delta AS REAL) >= 0)""",
    ),
    "releases": ("charge", "charge INTEGER PRIMARY KEY NOT NULL REFERENCES charges (id), time TEXT NOT NULL"),
}
_OWN_COLUMNS = ("time", "dataset", "method", "kind", "epsilon", "delta", "seeded")


def _schema() -> dict[str, str]:
    """Every table and every rule of the file, by name.

    INSERT OR REPLACE removes rows without asking the rule against DELETE, so it has a rule of its own.
    """
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    made = {}
    for table, (key, columns) in _TABLES.items():
        made[table] = f"CREATE TABLE {table} ({columns})"
        for change in ("update", "delete"):
            name = f"{table}_{change}"
            made[name] = f"CREATE TRIGGER {name} BEFORE {change.upper()} ON {table} {refuse}"
        there = f"(SELECT 1 FROM {table} WHERE {key} = NEW.{key})"  # noqa: S608, both are named above
        made[f"{table}_replace"] = (
            f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN EXISTS {there} {refuse}"
        )
    return made


class BudgetExceeded(ParameterError):  # noqa: N818, it reads as what happened
    """A charge does not fit what is left of a dataset's budget. Nothing was charged."""


@dataclass(frozen=True)
class Scope:
    """What an epsilon counts: epsilons of different scopes cannot be added."""

    unit: str
    adjacency: str
    trust: str

    def __str__(self) -> str:
        return f"each {self.unit}, {self.adjacency}, {self.trust}"


@dataclass(frozen=True)
class Charge:
    """One entry: what a release was to cost, and when it was written, if it was."""

    id: int
    time: str  # UTC
    dataset: str
    method: str
    kind: str  # of promise: "differential privacy", "plausible deniability" or "none"
    epsilon: Decimal | None  # None unless the promise is differential privacy
    delta: Decimal | None
    scope: Scope | None
    seeded: bool
    released: str | None = None  # UTC

    @property
    def privacy(self) -> str:
        """What the entry means for privacy, in two or three words."""
        if self.seeded:
            return "not private (seeded)"
        return "private" if self.scope else "no guarantee"

    @property
    def status(self) -> str:
        """Whether the release was written; a charge is never given back."""
        if self.released:
            return "released"
        return "recorded, not released" if self.seeded else "charged, not released"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self, dict_factory=_floats), "privacy": self.privacy, "status": self.status}


@dataclass(frozen=True)
class Budget:
    """The most that may be spent on a dataset, in one scope."""

    epsilon: Decimal
    scope: Scope


@dataclass(frozen=True)
class Spending:
    """The sum of a dataset's private charges in one scope."""

    scope: Scope
    epsilon: Decimal
    delta: Decimal
    charges: int


@dataclass(frozen=True)
class Total:
    """Where a dataset stands."""

    dataset: str
    spent: tuple[Spending, ...]  # one for each scope, in the order of their first charge
    budget: Budget | None
    without_guarantee: int  # releases that promise no differential privacy
    seeded: int  # runs that are not private; they add nothing
    not_released: int  # charges, still charged, of which no release was written

    @property
    def unbounded(self) -> bool:
        """Whether no epsilon bounds what was released."""
        return self.without_guarantee > 0 or any(spending.delta >= 1 for spending in self.spent)

    @property
    def left(self) -> Decimal | None:
        """What remains of the budget; None without one."""
        if self.budget is None:
            return None
        return _EXACT.subtract(self.budget.epsilon, self.of(self.budget.scope).epsilon)

    def of(self, scope: Scope) -> Spending:
        """What was spent in a scope, perhaps nothing."""
        found = [spending for spending in self.spent if spending.scope == scope]
        return found[0] if found else Spending(scope, Decimal(0), Decimal(0), 0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        left = None if self.left is None else float(self.left)
        return {**asdict(self, dict_factory=_floats), "left": left, "unbounded": self.unbounded}


def default_path() -> Path:
    """The ledger in the user's state folder: $XDG_STATE_HOME or ~/.local/state."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise ParameterError(
                "there is no home folder for the ledger: name one with --ledger FILE"
            ) from None
    return state / "crowdveil" / "ledger.sqlite3"


def dataset_key(name: str | None, source: str) -> str:
    """How a ledger knows a dataset: by its name or, without one, by the input's real path."""
    if name is not None:
        return _checked(name)
    if source == "-":
        raise ParameterError(
            "standard input has no path to keep account by: name the data with --dataset NAME"
        )
    return _checked(os.path.realpath(source))


class Ledger:
    """The ledger in a file. Nothing is opened or created before the first charge.

    Every call opens the file, does one transaction and closes it, so that a ledger can be shared by
    threads, passed to other processes and forked. Processes that charge at once wait for each other.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def charge(
        self, dataset: str, promise: Promise, *, method: str, seeded: bool, budget: float | None = None
    ) -> Charge:
        """Write down what a release will cost, before its noise is drawn; durable when this returns.

        The first `budget` that is given declares it, in the scope of this promise, and stands. Raises
        `BudgetExceeded` if the charge does not fit, `ParameterError` if the budget differs from the one that
        stands or does not count what this promise counts; then nothing at all is written.
        """
        new = _charge(_checked(dataset), promise, method=method, seeded=seeded)
        with self._transaction(write=True) as db:
            before = _total(new.dataset, _charges(db, new.dataset), _budgets(db).get(new.dataset))
            standing = _standing(before, new, budget)
            if standing is not None and not seeded:
                _admit(before, new, standing)
            if standing is not None and before.budget is None:
                declared = {"dataset": new.dataset, "time": new.time, "epsilon": standing.epsilon}
                _insert(db, "budgets", declared | asdict(standing.scope))
            row = {name: value for name, value in vars(new).items() if name in _OWN_COLUMNS}
            identity = _insert(db, "charges", row | (asdict(new.scope) if new.scope else {}))
        return replace(new, id=identity)

    def completed(self, charge: Charge) -> None:
        """Note that the release of a charge was written. Saying it twice changes nothing."""
        with self._transaction(write=True) as db:
            known = {entry.id: entry for entry in _charges(db, charge.dataset)}
            if charge.id not in known:
                raise ParameterError(f"{self.path}: has no charge {charge.id} of {charge.dataset!r}")
            if known[charge.id].released is None:
                _insert(db, "releases", {"charge": charge.id, "time": _now()})

    def entries(self, dataset: str | None = None) -> list[Charge]:
        """All charges, or those of one dataset, in the order they were made."""
        return self.statement(dataset)[1]

    def totals(self, dataset: str | None = None) -> list[Total]:
        """Where each dataset stands, in the order of their first charges."""
        return self.statement(dataset)[0]

    def statement(self, dataset: str | None = None) -> tuple[list[Total], list[Charge]]:
        """Totals and the charges they are made of, read at one moment; a missing file holds none."""
        name = None if dataset is None else _checked(dataset)
        try:
            self.path.stat()
        except FileNotFoundError:
            return [], []
        except OSError as error:
            raise InputError(f"{self.path}: the ledger cannot be read ({error.strerror})") from None
        with self._transaction(write=False) as db:
            if not self._holds_a_ledger(db):
                return [], []
            charges, budgets = _charges(db, name), _budgets(db)
        by_dataset: dict[str, list[Charge]] = {}
        for charge in charges:
            by_dataset.setdefault(charge.dataset, []).append(charge)
        return [_total(key, own, budgets.get(key)) for key, own in by_dataset.items()], charges

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One transaction, from the lock to the disk; whatever goes wrong inside undoes all of it.

        synchronous = EXTRA also syncs the folder, without which a power cut could bring back the journal of
        a finished transaction and undo it.
        """
        try:
            if write:
                self._create()
            where = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE, isolation_level=None)) as db:
                db.row_factory = sqlite3.Row
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                if write and not self._holds_a_ledger(db):
                    for statement in _schema().values():
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    db.execute(f"PRAGMA user_version = {LEDGER_VERSION}")
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _plain_error(self.path, error) from None
        except InvalidOperation:
            raise InputError(f"{self.path}: an entry of this ledger is not a number") from None
        except OSError as error:
            raise OutputError(f"{self.path}: the ledger cannot be written ({error.strerror})") from None

    def _create(self) -> None:
        """An empty file that only its owner can open, in a folder that only its owner can open."""
        missing = [folder for folder in self.path.absolute().parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _holds_a_ledger(self, db: sqlite3.Connection) -> bool:
        """True for a ledger, False for an empty file; an error for anything else."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        found = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))
        if not (application or version or found):
            return False
        if application != _APPLICATION:
            raise InputError(f"{self.path}: is not a crowdveil ledger")
        if version != LEDGER_VERSION:
            raise InputError(
                f"{self.path}: is a ledger of version {version}; "
                f"this crowdveil reads version {LEDGER_VERSION}"
            )
        if found != _schema():
            raise InputError(f"{self.path}: the rules of this ledger were changed; it cannot be relied on")
        count, last = db.execute("SELECT count(*), coalesce(max(id), 0) FROM charges").fetchone()
        given = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'charges'").fetchone()
        if not count == last == (given[0] if given else 0):
            raise InputError(f"{self.path}: entries of this ledger are missing; it cannot be relied on")
        return True


def _charge(dataset: str, promise: Promise, *, method: str, seeded: bool) -> Charge:
    epsilon = delta = scope = None
    if isinstance(promise, Guarantee):
        epsilon, delta = _decimal(promise.epsilon), _decimal(promise.delta)
        scope = Scope(promise.unit, promise.adjacency, promise.trust)
    kind = promise.to_dict()["kind"]
    return Charge(0, _now(), dataset, method, kind, epsilon, delta, scope, seeded)


def _standing(before: Total, new: Charge, budget: float | None) -> Budget | None:
    """The budget that holds for a new charge: the one declared already, or the one given now."""
    if budget is None:
        return before.budget
    if not (isfinite(budget) and budget > 0):
        raise ParameterError(f"the budget must be a number above 0, not {budget}")
    if new.scope is None:
        raise ParameterError("a budget counts epsilon, and this release promises none: leave --budget out")
    wanted = Budget(_decimal(budget), new.scope)
    if before.budget is None:
        for spending in before.spent:
            if spending.scope != new.scope:
                raise ParameterError(
                    f"{before.dataset!r} was charged for {spending.scope} before, which a budget for "
                    f"{new.scope} would not count: declare it under another --dataset"
                )
        return wanted
    if before.budget != wanted:
        raise ParameterError(
            f"the budget of {before.dataset!r} stands at epsilon {plain(before.budget.epsilon)} for "
            f"{before.budget.scope}; it cannot be changed to {plain(wanted.epsilon)} for {wanted.scope}"
        )
    return wanted


def _admit(before: Total, new: Charge, budget: Budget) -> None:
    """Refuse a charge that a budget cannot hold."""
    name = f"the budget of {before.dataset!r}, epsilon {plain(budget.epsilon)} for {budget.scope},"
    if new.scope is None or new.epsilon is None or new.delta is None:
        raise BudgetExceeded(f"{name} cannot hold a release without a differential privacy guarantee")
    if before.without_guarantee:
        raise BudgetExceeded(f"{name} is void: there was a release without a differential privacy guarantee")
    if new.scope != budget.scope:
        raise ParameterError(f"{name} does not count a release that protects {new.scope}")
    spent = before.of(budget.scope)
    if _EXACT.add(spent.epsilon, new.epsilon) > budget.epsilon:
        raise BudgetExceeded(
            f"{name} would be exceeded: {plain(spent.epsilon)} is spent and this release costs "
            f"{plain(new.epsilon)}"
        )
    if _EXACT.add(spent.delta, new.delta) >= 1:
        raise BudgetExceeded(f"{name} would be void: the deltas would add up to 1")


def _total(dataset: str, charges: list[Charge], budget: Budget | None) -> Total:
    spent: dict[Scope, Spending] = {}
    for charge in charges:
        if charge.seeded or charge.scope is None or charge.epsilon is None or charge.delta is None:
            continue
        old = spent.get(charge.scope, Spending(charge.scope, Decimal(0), Decimal(0), 0))
        spent[charge.scope] = Spending(
            charge.scope,
            _EXACT.add(old.epsilon, charge.epsilon),
            _EXACT.add(old.delta, charge.delta),
            old.charges + 1,
        )
    return Total(
        dataset=dataset,
        spent=tuple(spent.values()),
        budget=budget,
        without_guarantee=sum(charge.scope is None and not charge.seeded for charge in charges),
        seeded=sum(charge.seeded for charge in charges),
        not_released=sum(charge.released is None and not charge.seeded for charge in charges),
    )


def _charges(db: sqlite3.Connection, dataset: str | None) -> list[Charge]:
    rows = db.execute(
        "SELECT charges.*, releases.time AS released FROM charges LEFT JOIN releases "
        "ON releases.charge = charges.id WHERE ?1 IS NULL OR dataset = ?1 ORDER BY id",
        (dataset,),
    )
    return [_entry(row) for row in rows]


def _entry(row: sqlite3.Row) -> Charge:
    private = row["epsilon"] is not None
    return Charge(
        id=row["id"],
        time=row["time"],
        dataset=row["dataset"],
        method=row["method"],
        kind=row["kind"],
        epsilon=Decimal(row["epsilon"]) if private else None,
        delta=Decimal(row["delta"]) if private else None,
        scope=Scope(row["unit"], row["adjacency"], row["trust"]) if private else None,
        seeded=bool(row["seeded"]),
        released=row["released"],
    )


def _budgets(db: sqlite3.Connection) -> dict[str, Budget]:
    rows = db.execute("SELECT dataset, epsilon, unit, adjacency, trust FROM budgets")
    return {dataset: Budget(Decimal(epsilon), Scope(*scope)) for dataset, epsilon, *scope in rows}


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    """Add a row of which the columns are ours; numbers are kept as their decimal digits."""
    columns, places = ", ".join(row), ", ".join("?" * len(row))
    values = [str(value) if isinstance(value, Decimal) else value for value in row.values()]
    cursor = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)  # noqa: S608
    return cursor.lastrowid or 0


def _plain_error(path: Path, error: sqlite3.Error) -> CrowdveilError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte; the rest are finer distinctions
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OutputError(f"{path}: the ledger is in use by another process; try again")
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{path}: is not a crowdveil ledger")
    if code == sqlite3.SQLITE_CORRUPT:
        return InputError(f"{path}: the ledger is damaged; restore it from a copy")
    return OutputError(f"{path}: the ledger cannot be used ({error})")


def _checked(dataset: str) -> str:
    """A dataset's name as it is compared: NFC, on one line, not blank."""
    if not dataset.strip() or not dataset.isprintable():
        raise ParameterError("a dataset needs a name of printable characters: --dataset NAME")
    return unicodedata.normalize("NFC", dataset)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _decimal(number: float) -> Decimal:
    """The number that its decimal digits say: 0.1 is a tenth."""
    return Decimal(repr(float(number)))


def _floats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in pairs}


def plain(number: Decimal) -> str:
    """A decimal number with all its digits and no trailing zeros."""
    short = _EXACT.normalize(number)
    return f"{short:f}" if -5 < short.adjusted() < 16 else f"{short:e}"
