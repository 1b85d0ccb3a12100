"""The ledger in an SQLite file: each call is one transaction, on the disk before the call returns."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from crowdveil.accounting.events import Event, event_of
from crowdveil.accounting.parameters import check_whole
from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.guarantee import Guarantee, Promise, Scope
from crowdveil.ledger.budgets import admit, standing_budget
from crowdveil.ledger.entries import Budget, Charge, Total, decimal
from crowdveil.ledger.key import signing_key
from crowdveil.ledger.names import checked, known_as, named_alike
from crowdveil.ledger.schema import APPLICATION, LEDGER_VERSION, schema
from crowdveil.ledger.totals import total_of
from crowdveil.signing import SigningKey

PATIENCE = 60.0  # seconds to wait for other processes that are charging
_OWN_COLUMNS = ("time", "dataset", "method", "kind", "epsilon", "delta", "seeded")


class Ledger:
    """The ledger in a file; the first charge creates the file.

    >>> from tempfile import TemporaryDirectory
    >>> from crowdveil import Guarantee
    >>> promise = Guarantee(0.5, 0.0, unit="claim", adjacency="replace-one", trust="central")
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/ledger.sqlite3")
    ...     charge = ledger.charge("survey", promise, method="basic", seeded=False, budget=2.0)
    ...     ledger.totals("survey")[0].left
    Decimal('1.5')

    Every call opens the file, runs one transaction and closes the file, so a ledger can be shared by threads,
    passed to other processes and forked. Processes that charge at the same time wait for each other.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def charge(
        self,
        dataset: str,
        promise: Promise,
        *,
        method: str,
        seeded: bool,
        parameters: Mapping[str, Any] | None = None,
        events: Sequence[Event] = (),
        claims_of_a_user: int | None = None,
        budget: float | None = None,
    ) -> Charge:
        """Record the cost of a release before its noise is drawn; it is on the disk when this returns.

        `parameters` (plain JSON data) and `events` are the basis of the cost and hold public numbers only;
        `claims_of_a_user` is a public bound on the claims (or cells) of a user that the release uses.
        The first `budget` of a dataset declares it in the scope of this promise and cannot be changed; it
        counts every release by what that costs in its scope. Raises `BudgetExceeded` if the charge does not
        fit or nothing bounds its cost there, and `ParameterError` if the budget differs from the declared
        one; then nothing is written. A dataset is charged where the same name was, however it is spelled, or
        another path of the same file (`names.known_as`).
        """
        if claims_of_a_user is not None:
            check_whole(claims_of_a_user, "the number of claims of a user")
        new = replace(
            _new_charge(checked(dataset), promise, method=method, seeded=seeded),
            parameters=dict(parameters or {}),
            events=tuple(events),
            claims_of_a_user=claims_of_a_user,
        )
        with self._transaction(write=True) as db:
            new = replace(new, dataset=known_as(new.dataset, _read_datasets(db)))
            before, declared = _read_charges(db, new.dataset), _read_budgets(db).get(new.dataset)
            standing = standing_budget(declared, new, budget)
            if standing is not None and not seeded:
                admit(before, new, standing)
            if standing is not None and declared is None:
                limit = {"dataset": new.dataset, "time": new.time, "epsilon": standing.epsilon}
                _insert(db, "budgets", limit | asdict(standing.scope))
            row = {name: value for name, value in vars(new).items() if name in _OWN_COLUMNS}
            identity = _insert(db, "charges", row | (asdict(new.scope) if new.scope else {}))
            _insert(db, "details", {"charge": identity, **_details(new)})
            if claims_of_a_user is not None:
                _insert(db, "bounds", {"charge": identity, "claims_of_a_user": claims_of_a_user})
        return replace(new, id=identity)

    def completed(self, charge: Charge) -> None:
        """Record that the release of a charge was written; idempotent."""
        with self._transaction(write=True) as db:
            known = {entry.id: entry for entry in _read_charges(db, charge.dataset)}
            if charge.id not in known:
                raise ParameterError(f"{self.path}: has no charge {charge.id} of {charge.dataset!r}")
            if known[charge.id].released is None:
                _insert(db, "releases", {"charge": charge.id, "time": _now()})

    def key(self) -> SigningKey:
        """The key that signs what is published, kept beside the ledger and made at first use.

        Ask for it before a charge: a key that is damaged, or that others can read, is refused.
        """
        try:
            self._make_folders()
        except OSError as error:
            raise OutputError(f"{self.path}: the ledger cannot be written ({error.strerror})") from None
        return signing_key(self.path)

    def entries(self, dataset: str | None = None) -> list[Charge]:
        """All charges, or those of one dataset, in the order of their ids."""
        return self.statement(dataset)[1]

    def totals(self, dataset: str | None = None) -> list[Total]:
        """The total of each dataset, in the order of the first charges."""
        return self.statement(dataset)[0]

    def statement(self, dataset: str | None = None) -> tuple[list[Total], list[Charge]]:
        """Totals and their charges, read in one transaction; a missing file holds none."""
        name = None if dataset is None else checked(dataset)
        with self._reading() as db:
            if db is None:
                return [], []
            try:
                name = name and known_as(name, _read_datasets(db))
                charges, budgets = _read_charges(db, name, detailed=True), _read_budgets(db)
            except (ParameterError, TypeError, ValueError, RecursionError):
                raise InputError(f"{self.path}: parameters or events of an entry are damaged") from None
        by_dataset: dict[str, list[Charge]] = {}
        for charge in charges:
            by_dataset.setdefault(charge.dataset, []).append(charge)
        return [total_of(key, own, budgets.get(key)) for key, own in by_dataset.items()], charges

    def named_alike(self, dataset: str) -> str | None:
        """The dataset on record from which the name of a new one differs only by case, if there is one."""
        with self._reading() as db:
            return None if db is None else named_alike(checked(dataset), _read_datasets(db))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A transaction that changes nothing; None if nothing is recorded yet."""
        if not self._is_there():
            yield None
            return
        with self._transaction(write=False) as db:
            yield db if self._holds_a_ledger(db) else None

    def _is_there(self) -> bool:
        try:
            self.path.stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise InputError(f"{self.path}: the ledger cannot be read ({error.strerror})") from None
        return True

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One transaction, from the lock to the disk; any error rolls it back.

        synchronous = EXTRA also syncs the folder. Otherwise, after a power cut, the journal of a committed
        transaction could reappear and roll it back.
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
                if write:
                    self._bring_up_to_date(db)
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _plain_error(self.path, error) from None
        except InvalidOperation:
            raise InputError(f"{self.path}: an entry of this ledger is not a number") from None
        except OSError as error:
            raise OutputError(f"{self.path}: the ledger cannot be written ({error.strerror})") from None

    def _create(self) -> None:
        """Create an empty file, and missing folders, that only the owner can open."""
        self._make_folders()
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _make_folders(self) -> None:
        missing = [folder for folder in self.path.absolute().parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)

    def _bring_up_to_date(self, db: sqlite3.Connection) -> None:
        """Create the tables and triggers of an empty file, or those that an older version lacks."""
        present = schema(_version(db)) if self._holds_a_ledger(db) else {}
        missing = [statement for name, statement in schema().items() if name not in present]
        for statement in missing:
            db.execute(statement)
        if missing:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {LEDGER_VERSION}")

    def _holds_a_ledger(self, db: sqlite3.Connection) -> bool:
        """True for a ledger, False for an empty file; an error for anything else."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        version = _version(db)
        present = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))
        if not (application or version or present):
            return False
        if application != APPLICATION:
            raise InputError(f"{self.path}: is not a crowdveil ledger")
        if not 1 <= version <= LEDGER_VERSION:
            raise InputError(
                f"{self.path}: is a ledger of version {version}; "
                f"this crowdveil reads versions up to {LEDGER_VERSION}"
            )
        if present != schema(version):
            raise InputError(f"{self.path}: the rules of this ledger were changed; it cannot be relied on")
        count, last = db.execute("SELECT count(*), coalesce(max(id), 0) FROM charges").fetchone()
        given = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'charges'").fetchone()
        if not count == last == (given[0] if given else 0):
            raise InputError(f"{self.path}: entries of this ledger are missing; it cannot be relied on")
        return True


def _new_charge(dataset: str, promise: Promise, *, method: str, seeded: bool) -> Charge:
    epsilon = delta = scope = None
    if isinstance(promise, Guarantee):
        epsilon, delta = decimal(promise.epsilon), decimal(promise.delta)
        scope = promise.scope
    kind = promise.to_dict()["kind"]
    return Charge(0, _now(), dataset, method, kind, epsilon, delta, scope, seeded)


def _read_datasets(db: sqlite3.Connection) -> list[str]:
    """The names of all datasets, in the order of their first charges."""
    return [name for (name,) in db.execute("SELECT dataset FROM charges GROUP BY dataset ORDER BY min(id)")]


def _read_charges(db: sqlite3.Connection, dataset: str | None, *, detailed: bool = False) -> list[Charge]:
    """Charges in the order they were made; `detailed` ones with their parameters and events."""
    rows = db.execute(
        "SELECT charges.*, releases.time AS released FROM charges LEFT JOIN releases "
        "ON releases.charge = charges.id WHERE ?1 IS NULL OR dataset = ?1 ORDER BY id",
        (dataset,),
    )
    bounds = _read_bounds(db)
    details = _read_details(db, dataset) if detailed else {}
    return [_charge_of(row, bounds.get(row["id"]), *details.get(row["id"], ({}, ()))) for row in rows]


def _charge_of(
    row: sqlite3.Row, claims_of_a_user: int | None, parameters: Mapping[str, Any], events: tuple[Event, ...]
) -> Charge:
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
        parameters=parameters,
        events=events,
        claims_of_a_user=claims_of_a_user,
    )


def _details(charge: Charge) -> dict[str, str]:
    """The parameters and events of a charge, as strict JSON."""
    events = [event.to_dict() for event in charge.events]
    return {
        "parameters": json.dumps(charge.parameters, allow_nan=False),
        "events": json.dumps(events, allow_nan=False),
    }


def _read_details(
    db: sqlite3.Connection, dataset: str | None
) -> dict[int, tuple[dict[str, Any], tuple[Event, ...]]]:
    """Parameters and events by charge; ledgers of version 1 have none."""
    if _version(db) == 1:
        return {}
    rows = db.execute(
        "SELECT charge, parameters, events FROM details JOIN charges ON charges.id = details.charge "
        "WHERE ?1 IS NULL OR dataset = ?1",
        (dataset,),
    )
    return {
        charge: (json.loads(parameters), tuple(map(event_of, json.loads(events))))
        for charge, parameters, events in rows
    }


def _read_bounds(db: sqlite3.Connection) -> dict[int, int]:
    """Bounds on the claims of a user by charge; ledgers before version 3 have none."""
    return {} if _version(db) < 3 else dict(db.execute("SELECT charge, claims_of_a_user FROM bounds"))


def _version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)


def _read_budgets(db: sqlite3.Connection) -> dict[str, Budget]:
    rows = db.execute("SELECT dataset, epsilon, unit, adjacency, trust FROM budgets")
    return {dataset: Budget(Decimal(epsilon), Scope(*scope)) for dataset, epsilon, *scope in rows}


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    """Insert a row; its columns are constants of this module, decimal numbers are stored as text."""
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
