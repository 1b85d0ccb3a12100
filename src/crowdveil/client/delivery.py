"""The order in which a report comes about: place, draw, remember, send, note.

A report is on the disk before it is sent, and it is never drawn again. So a process can be killed at any
point: the next one asks for the same place, finds what was drawn, and sends it under the same key.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crowdveil.campaigns.kind import Asked
from crowdveil.client.campaign_client import CampaignClient, LineAnswer, Published
from crowdveil.client.memory import ACCEPTED, Draft, Kept, Memory
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.wire import Wire
from crowdveil.synthesis.collection import MOST_PEOPLE

NOT_INVITED = "not-invited"
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


class Delivery:
    """Delivers the reports of people in one wave of a campaign."""

    def __init__(self, client: CampaignClient, published: Published, memory: Memory) -> None:
        self._client, self._published, self._memory = client, published, memory
        self._where = published.id, published.wave
        self.tally = Tally()
        memory.hold(published.id, published.campaign)

    def deliver(self, people: Sequence[Person]) -> None:
        """Draw for whoever has no report in this wave, and send what was not acknowledged."""
        by_hash = {self._hash(person): person for person in people}
        kept = self._memory.recall(*self._where, by_hash)
        open_ones = {hash: each for hash, each in by_hash.items() if not _done(kept.get(hash))}
        if open_ones and self._published.state != "open":
            raise InputError(WHY_CLOSED.get(self._published.state, "this campaign is not open"))
        self._readdress(open_ones, kept)
        drafts, questions = self._seated(
            [self._draft(hash, person) for hash, person in open_ones.items() if hash not in kept]
        )

        def drawn(draft: Draft) -> Wire:
            asked = draft.asked or Asked(0)
            return self._published.campaign.kind.report_one(
                by_hash[draft.person].answer, asked, questions.get(draft.person)
            )

        self._memory.draw(*self._where, drafts, drawn)
        kept = self._memory.recall(*self._where, by_hash)
        self.tally.already += sum(map(_done, kept.values()))
        self._send([each for each in kept.values() if not _done(each)])

    def _hash(self, person: Person) -> bytes:
        if not person.name.strip():
            raise InputError("a person needs a name: it stays here, and tells who has answered already")
        return self._memory.person(self._published.id, person.name)

    def _draft(self, hash: bytes, person: Person) -> Draft:
        token = person.participant
        if token is None:
            if self._published.campaign.admission != "open":
                raise InputError(
                    "this campaign is by invitation: each person needs one (--participants FILE)"
                )
            token = self._memory.participant(self._published.id, person.name)
        if TOKEN.fullmatch(token) is None:
            raise ParameterError("a participant's token is 1 to 200 printable ASCII characters, no blanks")
        return Draft(hash, token)

    def _readdress(self, people: Mapping[bytes, Person], kept: Mapping[bytes, Kept]) -> None:
        """Where a token was no invitation and there is another one now, take that."""
        tokens = {
            hash: person.participant
            for hash, person in people.items()
            if person.participant is not None and hash in kept and kept[hash].outcome == NOT_INVITED
        }
        if tokens:
            self._memory.readdress(*self._where, tokens)

    def _seated(self, drafts: Sequence[Draft]) -> tuple[list[Draft], dict[bytes, Mapping[str, Any]]]:
        """Drafts with their places, and what is asked there; whoever is given none is counted."""
        if not self._published.campaign.kind.asks_by_place or not drafts:
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
            seated.append(Draft(draft.person, draft.participant, self._place(answer)))
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

    def _send(self, waiting: Sequence[Kept]) -> None:
        """Send reports, and note what became of each."""
        answers = self._client.batch("reports", [self._line(kept) for kept in waiting])
        outcomes = {}
        for kept, answer in zip(waiting, answers, strict=True):
            accepted = answer.status in (200, 201)
            outcomes[kept.person] = ACCEPTED if accepted else answer.problem
        self._memory.note(*self._where, outcomes)
        for answer in answers:
            if answer.status == 201 or (answer.status == 200 and answer.again):
                self.tally.sent += 1
            elif answer.status == 200:
                self.tally.already += 1
            else:
                self.tally.reasons[answer.problem] += 1

    def _line(self, kept: Kept) -> bytes:
        line = {"participant": kept.participant, "key": kept.key, "wave": self._published.wave}
        if kept.round is not None:
            line["round"] = kept.round
        return json.dumps(line)[:-1].encode() + b', "report": ' + kept.report.encode() + b"}"


def _done(kept: Kept | None) -> bool:
    return kept is not None and kept.outcome == ACCEPTED
