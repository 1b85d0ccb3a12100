"""The background work: provisional and final results, rounds, and campaigns that fail, on both databases."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator

import polars as pl
import pytest
from sqlalchemy import select, update

from crowdveil.campaigns.kind import Asked, Batch
from crowdveil.campaigns.records import collection_of
from crowdveil.certificates.reading import read_text
from crowdveil.service import election, worker
from crowdveil.service.api.results import current
from crowdveil.service.settings import Settings
from crowdveil.service.state import State
from crowdveil.service.store import campaigns, results, schema, times
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import read_plans
from crowdveil.service.store.results import KeptResult
from crowdveil.service.store.schema import reports, waves
from crowdveil.service.store.work import waves_to_serve
from crowdveil.service.worker import Worker
from stores import counts, migrated, moved, next_wave, opened, report, rows, seat, withdrawn


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SHARE", 0.0)


def elected(store: Database) -> Worker:
    new = Worker(store)
    assert new.elect()
    return new


def result(store: Database, campaign: Kept, wave: int = 1) -> KeptResult | None:
    with store.reading() as connection:
        return results.read(connection, campaign.number, wave)


def there(store: Database, campaign: Kept, wave: int = 1) -> KeptResult:
    found = result(store, campaign, wave)
    assert found is not None
    return found


def people(store: Database, campaign: Kept, count: int, first: int = 0, wave: int = 1) -> None:
    for person in range(first, first + count):
        assert report(store, campaign, f"person {person}", f"{wave}", person=person, wave=wave) == 201


def payloads(store: Database, campaign: Kept) -> Batch:
    """The reports that are there, by round and place."""
    left = [(row.place, row.round, bytes(row.payload)) for row in rows(store, campaign) if row.payload]
    return Batch.of(left).by_place()


# --- provisional, then final --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sensing", "sensing own ranges", "sparse", "slots", "records"])
def test_an_open_campaign_has_provisional_results_and_a_closed_one_those_of_the_library(
    store: Database, name: str
) -> None:
    campaign, busy = opened(store, name), elected(store)
    busy.look()
    assert result(store, campaign) is None
    people(store, campaign, 5)
    busy.look()
    early = there(store, campaign)
    assert (early.provisional, early.received, early.withdrawn) == (True, 5, 0)
    people(store, campaign, 4, first=5)
    busy.look()
    assert there(store, campaign).received == 9
    closed = moved(store, campaign, "closed")
    busy.look()
    final = there(store, campaign)
    assert (final.provisional, final.received, final.withdrawn) == (False, 9, 0)
    gathered = campaign.campaign.kind.gather(1)
    gathered.add(payloads(store, campaign), {})
    assert final.summary == gathered.result().summary
    busy.look()
    assert there(store, campaign) == final
    with store.reading() as connection:
        exported = results.read_file(connection, closed.number, 1, "reports.parquet")
    assert exported is not None
    assert len(pl.read_parquet(io.BytesIO(exported))) >= 9


def test_what_is_read_bit_by_bit_is_what_is_read_at_once(store: Database) -> None:
    campaign, busy = opened(store), elected(store)
    for person in range(6):
        people(store, campaign, 1, first=person)
        busy.look()
    bit_by_bit = there(store, campaign)
    busy._folded.clear()
    with store.writing() as connection:
        connection.execute(schema.results.delete())
    busy.look()
    assert there(store, campaign).summary == bit_by_bit.summary


def test_a_closed_campaign_without_reports_has_an_empty_result(store: Database) -> None:
    busy = elected(store)
    for name, key in (
        ("sensing", "truths"),
        ("sparse", "truths"),
        ("slots", "truths"),
        ("records", "tables"),
    ):
        campaign = opened(store, name)
        moved(store, campaign, "closed")
        busy.look()
        final = there(store, campaign)
        assert final.summary == {key: []}
        assert not final.provisional


def test_a_result_says_up_to_when_reports_count_in_it(store: Database) -> None:
    campaign, busy = opened(store), elected(store)
    people(store, campaign, 2)
    before = times.now()
    busy.look()
    assert before <= there(store, campaign).as_of <= times.now()


def test_each_wave_has_its_own_result(store: Database) -> None:
    campaign, busy = opened(store, waves=2), elected(store)
    people(store, campaign, 3)
    campaign = next_wave(store, campaign, 2)
    people(store, campaign, 2, wave=2)
    busy.look()
    assert [there(store, campaign, wave).received for wave in (1, 2)] == [3, 2]
    people(store, campaign, 1, first=7)  # late
    busy.look()
    assert [there(store, campaign, wave).received for wave in (1, 2)] == [4, 2]
    moved(store, campaign, "closed")
    busy.look()
    assert [there(store, campaign, wave).provisional for wave in (1, 2)] == [False, False]


# --- withdrawal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sensing", "slots", "records"])
def test_a_withdrawn_report_is_gone_from_the_next_result(store: Database, name: str) -> None:
    campaign, busy = opened(store, name), elected(store)
    people(store, campaign, 6)
    busy.look()
    with_all = there(store, campaign)
    withdrawn(store, campaign, "person 2")
    busy.look()
    without = there(store, campaign)
    assert (without.received, without.withdrawn) == (6, 1)
    gathered = campaign.campaign.kind.gather(1)
    gathered.add(payloads(store, campaign), {})
    assert without.summary == gathered.result().summary
    assert without.summary != with_all.summary
    moved(store, campaign, "closed")
    busy.look()
    assert there(store, campaign).summary == without.summary


@pytest.mark.parametrize("name", ["sensing", "slots", "records"])
def test_once_everybody_has_withdrawn_nothing_is_left_of_them(store: Database, name: str) -> None:
    """Neither estimates nor weights: they would be the reports of those who took them back."""
    campaign, busy = opened(store, name), elected(store)
    people(store, campaign, 2)
    busy.look()
    for person in range(2):
        assert withdrawn(store, campaign, f"person {person}") == 1
    busy.look()
    assert there(store, campaign).summary == {"tables" if name == "records" else "truths": []}
    with store.reading() as connection:
        assert results.read_file(connection, campaign.number, 1, "weights.parquet") is None
    people(store, campaign, 1, first=5)
    busy.look()
    assert there(store, campaign).summary["tables" if name == "records" else "truths"]


# --- failures -----------------------------------------------------------------------------------------------


def test_a_campaign_that_cannot_be_computed_does_not_stop_the_others(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "AFTER_FAILURE", 0.2)
    damaged, sound, busy = opened(store), opened(store), elected(store)
    for campaign in (damaged, sound):
        people(store, campaign, 2)
    own = (reports.c.campaign == damaged.number, reports.c.place == 0)
    with store.writing() as connection:
        payload = connection.execute(select(reports.c.payload).where(*own)).scalar_one()
        connection.execute(update(reports).where(*own).values(payload=b"damaged"))
    busy.look()
    assert result(store, damaged) is None
    assert there(store, sound).received == 2
    with store.writing() as connection:
        connection.execute(update(reports).where(*own).values(payload=payload))
    busy.look()
    assert result(store, damaged) is None  # not at once again
    time.sleep(0.25)
    busy.look()
    assert there(store, damaged).received == 2


def test_a_campaign_that_is_deleted_gets_no_result(store: Database) -> None:
    campaign, busy = opened(store), elected(store)
    people(store, campaign, 2)
    (wave,) = waves_to_serve(store)
    folded = busy._read(wave, None)
    with store.writing() as connection:
        campaigns.remove(connection, campaign)
    found = folded.gathered.result()
    busy._write(wave, found, KeptResult(times.now(), True, 2, 0, 0.1, found.summary))
    assert result(store, campaign) is None
    busy.look()


def test_a_result_of_before_does_not_replace_that_of_a_closed_campaign(store: Database) -> None:
    campaign, busy = opened(store), elected(store)
    people(store, campaign, 2)
    (wave,) = waves_to_serve(store)
    moved(store, campaign, "closed")
    busy.look()
    final = there(store, campaign)
    found = busy._read(wave, None).gathered.result()
    busy._write(wave, found, KeptResult(times.now(), True, 2, 0, 0.1, found.summary))
    assert there(store, campaign) == final


def test_who_is_no_longer_elected_writes_nothing(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "PATIENCE", 0.1)
    campaign, stalled, second = opened(store), elected(store), Worker(store)
    people(store, campaign, 2)
    assert not second.elect()
    time.sleep(0.2)
    assert second.elect()
    with pytest.raises(election.Lost):
        stalled.look()
    assert result(store, campaign) is None
    second.look()
    assert there(store, campaign).received == 2


def test_two_workers_do_the_work_of_one(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAUSE", 0.02)
    campaign = opened(store)
    workers = [Worker(store), Worker(store)]
    threads = [threading.Thread(target=each.run) for each in workers]
    for thread in threads:
        thread.start()
    people(store, campaign, 3)
    give_up = time.monotonic() + 20
    while (found := result(store, campaign)) is None or found.received < 3:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert sorted(each._election.elected for each in workers) == [False, True]
    for each in workers:
        each.stop()
    for thread in threads:
        thread.join(20)
    assert Worker(store).elect()  # they resigned


def test_the_next_estimate_waits_the_longer_the_last_one_took(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SHARE", 1e9)
    monkeypatch.setattr(worker, "MOST_WAITING", 0.5)
    campaign, busy = opened(store), elected(store)
    people(store, campaign, 1)
    busy.look()
    people(store, campaign, 1, first=1)
    busy.look()
    assert there(store, campaign).received == 1
    time.sleep(0.6)
    busy.look()
    assert there(store, campaign).received == 2
    moved(store, campaign, "closed")
    busy.look()  # the final one waits for nothing
    assert not there(store, campaign).provisional


# --- rounds -------------------------------------------------------------------------------------------------


def round_of(store: Database, campaign: Kept) -> int:
    with store.reading() as connection:
        own = select(waves.c.round).where(waves.c.campaign == campaign.number)
        return int(connection.execute(own).scalar_one())


def test_a_round_ends_when_as_many_have_reported_as_were_planned(store: Database) -> None:
    campaign, busy = opened(store, "records"), elected(store)
    late = seat(store, campaign, "late")
    people(store, campaign, 19)
    busy.look()
    assert round_of(store, campaign) == 0
    people(store, campaign, 1, first=19)
    busy.look()
    assert round_of(store, campaign) == 1
    with store.reading() as connection:
        plans = read_plans(connection, campaign.number, 1)
    gathered = campaign.campaign.kind.gather(1)
    gathered.add(payloads(store, campaign), {})
    kind = campaign.campaign.kind
    assert plans == {0: kind.first_round(1), 1: kind.next_round(gathered, 0)}
    assert seat(store, campaign, "late") == late == Asked(0, 0)
    new = seat(store, campaign, "new")
    assert isinstance(new, Asked)
    assert new.round == 1
    people(store, campaign, 25, first=20)
    assert report(store, campaign, "late") == 201
    busy.look()
    assert round_of(store, campaign) == 1  # the last one
    assert sorted({(row.round, row.place) for row in rows(store, campaign)})[0] == (0, 0)
    moved(store, campaign, "closed")
    busy.look()
    with store.reading() as connection:
        exported = results.read_file(connection, campaign.number, 1, "reports.parquet")
    assert exported is not None
    stated = read_text(pl.read_parquet_metadata(io.BytesIO(exported))["crowdveil"], "it").certificate
    again = collection_of(pl.read_parquet(io.BytesIO(exported)), stated)
    tables = again.design.tables(again.schema, again.halves)
    told = there(store, campaign).summary["tables"]
    assert sorted(str(shares.tolist()) for shares in tables.values()) == sorted(
        str(table["shares"]) for table in told
    )


def test_a_round_ends_when_its_time_is_up(store: Database) -> None:
    campaign = opened(store, "records", round_hours=1.0)
    busy = elected(store)
    people(store, campaign, 2)
    busy.look()
    assert round_of(store, campaign) == 0

    def began(time: str) -> None:
        with store.writing() as connection:
            connection.execute(update(waves).values(round_opened=time))

    began("2999-01-01T00:00:00.000000Z")  # the clock ran backwards
    busy.look()
    assert round_of(store, campaign) == 0
    began("2020-01-01T00:00:00.000000Z")
    busy.look()
    assert round_of(store, campaign) == 1


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_no_round_ends_while_nobody_can_report(store: Database, state: str) -> None:
    campaign = opened(store, "records", round_hours=0.001)
    people(store, campaign, 20)
    moved(store, campaign, state)  # type: ignore[arg-type]
    elected(store).look()
    assert round_of(store, campaign) == 0


def test_a_round_without_reports_does_not_end(store: Database) -> None:
    campaign = opened(store, "records", round_hours=1e-9)
    seat(store, campaign, "ann")
    withdrawn(store, campaign, "ann")
    time.sleep(0.01)
    elected(store).look()
    assert round_of(store, campaign) == 0
    assert counts(store, campaign) == (1, 1, 1)


def test_a_result_says_how_many_have_withdrawn_since(store: Database, database: str) -> None:
    campaign, busy = opened(store), elected(store)
    service = State.of(Settings(database=database))

    def told() -> tuple[int, int, int]:
        now = current(service, campaign, None)
        return now["counted"], now["withdrawn"], now["withdrawn_since"]

    people(store, campaign, 3)
    assert told() == (0, 0, 0)
    busy.look()
    assert told() == (3, 0, 0)
    withdrawn(store, campaign, "person 1")
    assert told() == (3, 1, 1)
    busy.look()
    assert told() == (2, 1, 0)
    service.database.close()
