"""The memory: what was drawn stays, nobody else reads it, and it holds neither names nor values."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import pytest
from sending import ASKED, remembered

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.client.memory import Draft, Memory
from crowdveil.errors import InputError, OutputError
from crowdveil.local.wire import Wire

CAMPAIGN = Campaign.asked({"title": "t", **ASKED["sensing"]})


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    held = Memory(tmp_path / "folder" / "memory.sqlite3")
    held.hold("one", CAMPAIGN)
    return held


def never(_: Draft) -> Wire:
    raise AssertionError("drawn twice")


def test_only_the_owner_can_read_it(memory: Memory) -> None:
    assert stat.S_IMODE(memory.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.path.parent.stat().st_mode) == 0o700


def test_a_memory_that_others_can_read_is_refused(memory: Memory) -> None:
    memory.path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        memory.unanswered("one")


def test_it_lies_in_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Memory().path == tmp_path / "crowdveil" / "memory.sqlite3"


def test_what_was_drawn_is_not_drawn_again(memory: Memory) -> None:
    ann = memory.person("one", "ann")
    memory.draw("one", 1, [Draft(ann, "token", Asked(3, 1))], lambda _: {"payload": [1]})
    memory.draw("one", 1, [Draft(ann, "other token")], never)
    (kept,) = memory.recall("one", 1, [ann, b"nobody"]).values()
    assert (kept.participant, kept.round, kept.report, kept.outcome) == ("token", 1, '{"payload":[1]}', None)
    assert memory.unanswered("one") == 1
    memory.note("one", 1, {ann: "accepted"})
    memory.note("one", 1, {ann: "reported"})
    assert memory.recall("one", 1, [ann])[ann].outcome == "accepted"
    assert memory.unanswered("one") == 0
    assert memory.recall("one", 2, [ann]) == {}


def test_a_token_has_one_report_in_a_wave_under_one_name(memory: Memory) -> None:
    ann, bob = Draft(b"ann", "token"), Draft(b"bob", "token")
    assert memory.taken("one", 1, [ann, bob]) == {b"bob"}
    assert memory.draw("one", 1, [ann], lambda _: {}) == set()
    assert memory.taken("one", 1, [bob]) == memory.draw("one", 1, [bob], never) == {b"bob"}
    assert memory.draw("one", 2, [bob], lambda _: {}) == set()
    memory.draw("one", 1, [Draft(b"cid", "other")], lambda _: {})
    with closing(sqlite3.connect(memory.path)) as db, pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        db.execute("UPDATE reports SET participant = 'token'")


def test_a_name_that_is_written_alike_has_one_report_unless_it_is_distinct(memory: Memory) -> None:
    ann = Draft(b"ann", "token 1", name=b"folded", distinct=False)
    other = replace(ann, person=b"Ann", participant="token 2")
    assert memory.taken("one", 1, [ann, other]) == {b"Ann"}
    assert memory.draw("one", 1, [ann, other], lambda _: {}) == {b"Ann"}
    assert memory.taken("one", 1, [replace(other, distinct=True)]) == set()
    assert memory.draw("one", 1, [replace(other, distinct=True)], lambda _: {}) == set()
    assert len(remembered(memory.path)) == 2


def test_if_one_draw_fails_none_is_kept(memory: Memory) -> None:
    drafts = [Draft(memory.person("one", name), name) for name in ("ann", "bob")]

    def draw(draft: Draft) -> Wire:
        if draft is drafts[1]:
            raise InputError("no")
        return {}

    with pytest.raises(InputError, match="no"):
        memory.draw("one", 1, drafts, draw)
    assert remembered(memory.path) == []


def test_threads_that_draw_at_once_draw_once(memory: Memory) -> None:
    people = [memory.person("one", str(number)) for number in range(20)]
    gate, drawn = Barrier(4), list[bytes]()

    def work() -> None:
        own = Memory(memory.path)
        gate.wait()
        for person in people:
            own.draw("one", 1, [Draft(person, person.hex())], lambda draft: drawn.append(draft.person) or {})  # type: ignore[func-returns-value]

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(people)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE reports SET report = 'other'",
        "UPDATE reports SET key = 'other'",
        "UPDATE reports SET place = 9",
        "UPDATE reports SET name = 'other'",
        "DELETE FROM reports",
    ],
)
def test_the_file_itself_refuses_to_change_what_was_drawn(memory: Memory, change: str) -> None:
    memory.draw("one", 1, [Draft(b"p", "t")], lambda _: {})
    with closing(sqlite3.connect(memory.path)) as db, pytest.raises(sqlite3.IntegrityError, match="stays"):
        db.execute(change)


def test_tokens_and_hashes_differ_between_people_campaigns_and_memories(
    memory: Memory, tmp_path: Path
) -> None:
    other = Memory(tmp_path / "other.sqlite3")
    cases = [(who, campaign, name) for who in (memory, other) for campaign in "ab" for name in ("x", "y")]
    assert len({who.participant(campaign, name) for who, campaign, name in cases}) == len(cases)
    assert len({who.person(campaign, name) for who, campaign, name in cases}) == len(cases)
    assert memory.participant("a", "x") == Memory(memory.path).participant("a", "x")
    assert memory.person("a", "caf\u00e9") == memory.person("a", "cafe\u0301")
    assert memory.person("a,b", "c") != memory.person("a", "b,c")


def test_it_holds_neither_names_nor_values(memory: Memory) -> None:
    value, name = 7.123456789, "Annabel Lee"
    memory.draw(
        "one",
        1,
        [Draft(memory.person("one", name), memory.participant("one", name))],
        lambda _: CAMPAIGN.kind.report_one({"object 0": value}, Asked(0)),
    )
    content = b"".join(file.read_bytes() for file in memory.path.parent.iterdir())
    assert b"object 0" in content  # which is public
    for secret in (name, "Annabel", str(value), "7.1234"):
        assert secret.encode() not in content
    for form in "<d", ">d":
        assert struct.pack(form, value) not in content


def test_a_campaign_is_held_to_what_it_asked_first(memory: Memory) -> None:
    memory.hold("one", Campaign.from_dict(CAMPAIGN.to_dict()))
    weaker = Campaign.asked({"title": "t", **ASKED["sensing"], "epsilon": 2})
    memory.hold("two", weaker)
    with pytest.raises(InputError, match="not what it was"):
        memory.hold("one", weaker)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a)")


def _of_form(version: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        Memory(path).unanswered("one")
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {version}")

    return make


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b"x" * 4096), "is not a memory"),
        (_foreign, "is not a memory"),
        (_of_form(99), "newer version"),
        (_of_form(1), "earlier version"),
    ],
)
def test_other_files_are_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "file"
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    make(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        Memory(path).unanswered("one")
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        Memory(tmp_path / "file" / "memory").unanswered("one")
