"""Reports in the database: each is counted once or refused, on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import event, select

from crowdveil.campaigns.kind import Asked
from crowdveil.service.store import campaigns
from crowdveil.service.store.database import Database
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import digest, read_plans, read_reports
from crowdveil.service.store.schema import charges, waves
from stores import (
    counts,
    migrated,
    moved,
    next_wave,
    opened,
    report,
    rows,
    seat,
    submission,
    submit,
    withdrawn,
)


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


@pytest.mark.parametrize("name", ["sensing", "slots", "records"])
def test_a_report_is_counted_once(store: Database, name: str) -> None:
    campaign = opened(store, name)
    assert [report(store, campaign, "ann") for _ in range(3)] == [201, 200, 200]
    assert report(store, campaign, "ann", "another key") == "reported"
    assert report(store, campaign, "bob", person=1) == 201
    assert counts(store, campaign) == (2, 2, 0)
    assert [(row.place, row.seq) for row in rows(store, campaign)] == [(0, 0), (1, 1)]


def test_a_batch_counts_each_participant_once(store: Database) -> None:
    campaign = opened(store)
    good = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}
    bad = {"v": 1, "mechanism": "laplace", "payload": [["z", 5]]}
    entries = [
        submission(campaign.intake, token, key, sent)
        for token, key, sent in [
            ("ann", "1", good),
            ("ann", "1", good),
            ("ann", "2", good),
            ("bob", "1", bad),
            ("bob", "1", good),
            ("eve", "1", bad),
        ]
    ]
    assert submit(store, campaign, entries) == [201, 200, "reported", "report", 201, "report"]
    assert submit(store, campaign, entries[:3]) == [200, 200, "reported"]
    assert counts(store, campaign) == (2, 2, 0)


def test_a_batch_of_thousands_is_counted_in_the_order_of_its_lines(store: Database) -> None:
    campaign = opened(store)
    sent = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}
    entries = [submission(campaign.intake, str(number), report=sent) for number in range(6000)]
    assert set(submit(store, campaign, entries)) == {201}
    assert set(submit(store, campaign, entries[::-1])) == {200}
    kept = {bytes(row.participant): row.seq for row in rows(store, campaign)}
    assert [kept[entry.participant] for entry in entries] == list(range(6000))
    with store.reading() as connection:
        read = [
            (after, len(batch)) for after, batch in read_reports(connection, campaign.number, 1, after=10)
        ]
    assert read == [(6000, 5990)]


def test_the_same_token_is_somebody_else_in_another_campaign(store: Database) -> None:
    first, second = opened(store), opened(store)
    assert digest(first.id, "ann") != digest(second.id, "ann")
    assert report(store, first, "ann") == 201
    assert report(store, second, "ann") == 201
    assert not {bytes(row.participant) for row in rows(store, first)} & {
        bytes(row.participant) for row in rows(store, second)
    }


def test_no_row_holds_a_token_or_a_key(store: Database) -> None:
    campaign = opened(store)
    report(store, campaign, "a token of ann", "a key of ann")
    (row,) = rows(store, campaign)
    assert len(row.participant) == len(row.key) == 16
    assert not any(b"ann" in value for value in (row.participant, row.key, row.payload))


# --- places -------------------------------------------------------------------------------------------------


def test_a_place_is_the_same_each_time_and_nobody_elses(store: Database) -> None:
    campaign = opened(store, "slots")
    assert [seat(store, campaign, token) for token in ("ann", "bob", "ann", "eve")] == [
        Asked(0),
        Asked(1),
        Asked(0),
        Asked(2),
    ]
    assert counts(store, campaign) == (3, 0, 0)


def test_where_the_question_depends_on_the_place_a_report_needs_one(store: Database) -> None:
    campaign = opened(store, "slots")
    entry = submission(campaign.intake, "ann", report={"v": 1, "mechanism": "slots", "payload": [0]})
    assert submit(store, campaign, [entry]) == ["no-place"]
    assert counts(store, campaign) == (0, 0, 0)


def test_a_report_that_is_refused_takes_no_place(store: Database) -> None:
    campaign = opened(store)
    assert submit(store, campaign, [submission(campaign.intake, "ann", report={})]) == ["report"]
    assert counts(store, campaign) == (0, 0, 0)
    assert report(store, campaign, "ann", "new key") == 201


def test_a_report_names_the_round_in_which_it_was_asked_or_none(store: Database) -> None:
    campaign = opened(store, "records")
    seat(store, campaign, "ann")
    entry = submission(campaign.intake, "ann", report={}, round=1)
    assert submit(store, campaign, [entry]) == ["round"]


# --- withdrawal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sensing", "slots"])
def test_a_withdrawn_report_is_deleted_and_its_place_stays_taken(store: Database, name: str) -> None:
    campaign = opened(store, name)
    for person, token in enumerate(("ann", "bob")):
        report(store, campaign, token, person=person)
    assert withdrawn(store, campaign, "ann") == 1
    assert [row.payload is None for row in rows(store, campaign)] == [True, False]
    for key in ("key", "another"):
        assert report(store, campaign, "ann", key) == "withdrawn"
    assert report(store, campaign, "eve", person=2) == 201
    assert [row.place for row in rows(store, campaign)] == [0, 1, 2]
    assert counts(store, campaign) == (3, 3, 1)
    assert withdrawn(store, campaign, "ann") == 0
    assert counts(store, campaign) == (3, 3, 1)
    with store.reading() as connection:
        (whole,) = [batch for _, batch in read_reports(connection, campaign.number, 1)]
    assert whole.places.tolist() == [1, 2]


def test_a_place_without_a_report_is_used_up_by_withdrawing(store: Database) -> None:
    campaign = opened(store, "slots")
    where = seat(store, campaign, "ann")
    assert withdrawn(store, campaign, "ann") == 0
    assert report(store, campaign, "ann") == "withdrawn"
    assert seat(store, campaign, "ann") == where
    assert report(store, campaign, "bob") == 201
    assert [row.seq for row in rows(store, campaign)] == [0, 1]
    assert counts(store, campaign) == (2, 2, 1)


def test_withdrawing_reaches_all_waves(store: Database) -> None:
    campaign = opened(store, waves=2)
    assert report(store, campaign, "ann") == 201
    campaign = next_wave(store, campaign, 2)
    assert report(store, campaign, "ann", "key 2", wave=2) == 201
    assert withdrawn(store, campaign, "ann") == 2
    assert counts(store, campaign, 1) == counts(store, campaign, 2) == (1, 1, 1)


def test_only_participants_withdraw_and_only_while_a_campaign_runs(store: Database) -> None:
    campaign = opened(store)
    report(store, campaign, "ann")
    assert withdrawn(store, campaign, "bob") == "unknown-participant"
    moved(store, campaign, "paused")
    assert withdrawn(store, campaign, "ann") == 1
    moved(store, campaign, "closed")
    assert withdrawn(store, campaign, "ann") == "closed"


# --- admission, states and waves ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sensing", "slots"])
def test_only_who_was_invited_takes_part(store: Database, name: str) -> None:
    campaign, other = opened(store, name, admission="invited"), opened(store, name, admission="invited")
    with store.writing() as connection:
        tokens = campaigns.invite(connection, campaign, 2)
        (foreign,) = campaigns.invite(connection, other, 1)
    assert report(store, campaign, tokens[0]) == 201
    assert report(store, campaign, tokens[0]) == 200
    for stranger in ("made up", foreign, tokens[1][:-1], digest(campaign.id, tokens[1]).hex()):
        assert report(store, campaign, stranger) == "not-invited"
        assert seat(store, campaign, stranger) == "not-invited"
    assert counts(store, campaign) == (1, 1, 0)


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_reports_come_in_only_while_a_campaign_is_open(store: Database, state: str) -> None:
    campaign = opened(store, state=state)  # type: ignore[arg-type]
    assert report(store, campaign, "ann") == state
    assert seat(store, campaign, "ann") == state


def test_a_campaign_that_is_deleted_takes_no_report(store: Database) -> None:
    campaign = opened(store)
    with store.writing() as connection:
        campaigns.remove(connection, campaign)
    assert report(store, campaign, "ann") == "unknown-campaign"
    assert withdrawn(store, campaign, "ann") == "unknown-campaign"


def test_everybody_reports_once_in_each_wave(store: Database) -> None:
    campaign = opened(store, waves=2)
    assert report(store, campaign, "ann") == 201
    assert report(store, campaign, "ann", wave=2) == "wave"
    campaign = next_wave(store, campaign, 2)
    assert report(store, campaign, "ann", "2", wave=2) == 201
    assert report(store, campaign, "ann", "3", wave=2) == "reported"
    assert report(store, campaign, "late", wave=1) == 201
    assert report(store, campaign, "ann", wave=3) == "wave"


def test_a_report_that_is_sent_again_after_a_wave_has_opened_is_not_counted_again(store: Database) -> None:
    """Its answer was lost, and without a wave it goes into the open one."""
    campaign = opened(store, waves=2)
    assert report(store, campaign, "ann") == 201
    campaign = next_wave(store, campaign, 2)
    assert report(store, campaign, "ann", wave=2) == 200
    assert counts(store, campaign, 2) == (0, 0, 0)
    assert withdrawn(store, campaign, "ann") == 1
    assert report(store, campaign, "ann", wave=2) == "withdrawn"


def test_the_cost_of_a_wave_is_on_record_before_anybody_can_report_in_it(store: Database) -> None:
    campaign = opened(store, state="draft", waves=2)

    def recorded(table: object) -> list[int]:
        with store.reading() as connection:
            own = select(table.c.wave).where(table.c.campaign == campaign.number)  # type: ignore[attr-defined]
            return sorted(connection.execute(own).scalars())

    assert recorded(charges) == recorded(waves) == []
    moved(store, campaign, "open")
    assert recorded(charges) == recorded(waves) == [1]
    next_wave(store, campaign, 2)
    assert recorded(charges) == recorded(waves) == [1, 2]
    with store.reading() as connection:
        ledger = campaigns.ledger(connection, campaign)
    assert [entry["promise"]["epsilon"] for entry in ledger] == [1.0, 1.0]


def test_nothing_is_kept_of_a_transaction_that_fails(store: Database) -> None:
    campaign = opened(store)

    def fail() -> None:
        with store.writing() as connection:
            entry = submission(
                campaign.intake, "ann", report={"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}
            )
            desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [entry.participant])
            assert desk.submit(entry) == 201
            desk.close()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert counts(store, campaign) == (0, 0, 0)
    assert rows(store, campaign) == []


def test_what_the_first_round_asks_is_on_record_when_a_wave_opens(store: Database) -> None:
    campaign = next_wave(store, opened(store, "records", waves=2), 2)
    with store.reading() as connection:
        for wave in (1, 2):
            planned = {0: campaign.campaign.kind.first_round(wave)}
            assert read_plans(connection, campaign.number, wave) == planned
            assert campaign.intake.plans(connection, wave, [0, 5]) == planned


def test_a_plan_is_read_once(store: Database) -> None:
    campaign, statements = opened(store, "records"), list[str]()
    event.listen(store.engine, "before_cursor_execute", lambda _, __, what, *___: statements.append(what))
    intake = campaign.intake
    for _ in range(5):
        with store.reading() as connection:
            assert intake.plans(connection, 1, {0})
    assert sum("plans" in what for what in statements) == 1
