"""An audit: a privacy claim, two neighbouring inputs, and events that may distinguish their outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags, Floats
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, Words, chacha, seeded

Outputs = NDArray[Any]  # one draw in each row
Draws = Callable[[int, int, Randomness], Outputs]
"""A function of the world (0 or 1), the number of draws and fresh randomness."""

USUAL_DRAWS = 200_000


@dataclass(frozen=True)
class Event:
    """A property of an output that an attacker can observe."""

    name: str
    happens: Callable[[Outputs], Flags]


@dataclass(frozen=True)
class Audit:
    """A mechanism's claimed (epsilon, delta) and how to attack it.

    Rows of `draws` must be independent. There may be many events: the tested one is selected on separate
    draws. The name of an audit contains "paper" if and only if the claim is a paper's and not ours.

    Where the chances of whole outputs are known, `log_ratios` gives log(chance in world 0 / in world 1) of
    each draw, exactly, in its first column; further columns are those of outputs that were not drawn but are
    possible in the same world. Then a claim is also refuted by a single ratio beyond epsilon or, with a
    delta, by their mean excess.
    """

    name: str
    epsilon: float
    delta: float
    unit: str  # what is protected, in words
    whose: Literal["ours", "paper"]
    worlds: str  # what the two inputs are, in words
    draws: Draws
    events: tuple[Event, ...]
    usual: int = USUAL_DRAWS  # draws in each world; half of them select the event
    log_ratios: Callable[[Outputs], Floats] | None = None

    def __post_init__(self) -> None:
        if ("paper" in self.name) != (self.whose == "paper"):
            raise ParameterError(f"{self.name!r}: the name of a paper's claim, and no other, says so")
        if not self.events:
            raise ParameterError(f"{self.name!r} has no event to look for")


def output(out: Outputs) -> Outputs:
    """The output itself."""
    return out


def column(number: int) -> Callable[[Outputs], Outputs]:
    """A function that gives one column of the outputs."""
    return lambda out: out[:, number]


def at_least(
    thresholds: Iterable[float], what: str = "output", of: Callable[[Outputs], Outputs] = output
) -> tuple[Event, ...]:
    """The events "what >= c" for each threshold c; `of` gives the compared numbers."""

    def event(c: float) -> Event:
        return Event(f"{what} >= {c:g}", lambda out: of(out) >= c)

    return tuple(event(c) for c in thresholds)


def equal(
    values: Iterable[int], what: str = "output", of: Callable[[Outputs], Outputs] = output
) -> tuple[Event, ...]:
    """The events "what = c" for each value c; `of` gives the compared numbers."""

    def event(c: int) -> Event:
        return Event(f"{what} = {c}", lambda out: of(out) == c)

    return tuple(event(c) for c in values)


def fresh_state(rng: Randomness) -> Words:
    """A new ChaCha20 state, for loops that take one."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = rng.streams(["state"], purpose="audit")
    chacha.start(state, key, nonces[0])
    return state


def separate(rng: Randomness, count: int) -> list[Randomness]:
    """Independent randomness for each of `count` calls."""
    if rng.private:
        return [rng] * count  # a new key at every use
    return repeatable(rng, count)


def repeatable(rng: Randomness, count: int) -> list[Randomness]:
    """Independent randomness for each of `count` cases, each with one key, so that a case can be rerun."""
    seeds = 2**53 * rng.stream("separate", purpose="audit").uniforms(count)
    return [seeded(int(seed)) for seed in seeds]
