"""Reports are inserted without a look at who is there: whoever is not new gets the same answer as always."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from crowdveil.service.intake import MOST_BYTES, Entry, Intake, Outcome, Seat
from crowdveil.service.problems import Refusal
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import Submission, digest
from stores import counts, migrated, moved, next_wave, opened, rows, submission

PAYLOAD = b"\0" * 12


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


def entry(campaign: Kept, who: str, key: str = "key", **more: Any) -> Submission:
    return submission(campaign.intake, who, key, None, payload=PAYLOAD, **more)


def sent(store: Database, jobs: list[tuple[Kept, list[Entry | Refusal]]]) -> list[list[Any]]:
    """What becomes of jobs that wait together."""

    async def run() -> list[list[Outcome]]:
        intake = Intake(store)
        intake._loop = asyncio.get_running_loop()
        waiting = [
            intake.enqueue_lines(campaign.intake, [b""] * len(entries), lambda _, __, own=entries: own)  # type: ignore[misc]
            for campaign, entries in jobs
        ]
        intake.start(asyncio.get_running_loop())
        answers = await asyncio.gather(*waiting)
        await asyncio.to_thread(intake.stop)
        return answers

    return [[each.code if isinstance(each, Refusal) else each for each in own] for own in asyncio.run(run())]


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries were served one after the other, transaction by transaction."""
    counted: list[int] = []
    each = Intake._each

    def count(self: Intake, jobs: Any) -> Any:
        counted.append(sum(job.size for job in jobs))
        return each(self, jobs)

    monkeypatch.setattr(Intake, "_each", count)
    return counted


def test_new_participants_are_not_looked_up(store: Database, looked_up: list[int]) -> None:
    first, second = opened(store), opened(store)
    refusal = Refusal(422, "line", "wrong")
    jobs: list[tuple[Kept, list[Entry | Refusal]]] = [
        (first, [entry(first, "ann"), refusal, entry(first, "bob")]),
        (second, [entry(second, "ann")]),
        (second, [refusal]),
        (first, [entry(first, "eve", round=0)]),
    ]
    assert sent(store, jobs) == [[201, "line", 201], [201], ["line"], [201]]
    assert looked_up == []
    assert (counts(store, first), counts(store, second)) == ((3, 3, 0), (1, 1, 0))
    assert [row.place for row in rows(store, first)] == [row.seq for row in rows(store, first)] == [0, 1, 2]


def test_nothing_is_left_of_what_met_somebody_who_is_there(store: Database, looked_up: list[int]) -> None:
    campaign = opened(store)
    assert sent(store, [(campaign, [entry(campaign, "bob")])]) == [[201]]
    batch: list[Entry | Refusal] = [entry(campaign, who) for who in ("ann", "bob", "eve", "ann")]
    assert sent(store, [(campaign, batch), (campaign, [entry(campaign, "eve", "other")])]) == [
        [201, 200, 201, 200],
        ["reported"],
    ]
    assert looked_up == [5]
    assert counts(store, campaign) == (3, 3, 0)
    assert [row.place for row in rows(store, campaign)] == [0, 1, 2]


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_a_campaign_that_is_not_open_takes_nobody(store: Database, state: Any) -> None:
    campaign = opened(store, state="draft")
    if state != "draft":
        campaign = moved(store, moved(store, campaign, "open"), state)
    assert sent(store, [(campaign, [entry(campaign, "ann")])]) == [[state]]
    assert rows(store, campaign) == []


def test_strangers_are_not_invited(store: Database) -> None:
    campaign = opened(store, admission="invited")
    assert sent(store, [(campaign, [entry(campaign, "ann")])]) == [["not-invited"]]
    assert rows(store, campaign) == []


def test_a_report_of_another_round_or_wave_is_refused(store: Database) -> None:
    campaign = opened(store, waves=3)
    for wrong, why in ((entry(campaign, "ann", round=1), "round"), (entry(campaign, "ann", wave=2), "wave")):
        assert sent(store, [(campaign, [wrong])]) == [[why]]
    assert rows(store, campaign) == []


def test_later_waves_know_the_reports_of_earlier_ones(store: Database, looked_up: list[int]) -> None:
    campaign = opened(store, waves=2)
    assert sent(store, [(campaign, [entry(campaign, "ann")])]) == [[201]]
    campaign = next_wave(store, campaign, 2)
    assert sent(store, [(campaign, [entry(campaign, "ann")])]) == [[200]]
    assert sent(store, [(campaign, [entry(campaign, "ann", "new key")])]) == [[201]]
    assert sent(store, [(campaign, [entry(campaign, "bob")])]) == [[201]]
    assert looked_up == [1, 1, 1]
    assert (counts(store, campaign, 1), counts(store, campaign, 2)) == ((1, 1, 0), (2, 2, 0))


@pytest.mark.parametrize(("first", "second"), [(None, 1), (1, None), (1, 1), (2, None), (None, 2)])
def test_a_report_is_counted_in_one_wave_whatever_its_copies_name(
    store: Database, first: int | None, second: int | None
) -> None:
    campaign = next_wave(store, opened(store, waves=2), 2)
    copies = [entry(campaign, "ann", wave=wave) for wave in (first, second)]
    ((accepted, known),) = sent(store, [(campaign, [*copies])])
    elsewhere = second is not None and (first or 2) != second
    assert (accepted, known) == (201, "key" if elsewhere else 200)
    assert [sent(store, [(campaign, [copy])])[0][0] for copy in copies] == [200, known]
    assert counts(store, campaign, 1)[1] + counts(store, campaign, 2)[1] == 1


def test_a_wave_may_be_named_where_it_is_the_only_one(store: Database, looked_up: list[int]) -> None:
    campaign = opened(store, waves=2)
    assert sent(store, [(campaign, [entry(campaign, "ann", wave=1), entry(campaign, "bob")])]) == [[201, 201]]
    assert looked_up == []
    assert sent(store, [(campaign, [entry(campaign, "eve", wave=2)])]) == [["wave"]]


def test_what_was_sent_by_somebody_who_is_gone_is_not_read(store: Database) -> None:
    campaign = opened(store)

    async def run() -> None:
        intake = Intake(store)
        intake._loop = asyncio.get_running_loop()
        gone = intake.enqueue_lines(campaign.intake, [b"x"], lambda *_: [entry(campaign, "ann")])
        there = intake.enqueue(campaign.intake, entry(campaign, "bob"))
        gone.cancel()
        intake.start(asyncio.get_running_loop())
        assert await there == [201]
        await asyncio.to_thread(intake.stop)

    asyncio.run(run())
    assert counts(store, campaign) == (1, 1, 0)


def test_long_lines_are_not_read_for_one_transaction(store: Database) -> None:
    """Half of what may be read at once, three times over."""
    campaign, read = opened(store), list[int]()
    line = b"x" * (MOST_BYTES // 2)

    def reader(_: Any, lines: Sequence[bytes]) -> list[Entry | Refusal]:
        read.append(len(lines))
        return [entry(campaign, f"{len(read)}")]

    async def run() -> None:
        intake = Intake(store)
        intake._loop = asyncio.get_running_loop()
        waiting = [intake.enqueue_lines(campaign.intake, [line], reader) for _ in range(3)]
        first = intake._jobs.get()
        assert first is not None
        together, _ = intake._together(first)
        assert len(together) == 2
        for job in (*together,):
            intake._jobs.put(job)
        intake.start(asyncio.get_running_loop())
        assert await asyncio.gather(*waiting) == [[201]] * 3
        await asyncio.to_thread(intake.stop)

    asyncio.run(run())


def test_the_database_refuses_a_participant_who_is_there(store: Database) -> None:
    campaign = opened(store)
    with store.writing() as connection:
        LockedCampaign(connection, campaign.intake).wave(1).insert_new([entry(campaign, "ann")])

    def again() -> None:
        with store.writing() as connection:
            wave = LockedCampaign(connection, campaign.intake).wave(1)
            wave.insert_new([entry(campaign, f"new {at}") for at in range(100)] + [entry(campaign, "ann")])

    with pytest.raises(IntegrityError):
        again()
    assert counts(store, campaign) == (1, 1, 0)


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_give_the_same_answers(store: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The same jobs at two campaigns, of which one is always looked up."""
    quick, careful = opened(store), opened(store)
    dice = random.Random(seed)

    def jobs(campaign: Kept) -> list[tuple[Kept, list[Entry | Refusal]]]:
        dice.seed(seed)
        return [(campaign, [drawn(campaign) for _ in range(dice.randint(1, 4))]) for _ in range(40)]

    def drawn(campaign: Kept) -> Entry | Refusal:
        who = f"{dice.randint(0, 60)}"
        if dice.random() < 0.05:
            return Refusal(422, "line", "wrong")
        if dice.random() < 0.05:
            return Seat(digest(campaign.id, who))
        return entry(campaign, who, dice.choice("aab"), round=dice.choice((None, None, None, 0, 1)))

    def answers(campaign: Kept) -> list[Any]:
        return [short(outcome) for job in jobs(campaign) for outcome in sent(store, [job])[0]]

    def short(outcome: Any) -> Any:
        return outcome if isinstance(outcome, int | str) else (outcome.asked, outcome.wave)

    first = answers(quick)
    monkeypatch.setattr(Intake, "_all_new", lambda *_: None)
    assert first == answers(careful)
    assert counts(store, quick) == counts(store, careful)
    kept = [[(row.place, row.seq, row.round) for row in rows(store, each)] for each in (quick, careful)]
    assert kept[0] == kept[1]
