"""What an audit is: a claim, two neighbouring inputs to draw from, and events that may tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, Words, chacha, seeded

Outputs = NDArray[Any]  # one draw in each row
Draws = Callable[[int, int, Randomness], Outputs]
"""Called with a world (0 or 1), how many draws, and fresh randomness."""

USUAL_DRAWS = 200_000


@dataclass(frozen=True)
class Event:
    """Something that an attacker can see in an output."""

    name: str
    happens: Callable[[Outputs], Flags]


@dataclass(frozen=True)
class Audit:
    """A mechanism's claim (epsilon, delta) and how to attack it.

    Rows of `draws` must be independent of each other. Events may be many: the one that is tested is
    picked on other draws. A claim of a paper that is not ours says so in its name.
    """

    name: str
    epsilon: float
    delta: float
    unit: str  # what is protected, in words
    whose: Literal["ours", "paper"]
    worlds: str  # what the two inputs are, in words
    draws: Draws
    events: tuple[Event, ...]
    usual: int = USUAL_DRAWS  # draws in each world, half of them to pick the event

    def __post_init__(self) -> None:
        if ("paper" in self.name) != (self.whose == "paper"):
            raise ParameterError(f"{self.name!r}: the name of a paper's claim, and no other, says so")
        if not self.events:
            raise ParameterError(f"{self.name!r} has no event to look for")


def whole(out: Outputs) -> Outputs:
    """All of an output."""
    return out


def column(number: int) -> Callable[[Outputs], Outputs]:
    """One column of outputs that have several."""
    return lambda out: out[:, number]


def at_least(
    thresholds: Iterable[float], what: str = "output", of: Callable[[Outputs], Outputs] = whole
) -> tuple[Event, ...]:
    """The events "what >= c", where `of` reads what is compared."""

    def event(c: float) -> Event:
        return Event(f"{what} >= {c:g}", lambda out: of(out) >= c)

    return tuple(event(c) for c in thresholds)


def equal(
    values: Iterable[int], what: str = "output", of: Callable[[Outputs], Outputs] = whole
) -> tuple[Event, ...]:
    """The events "what = c"."""

    def event(c: int) -> Event:
        return Event(f"{what} = {c}", lambda out: of(out) == c)

    return tuple(event(c) for c in values)


def fresh_state(rng: Randomness) -> Words:
    """A new ChaCha20 state for a loop that takes one."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = rng.streams(["state"], purpose="audit")
    chacha.start(state, key, nonces[0])
    return state


def separate(rng: Randomness, count: int) -> list[Randomness]:
    """Randomness for each of so many calls, none of which may share draws."""
    if rng.private:
        return [rng] * count  # takes a new key at every use
    seeds = 2**53 * rng.stream("separate", purpose="audit").uniforms(count)
    return [seeded(int(seed)) for seed in seeds]
