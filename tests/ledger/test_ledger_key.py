"""The key beside the ledger: made once, for its owner alone, and never replaced.

Run as a script, this file is one of the processes that race: `test_ledger_key.py LEDGER START`.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crowdveil.errors import CrowdveilError, InputError, OutputError
from crowdveil.ledger import Ledger
from crowdveil.ledger.key import key_path

RACERS = 6


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state" / "ledger.sqlite3")


def test_a_key_is_made_at_first_use_and_kept(book: Ledger) -> None:
    first = book.key()
    path = book.path.with_name("ledger.sqlite3.key")
    before = path.read_bytes()
    assert book.key().public == first.public == Ledger(book.path).key().public
    assert path.read_bytes() == before
    assert [path.name for path in book.path.parent.iterdir()] == [path.name]  # no draft, and no ledger yet


def test_only_the_owner_can_open_it(book: Ledger) -> None:
    old = os.umask(0)
    try:
        book.key()
    finally:
        os.umask(old)
    assert stat.S_IMODE(key_path(book.path).stat().st_mode) == 0o600
    assert stat.S_IMODE(book.path.parent.stat().st_mode) == 0o700


def test_ledgers_have_keys_of_their_own(tmp_path: Path) -> None:
    """Names that differ in their ending only, too."""
    keys = {Ledger(tmp_path / name).key().public for name in ("a.sqlite3", "a.db", "a", "a.key")}
    assert len(keys) == 4


def test_a_ledger_reached_by_a_link_has_the_one_key(tmp_path: Path, book: Ledger) -> None:
    key = book.key()
    book.path.touch()
    link = tmp_path / "link.sqlite3"
    link.symlink_to(book.path)
    assert Ledger(link).key().public == key.public
    assert not link.with_name("link.sqlite3.key").exists()


def test_processes_that_race_agree_on_one_key(book: Ledger) -> None:
    """All of them find no key at first: each waits for the same moment."""
    start = time.time() + 3.0
    command = [sys.executable, "-W", "error", __file__, str(book.path), str(start)]
    racers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(RACERS)
    ]
    told = [racer.communicate(timeout=120) for racer in racers]
    assert [errors for _, errors in told] == [""] * RACERS
    assert {out.strip() for out, _ in told} == {book.key().public.text}
    assert [path.name for path in book.path.parent.iterdir()] == ["ledger.sqlite3.key"]


def test_who_comes_second_takes_the_key_that_is_there(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is quicker between the look and the link."""
    from crowdveil.ledger import key as module

    make = module._make
    quicker: list[bytes] = []

    def late(path: Path) -> None:
        make(path)
        quicker.append(path.read_bytes())
        make(path)

    monkeypatch.setattr(module, "_make", late)
    found = book.key()
    assert key_path(book.path).read_bytes() == quicker[0] == found.to_file()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "folder", "dangling", "unreadable", "open"])
def test_a_key_that_cannot_be_used_is_refused_and_left_alone(book: Ledger, damage: str) -> None:
    secret = book.key().to_file()
    path = key_path(book.path)
    spoilt = {"cut": secret[:-40], "empty": b"", "text": b"not a key"}.get(damage, secret)
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "dangling":
        path.symlink_to(path.with_name("nowhere"))
    else:
        path.write_bytes(spoilt)
        path.chmod({"unreadable": 0o000, "open": 0o640}.get(damage, 0o600))
    if damage == "unreadable" and os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    with pytest.raises(InputError) as refused:
        book.key()
    words = str(refused.value)
    assert words.startswith(f"{path}: ")
    assert words.isprintable()
    assert ("chmod 600" if damage == "open" else "restore it from a copy") in words
    assert secret.splitlines()[1].decode()[24:] not in words
    if spoilt and path.is_file():
        path.chmod(0o600)
        assert path.read_bytes() == spoilt


def test_where_nothing_can_be_written_there_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CrowdveilError):
        Ledger(tmp_path / "file" / "ledger.sqlite3").key()


def test_a_folder_that_takes_no_links_is_an_error_and_no_draft_stays(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OutputError, match="the ledger's key cannot be written"):
        book.key()
    assert list(book.path.parent.iterdir()) == []


if __name__ == "__main__":
    time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
    print(Ledger(sys.argv[1]).key().public.text)
