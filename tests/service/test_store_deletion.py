"""What is deleted is gone: no row of it is left, and on SQLite none of its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from campaign_cases import asked, wire
from crowdveil.campaigns.kind import Asked
from crowdveil.service.problems import Refused
from crowdveil.service.store import campaigns, operators, results, times
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.results import KeptResult
from crowdveil.service.store.schema import metadata
from crowdveil.service.worker import Worker
from stores import migrated, opened, report, rows, seat, submission, submit, withdrawn

SURVIVES = {"operators", "tokens", "journal", "leases"}


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


def filled(store: Database) -> Kept:
    """A campaign with something in every table."""
    campaign = opened(store, "records", admission="invited")
    with store.writing() as connection:
        (token,) = campaigns.invite(connection, campaign, 1)
    assert report(store, campaign, token) == 201
    with store.writing() as connection:
        kept = KeptResult(times.now(), True, 1, 0, 0.1, {"tables": []})
        results.write(connection, campaign.number, 1, kept, {"marginals.parquet": b"content"})
        connection.execute(
            metadata.tables["plans"].insert().values(campaign=campaign.number, wave=1, round=1, planned="[1]")
        )
        operators.new_token(connection, operators.named(connection, "operator 0"))
        operators.note(connection, "operator 0", "create", campaign.id)
    Worker(store).elect()
    return campaign


def sizes(store: Database) -> dict[str, int]:
    with store.reading() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }


def test_deletion_leaves_no_row(store: Database) -> None:
    campaign = filled(store)
    assert all(sizes(store).values())
    with store.writing() as connection:
        campaigns.remove(connection, campaign)
    assert {name for name, size in sizes(store).items() if size} == SURVIVES
    with store.reading() as connection, pytest.raises(Refused):
        campaigns.find(connection, campaign.id)


def test_deletion_leaves_other_campaigns_alone(store: Database) -> None:
    campaign, other = filled(store), opened(store)
    report(store, other, "ann")
    with store.writing() as connection:
        campaigns.remove(connection, campaign)
    assert len(rows(store, other)) == 1
    assert opened(store).number not in (campaign.number, other.number)


def test_a_number_is_never_given_again(store: Database) -> None:
    """Whatever still knows a campaign that is gone must not take another one for it."""
    numbers = set()
    for _ in range(3):
        campaign = opened(store)
        numbers.add(campaign.number)
        with store.writing() as connection:
            campaigns.remove(connection, campaign)
    assert len(numbers) == 3


# --- retention ----------------------------------------------------------------------------------------------


def test_a_campaign_whose_date_has_come_is_deleted_by_the_worker(store: Database) -> None:
    past, future = "2020-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"
    old, new, forever = (opened(store, retention=date) for date in (past, future, None))
    for campaign in (old, new, forever):
        report(store, campaign, "ann")
    worker = Worker(store)
    assert worker.elect()
    worker.look()
    with store.reading() as connection:
        assert set(campaigns.found(connection, [old.id, new.id, forever.id])) == {new.id, forever.id}
        assert [entry["action"] for entry in campaigns.entries(connection, old)] == ["delete"]
    assert rows(store, old) == []


def test_a_campaign_whose_date_was_put_off_meanwhile_is_kept(store: Database) -> None:
    campaign = opened(store, retention="2020-01-01T00:00:00.000000Z")
    with store.writing() as connection:
        campaigns.change(connection, campaign, retention="2999-01-01T00:00:00.000000Z")
        assert not campaigns.remove_if_past(connection, campaign.id, times.now())
        assert not campaigns.remove_if_past(connection, "0" * 32, times.now())
    assert opened(store).state == "open"


# --- bytes --------------------------------------------------------------------------------------------------


def on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "service.sqlite3"


def marked(store: Database, campaign: Kept, number: int, size: int) -> bytes:
    """A report of that many bytes that can be found again, in a place that was asked for before."""
    mark = b"<payload of participant %06d>" % number
    payload = (mark * (1 + size // len(mark)))[:size]
    token = str(number)
    seat(store, campaign, token)
    entry = submission(campaign.intake, token, report=None, payload=payload)
    assert submit(store, campaign, [entry]) == [201]
    return payload


@pytest.mark.parametrize("size", [40, 3000, 20_000])
def test_sqlite_keeps_no_byte_of_a_withdrawn_report(file: Path, size: int) -> None:
    people = 200 if size == 40 else 30
    with migrated(f"sqlite:///{file}") as store:
        campaign = opened(store)
        payloads = [marked(store, campaign, number, size) for number in range(people)]
        assert all(payload[:29] in on_disk(file) for payload in payloads)
        for number in range(0, people, 2):
            assert withdrawn(store, campaign, str(number)) == 1
        assert store.erase_freed()
        there = on_disk(file)
        left = [number for number in range(people) if b"participant %06d" % number in there]
        assert left == list(range(1, people, 2))


def test_sqlite_keeps_no_byte_of_a_campaign_that_was_deleted(file: Path) -> None:
    with migrated(f"sqlite:///{file}") as store:
        campaign, other = opened(store, title="A title to be found"), opened(store)
        for number in range(100):
            marked(store, campaign, number, 100)
            marked(store, other, number + 1000, 100)
        with store.writing() as connection:
            campaigns.remove(connection, campaign)
        assert store.erase_freed()
        there = on_disk(file)
        assert b"A title to be found" not in there
        left = [number for number in range(1100) if b"participant %06d" % number in there]
        assert left == list(range(1000, 1100))


def test_somebody_who_reads_puts_off_the_end_of_bytes_and_the_worker_tries_again(file: Path) -> None:
    with migrated(f"sqlite:///{file}") as store:
        campaign = opened(store)
        payload = marked(store, campaign, 7, 100)
        worker = Worker(store)
        worker.elect()
        with store.reading() as connection:
            campaigns.find(connection, campaign.id)  # holds the log
            withdrawn(store, campaign, "7")
            assert not store.erase_freed()
            worker.look()
            assert payload in on_disk(file)
        worker._erase_at = 0.0  # a few seconds later
        worker.look()
        assert payload not in on_disk(file)


def test_no_value_is_anywhere_in_the_file(file: Path) -> None:
    """What lies there is noise: the bytes of a report do not tell what was said."""
    with migrated(f"sqlite:///{file}") as store:
        campaign = opened(store)
        where = Asked(0)
        sent = wire(asked("sensing"), where)
        (row_of_one,) = submit(store, campaign, [submission(campaign.intake, "a token", "a key", sent)])
        assert row_of_one == 201
        assert b"a token" not in on_disk(file)
        assert b"a key" not in on_disk(file)
