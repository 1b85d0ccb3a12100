"""What was drawn for whom: a local SQLite file that is written before anything is sent.

It holds no name and no raw value. A person is a keyed hash of the name, and so is the name without case and
blanks, by which other spellings are known; the key is a secret of this file, and so are the tokens under
which people take part in open campaigns. Whoever loses the file and sends again draws fresh noise for the
same answers: keep it as long as the campaign lasts, and never use an older copy.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from unicodedata import normalize

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.client.memory_form import prepare
from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.ledger import default_path
from crowdveil.local.wire import Wire

PATIENCE = 60.0  # seconds to wait for other processes that are drawing
ACCEPTED = "accepted"
_CREATING = Lock()


@dataclass(frozen=True)
class Draft:
    """Somebody for whom a report is to be drawn.

    Parameters
    ----------
    person:
        The hash of the name.
    participant:
        The token.
    asked:
        The place, where what is asked depends on it.
    name:
        The hash of the folded name, which other spellings have in common.
    distinct:
        Whether people whose folded names are the same are known to be different ones.

    """

    person: bytes
    participant: str = field(repr=False)
    asked: Asked | None = None
    name: bytes = b""
    distinct: bool = True


@dataclass(frozen=True)
class Kept:
    """A report that was drawn, as JSON, and what became of it: None as long as nobody answered."""

    person: bytes
    wave: int
    participant: str = field(repr=False)
    key: str = field(repr=False)
    round: int | None
    report: str = field(repr=False)
    outcome: str | None


class Memory:
    """The reports that were drawn here; the first use creates the file, which only its owner can read.

    Every call opens the file, runs one transaction and closes it, so that several processes can share it:
    those that draw at the same time wait for each other.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = _default() if path is None else Path(path)
        self._secret: bytes | None = None

    def person(self, campaign: str, name: str) -> bytes:
        """The hash by which a person is known here, in one campaign."""
        return self._hash("person", campaign, name)[:16]

    def name(self, campaign: str, folded: str) -> bytes:
        """The hash of a folded name, in one campaign."""
        return self._hash("name", campaign, folded)[:16]

    def participant(self, campaign: str, name: str) -> str:
        """The token of a person in an open campaign; nobody can tell from it who that is."""
        return urlsafe_b64encode(self._hash("participant", campaign, name)).rstrip(b"=").decode()

    def hold(self, campaign_id: str, campaign: Campaign) -> None:
        """Note what a campaign asks when it is first met; `InputError` if that has changed since."""
        asked = {name: value for name, value in campaign.to_dict().items() if name != "guarantee"}
        document = hashlib.sha256(json.dumps(asked, sort_keys=True, allow_nan=False).encode()).digest()
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO campaigns VALUES (?, ?)", (campaign_id, document))
            row = db.execute("SELECT document FROM campaigns WHERE id = ?", (campaign_id,)).fetchone()
        if row["document"] != document:
            raise InputError(
                "the campaign is not what it was when reports were drawn for it: nothing is sent"
            )

    def recall(self, campaign: str, wave: int, people: Iterable[bytes]) -> dict[bytes, Kept]:
        """What was drawn for these people in a wave."""
        wanted = [(campaign, wave, person) for person in people]
        with self._transaction() as db:
            rows = [row for key in wanted if (row := db.execute(_ONE, key).fetchone()) is not None]
        return {row["person"]: _kept(row) for row in rows}

    def late(self, campaign: str, wave: int, people: Iterable[bytes]) -> list[Kept]:
        """What was drawn for these people in waves before this one, and never answered."""
        wanted = [(campaign, person, wave) for person in people]
        with self._transaction() as db:
            return [_kept(row) for key in wanted for row in db.execute(_LATE, key)]

    def taken(self, campaign: str, wave: int, drafts: Sequence[Draft]) -> set[bytes]:
        """For whom there is a report under another name, or will be one of an earlier draft."""
        with self._transaction() as db:
            refused = {each.person for each in drafts if _under_another_name(db, campaign, wave, each)}
        tokens, names = set[str](), set[bytes]()
        for draft in drafts:
            if draft.participant in tokens or (draft.name in names and not draft.distinct):
                refused.add(draft.person)
            if draft.person not in refused:
                tokens.add(draft.participant)
                names.add(draft.name)
        return refused

    def draw(
        self, campaign: str, wave: int, drafts: Sequence[Draft], drawn: Callable[[Draft], Wire]
    ) -> set[bytes]:
        """Draw the report of everybody who has none in this wave; they are on the disk when this returns.

        Nobody else draws meanwhile. If a draw fails, none of these is kept. Returns those for whom nothing
        was drawn, as there is a report under another name.
        """
        refused = set()
        with self._transaction() as db:
            for draft in drafts:
                if db.execute(_ONE, (campaign, wave, draft.person)).fetchone() is not None:
                    continue
                if _under_another_name(db, campaign, wave, draft):
                    refused.add(draft.person)
                    continue
                asked = (None, None) if draft.asked is None else (draft.asked.place, draft.asked.round)
                report = json.dumps(drawn(draft), allow_nan=False, separators=(",", ":"))
                db.execute(
                    "INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                    (
                        *(campaign, wave, draft.person, draft.name, draft.participant),
                        *(secrets.token_urlsafe(18), *asked, report),
                    ),
                )
        return refused

    def note(self, campaign: str, wave: int, outcomes: Mapping[bytes, str]) -> None:
        """Note what became of reports; one that was accepted stays accepted."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE reports SET outcome = ? WHERE campaign = ? AND wave = ? AND person = ? "
                "AND outcome IS NOT 'accepted'",
                [(outcome, campaign, wave, person) for person, outcome in outcomes.items()],
            )

    def unanswered(self, campaign: str) -> int:
        """How many reports of a campaign were drawn, and never answered."""
        with self._transaction() as db:
            row = db.execute(
                "SELECT count(*) FROM reports WHERE campaign = ? AND outcome IS NULL", (campaign,)
            ).fetchone()
        return int(row[0])

    def _hash(self, purpose: str, campaign: str, name: str) -> bytes:
        if self._secret is None:
            with self._transaction() as db:
                self._secret = bytes(db.execute("SELECT secret FROM secrets").fetchone()[0])
        message = json.dumps([purpose, campaign, normalize("NFC", name)]).encode()
        return hmac.new(self._secret, message, hashlib.sha256).digest()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, from the lock to the disk; any error rolls it back."""
        try:
            self._create()
            where = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE, isolation_level=None)) as db:
                db.row_factory = sqlite3.Row
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("BEGIN IMMEDIATE")
                prepare(self.path, db)
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _plain_error(self.path, error) from None
        except OSError as error:
            raise OutputError(f"{self.path}: the memory cannot be written ({error.strerror})") from None

    def _create(self) -> None:
        """An empty file, and missing folders, that only the owner can open.

        A file that is there is not opened: closing it would end the locks that other threads have on it.
        """
        with _CREATING:
            if not self.path.exists():
                missing = [folder for folder in self.path.absolute().parents if not folder.exists()]
                for folder in reversed(missing):
                    folder.mkdir(mode=0o700, exist_ok=True)
                with suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if os.name == "posix" and self.path.stat().st_mode & 0o077:
                raise InputError(f"{self.path}: others can read this memory: chmod 600 it, or take another")


_ONE = "SELECT * FROM reports WHERE campaign = ? AND wave = ? AND person = ?"
_LATE = "SELECT * FROM reports WHERE campaign = ? AND person = ? AND wave < ? AND outcome IS NULL"
_OTHERS = "SELECT 1 FROM reports WHERE campaign = ? AND wave = ? AND person <> ? AND "


def _under_another_name(db: sqlite3.Connection, campaign: str, wave: int, draft: Draft) -> bool:
    """Whether a report was drawn for this token, or for a name that is written alike, as somebody else's."""
    others = campaign, wave, draft.person
    if db.execute(_OTHERS + "participant = ?", (*others, draft.participant)).fetchone() is not None:
        return True
    return (
        not draft.distinct and db.execute(_OTHERS + "name = ?", (*others, draft.name)).fetchone() is not None
    )


def _kept(row: sqlite3.Row) -> Kept:
    return Kept(
        *(row[name] for name in ("person", "wave", "participant", "key", "round", "report", "outcome"))
    )


def _default() -> Path:
    try:
        return default_path().with_name("memory.sqlite3")
    except ParameterError:
        raise ParameterError("there is no home folder for the memory: name one with --memory FILE") from None


def _plain_error(path: Path, error: sqlite3.Error) -> CrowdveilError:
    """An error of SQLite in our words; its own may quote what is in the file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OutputError(f"{path}: others have been using this memory for {PATIENCE:.0f} s; try again")
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{path}: is not a memory of reports")
    if code == sqlite3.SQLITE_CORRUPT:
        return InputError(f"{path}: this memory is damaged: without it noise would be drawn anew; restore it")
    name = getattr(error, "sqlite_errorname", "SQLite failed")
    return OutputError(f"{path}: the memory cannot be written ({name})")
