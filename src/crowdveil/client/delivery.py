"""The order in which a report comes about: place, draw, remember, send, note.

A report is on the disk before it is sent, and it is never drawn again. So a process can be killed at any
point: the next one asks for the same place, finds what was drawn, and sends it under the same key.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from crowdveil.campaigns.kind import Asked
from crowdveil.client.campaign_client import CampaignClient, LineAnswer, Published
from crowdveil.client.memory import ACCEPTED, Draft, Kept, Memory
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.wire import Wire
from crowdveil.names import folded_names
from crowdveil.synthesis.collection import MOST_PEOPLE

PAUSED = "paused"
REPORTED = "reported"
ANOTHER_NAME = "another-name"
WHY_REFUSED = {
    ANOTHER_NAME: "this token, or a name that differs only by case or blanks, answered under another name; "
    "nothing was drawn",
    REPORTED: "this participant has reported already, not from this memory; nothing was drawn",
}
LARGEST_ROUND = 10**6
TOKEN = re.compile(r"[\x21-\x7e]{1,200}")
WHY_CLOSED = {
    "draft": "this campaign is not open yet",
    "paused": "this campaign is paused: try again later",
    "closed": "this campaign is closed",
}


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody who takes part: a name and an answer, which stay here, and perhaps an invitation."""

    name: str = field(repr=False)
    answer: Mapping[str, Any] = field(repr=False)
    participant: str | None = field(default=None, repr=False)


@dataclass
class Tally:
    """How many reports were sent now, had been there before, or were refused, and why."""

    sent: int = 0
    already: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        """How many were refused."""
        return self.reasons.total()

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "sent": self.sent,
            "already": self.already,
            "refused": self.refused,
            "reasons": dict(sorted(self.reasons.items())),
        }


class Delivery:
    """Delivers the reports of people in one wave of a campaign, and what they still have of earlier ones.

    In open campaigns nothing is drawn for a name that differs from one that answered only by case or blanks,
    unless `distinct_names` says that they are different people.
    """

    def __init__(
        self, client: CampaignClient, published: Published, memory: Memory, *, distinct_names: bool = False
    ) -> None:
        self._client, self._published, self._memory = client, published, memory
        self._where = published.id, published.wave
        self._distinct = distinct_names or published.campaign.admission != "open"
        self.tally, self.earlier = Tally(), Tally()
        memory.hold(published.id, published.campaign)

    def deliver(self, people: Sequence[Person]) -> None:
        """Draw for whoever has no report in this wave, and send what was not acknowledged, in any wave."""
        by_hash = {self._hash(person): person for person in people}
        kept = self._memory.recall(*self._where, by_hash)
        open_ones = {hash: each for hash, each in by_hash.items() if not _done(kept.get(hash))}
        if open_ones and self._published.state != "open":
            raise InputError(WHY_CLOSED.get(self._published.state, "this campaign is not open"))
        if self._published.state == "open":
            self._send(self._memory.late(*self._where, by_hash), self.earlier)
        wanted = self._drafts({hash: each for hash, each in open_ones.items() if hash not in kept})
        refused = self._memory.taken(*self._where, wanted)
        drafts, questions = self._seated([draft for draft in wanted if draft.person not in refused])

        def drawn(draft: Draft) -> Wire:
            asked = draft.asked or Asked(0)
            return self._published.campaign.kind.report_one(
                by_hash[draft.person].answer, asked, questions.get(draft.person)
            )

        refused |= self._memory.draw(*self._where, drafts, drawn)
        if refused:
            self.tally.reasons[ANOTHER_NAME] += len(refused)
        kept = self._memory.recall(*self._where, [hash for hash in by_hash if hash not in refused])
        self.tally.already += sum(map(_done, kept.values()))
        self._send([each for each in kept.values() if not _done(each)], self.tally)

    def _hash(self, person: Person) -> bytes:
        if not person.name.strip():
            raise InputError("a person needs a name: it stays here, and tells who has answered already")
        return self._memory.person(self._published.id, person.name)

    def _drafts(self, people: Mapping[bytes, Person]) -> list[Draft]:
        folded = folded_names(pl.Series([person.name for person in people.values()], dtype=pl.String))
        return [
            Draft(
                hash,
                self._token(person),
                name=self._memory.name(self._published.id, name),
                distinct=self._distinct,
            )
            for (hash, person), name in zip(people.items(), folded.to_list(), strict=True)
        ]

    def _token(self, person: Person) -> str:
        token = person.participant
        if token is None:
            if self._published.campaign.admission != "open":
                raise InputError(
                    "this campaign is by invitation: each person needs one (--participants FILE)"
                )
            token = self._memory.participant(self._published.id, person.name)
        if TOKEN.fullmatch(token) is None:
            raise ParameterError("a participant's token is 1 to 200 printable ASCII characters, no blanks")
        return token

    def _seated(self, drafts: Sequence[Draft]) -> tuple[list[Draft], dict[bytes, Mapping[str, Any]]]:
        """Drafts with their places, and what is asked there; whoever is given none is counted.

        Whoever was invited has a place wherever they answer. If a report came from there already, this memory
        is not the one that has it: drawing again would be fresh noise.
        """
        campaign = self._published.campaign
        if not drafts or not (campaign.kind.asks_by_place or campaign.admission == "invited"):
            return list(drafts), {}
        lines = [
            json.dumps({"participant": draft.participant, "wave": self._published.wave}).encode()
            for draft in drafts
        ]
        seated: list[Draft] = []
        questions: dict[bytes, Mapping[str, Any]] = {}
        for draft, answer in zip(drafts, self._client.batch("places", lines), strict=True):
            if answer.status != 200:
                self.tally.reasons[answer.problem] += 1
                continue
            if answer.said.get("reported") is True:
                self.tally.reasons[REPORTED] += 1
                continue
            seated.append(replace(draft, asked=self._place(answer)))
            if isinstance(question := answer.said.get("question"), dict):
                questions[draft.person] = question
        return seated, questions

    def _place(self, answer: LineAnswer) -> Asked:
        place, number, wave = (answer.said.get(name) for name in ("place", "round", "wave"))
        if type(place) is not int or type(number) is not int or wave != self._published.wave:
            raise InputError("the server gave a place that cannot be")
        if not (0 <= place < MOST_PEOPLE and 0 <= number <= LARGEST_ROUND):
            raise InputError("the server gave a place that cannot be")
        return Asked(place, number)

    def _send(self, waiting: Sequence[Kept], tally: Tally) -> None:
        """Send reports, note what became of each, and count it."""
        answers = self._client.batch("reports", [_line(kept) for kept in waiting])
        outcomes: dict[int, dict[bytes, str]] = {}
        for kept, answer in zip(waiting, answers, strict=True):
            outcome = ACCEPTED if answer.status in (200, 201) else answer.problem
            if outcome != PAUSED:  # which is no answer: it is sent again, in later waves, too
                outcomes.setdefault(kept.wave, {})[kept.person] = outcome
        for wave, noted in outcomes.items():
            self._memory.note(self._published.id, wave, noted)
        for answer in answers:
            if answer.status == 201 or (answer.status == 200 and answer.again):
                tally.sent += 1
            elif answer.status == 200:
                tally.already += 1
            else:
                tally.reasons[answer.problem] += 1


def _line(kept: Kept) -> bytes:
    line: dict[str, str | int] = {"participant": kept.participant, "key": kept.key, "wave": kept.wave}
    if kept.round is not None:
        line["round"] = kept.round
    return json.dumps(line)[:-1].encode() + b', "report": ' + kept.report.encode() + b"}"


def _done(kept: Kept | None) -> bool:
    return kept is not None and kept.outcome == ACCEPTED
