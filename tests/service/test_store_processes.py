"""Several processes on one database: real ones, on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from crowdveil.service.store.reports import read_reports
from stores import counts, migrated, moved, opened, rows, withdrawn
from writing import Writer

pytestmark = pytest.mark.no_cover


@pytest.fixture(scope="module")
def writers() -> Iterator[list[Writer]]:
    started = [Writer() for _ in range(4)]
    yield started
    for writer in started:
        writer.stop()


def test_two_processes_count_each_participant_once(database: str, writers: list[Writer]) -> None:
    people = 150
    with migrated(database) as store:
        campaign = opened(store)
        for writer, key in zip(writers, "xy", strict=False):
            writer.begin("report", database, campaign.id, 0, people, key)
        first, second = (writer.end() for writer in writers[:2])
        for number in map(str, range(people)):
            assert sorted([first[number], second[number]], key=str) == [201, "reported"]
        kept = rows(store, campaign)
        assert sorted(row.seq for row in kept) == list(range(people))
        assert [row.place for row in kept] == list(range(people))
        assert counts(store, campaign) == (people, people, 0)


def test_whoever_has_read_up_to_a_number_has_missed_nothing(database: str, writers: list[Writer]) -> None:
    """Numbers are gapless in the order of commits: what a reader saw once, it sees there later."""
    people = 100
    with migrated(database) as store:
        campaign = opened(store)
        for at, writer in enumerate(writers[:2]):
            writer.begin("report", database, campaign.id, at * people, (at + 1) * people, "k")
        seen: list[int] = []
        give_up = time.monotonic() + 60
        while len(seen) < 2 * people:
            with store.reading() as connection:
                for after, batch in read_reports(connection, campaign.number, 1, len(seen)):
                    assert after == len(seen) + len(batch)
                    seen += batch.places.tolist()
            assert time.monotonic() < give_up
        for writer in writers[:2]:
            writer.end()
        with store.reading() as connection:
            (whole,) = [batch for _, batch in read_reports(connection, campaign.number, 1)]
        assert seen == whole.places.tolist()


def test_nothing_is_accepted_once_a_campaign_is_closed(database: str, writers: list[Writer]) -> None:
    """Reports come in from two processes while it closes; what is there then is all that there will be."""
    with migrated(database) as store:
        campaign = opened(store)
        for at, writer in enumerate(writers[:2]):
            writer.begin("report", database, campaign.id, at * 10**6, at * 10**6, "k", 30)
        while counts(store, campaign)[1] < 20:
            time.sleep(0.01)
        moved(store, campaign, "closed")
        at_closing = counts(store, campaign)
        answers = [list(writer.end().values()) for writer in writers[:2]]
        assert counts(store, campaign) == at_closing
        assert sum(each.count(201) for each in answers) == at_closing[1] == len(rows(store, campaign))
        assert [each[-1] for each in answers] == ["closed", "closed"]


def test_withdrawals_and_reports_at_once_keep_the_counts_right(database: str, writers: list[Writer]) -> None:
    people = 60
    with migrated(database) as store:
        campaign = opened(store)
        writers[0].begin("report", database, campaign.id, 0, people, "k")
        gone: set[int] = set()
        give_up = time.monotonic() + 60
        while len(gone) < 10:
            for number in range(0, people, 6):
                if number not in gone and withdrawn(store, campaign, str(number)) == 1:
                    gone.add(number)
            assert time.monotonic() < give_up
        writers[0].end()
        assert sum(row.payload is None for row in rows(store, campaign)) == 10
        assert counts(store, campaign) == (people, people, 10)


def test_four_processes_migrate_at_once(database: str, writers: list[Writer]) -> None:
    for writer in writers:
        writer.begin("migrate", database)
    assert [writer.end() for writer in writers] == ["migrated"] * 4
    with migrated(database) as store:
        assert opened(store).state == "open"
