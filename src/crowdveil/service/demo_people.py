"""The simulated people of a demonstration: made-up answers, perturbed and sent as a gateway does.

A first crowd answers at once, then a few people every two seconds, until all have. The answers are made up
from a seed; the noise is drawn as for everybody.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.client.campaign_client import CampaignClient
from crowdveil.client.delivery import Delivery, Person
from crowdveil.client.memory import Memory
from crowdveil.errors import CrowdveilError
from crowdveil.randomness import seeded
from crowdveil.service.demo import EFFECTS, SCHEMA, STREETS

PEOPLE, AT_ONCE, AFTERWARDS = 600, 150, 4  # in each campaign: in all, first, and then each time
PAUSE = 2.0  # seconds
NICE = 5
SEED = 7


def answers(kind: str) -> list[dict[str, Any]]:
    """What each of the people would say."""
    stream = seeded(SEED).stream(kind, purpose="demo")
    uniforms = stream.uniforms(PEOPLE * 80).reshape(PEOPLE, 80)
    normals = stream.normals(PEOPLE * len(STREETS)).reshape(PEOPLE, len(STREETS))
    return [_SAID[kind](*rows) for rows in zip(uniforms, normals, strict=True)]


def _noise(row: Floats, errors: Floats) -> dict[str, Any]:
    """Two of three streets, to within a few decibels; one in ten people has a bad device."""
    spread = 12.0 if row[-1] < 0.1 else 3.0
    heard = row[: len(STREETS)] < 2 / 3
    return {
        name: round(float(truth + spread * error), 1)
        for (name, truth), there, error in zip(STREETS.items(), heard, errors, strict=True)
        if there
    }


def severity(place: int) -> int:
    """How severe an effect is, for most."""
    return (4, 3, 3, 2, 1, 2, 0, 1)[place % 8]


def _effects(row: Floats, _errors: Floats) -> dict[str, Any]:
    """One in four effects, as severe as for most, or one level off."""
    count = len(EFFECTS)
    shifts = np.where(row[count : 2 * count] < 0.7, 0, np.where(row[2 * count : 3 * count] < 0.5, -1, 1))
    return {
        name: min(4, max(0, severity(place) + int(shifts[place])))
        for place, name in enumerate(EFFECTS)
        if row[place] < 0.25
    }


def _work(row: Floats, _errors: Floats) -> dict[str, Any]:
    """The farther, the less on foot; who goes by bicycle is content."""
    distance = float(-9 * np.log1p(-row[0]))
    ways = SCHEMA["columns"]["way to work"]["values"]
    chances = (0.6, 0.3, 0.07, 0.03) if distance < 2 else (0.05, 0.35, 0.3, 0.3)
    chances = chances if distance < 10 else (0.0, 0.05, 0.4, 0.55)
    way = ways[min(3, int(np.searchsorted(np.cumsum(chances), row[1], side="right")))]
    happy = {"bicycle": 0.8, "on foot": 0.7}.get(way, 0.35)
    content = "yes" if row[2] < happy else "partly" if row[3] < 0.6 else "no"
    return {
        "age": round(16 + 52 * float(row[4]) ** 1.2),
        "way to work": way,
        "distance": round(distance, 1),
        "content": content,
    }


_SAID = {"sensing": _noise, "sparse": _effects, "records": _work}


class Crowd:
    """The people of one campaign: some have answered, others will."""

    def __init__(self, url: str, memory: Memory) -> None:
        self._client, self._memory = CampaignClient(url), memory
        self._waiting: list[Mapping[str, Any]] | None = None
        self._answered = 0

    def go_on(self) -> bool:
        """Let the next people answer; whether there are more."""
        try:
            published = self._client.look()
            if published.state == "closed":
                return False
            if self._waiting is None:
                self._waiting = list(answers(published.campaign.kind.name))
            if published.state == "open":
                count = AFTERWARDS if self._answered else AT_ONCE
                now, self._waiting = self._waiting[:count], self._waiting[count:]
                people = [Person(f"p{self._answered + at}", said) for at, said in enumerate(now)]
                Delivery(self._client, published, self._memory, distinct_names=True).deliver(people)
                self._answered += len(people)
        except CrowdveilError:  # it was paused, closed or deleted meanwhile
            return self._answered > 0
        return bool(self._waiting)


def main(url: str, folder: str, ids: list[str]) -> None:
    """Let everybody answer; it ends when they have, or when the server that started it is gone."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    os.nice(NICE)
    memory = Memory(Path(folder) / "people.sqlite3")
    crowds = [Crowd(f"{url}/c/{id}", memory) for id in ids]
    for _ in range(10 * PEOPLE):
        crowds = [crowd for crowd in crowds if crowd.go_on()]
        if not crowds:
            return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
