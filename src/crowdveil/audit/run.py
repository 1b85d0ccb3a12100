"""Running audits: draw in both worlds, select the event on one half of the draws, test it on the other.

Draws come in batches of a fixed size, each with its own randomness, and only counts of events are kept. So
the results of a seed do not depend on the number of threads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.audit.bounds import Counts, LowerBounds, lower_bounds
from crowdveil.audit.case import Audit, Event
from crowdveil.engines import on_threads
from crowdveil.engines.local import Progress, silent
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, secure, seeded

ALPHA = 1e-3
FEWEST_DRAWS = 100
BATCH = 20_000
PICK, TEST = 0, 1


@dataclass(frozen=True)
class Outcome:
    """The result of an audit: lower bounds that hold with confidence 1 - alpha, and the verdict."""

    audit: Audit
    event: Event
    likelier: int  # the world in which the event is likelier
    counts: Counts  # of the tested half
    bounds: LowerBounds
    alpha: float
    seeded: bool

    @property
    def refuted(self) -> bool:
        """Whether the claim is false; a true claim is called false with probability at most alpha."""
        return self.bounds.delta > self.audit.delta

    @property
    def verdict(self) -> Literal["refuted", "not refuted"]:
        """The verdict in words."""
        return "refuted" if self.refuted else "not refuted"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON data."""
        return {
            "mechanism": self.audit.name,
            "whose": self.audit.whose,
            "unit": self.audit.unit,
            "claimed": {"epsilon": self.audit.epsilon, "delta": self.audit.delta},
            "measured": {"epsilon": self.bounds.epsilon, "delta": max(0.0, self.bounds.delta)},
            "verdict": self.verdict,
            "worlds": self.audit.worlds,
            "event": self.event.name,
            "likelier_world": self.likelier,
            "hits": [self.counts.hits, self.counts.other_hits],
            "tested_draws": self.counts.draws,
            "alpha": self.alpha,
            "seeded": self.seeded,
        }


def run_audits(
    audits: Iterable[Audit],
    *,
    draws: int | None = None,
    alpha: float = ALPHA,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[Outcome]:
    """Run audits one after another, each on all threads, with `draws` draws in each world."""
    return [
        run_audit(audit, draws=draws, alpha=alpha, seed=seed, threads=threads, progress=progress)
        for audit in audits
    ]


def run_audit(
    audit: Audit,
    *,
    draws: int | None = None,
    alpha: float = ALPHA,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Audit one claim; a true claim is refuted with probability at most `alpha`."""
    draws = audit.usual if draws is None else draws
    if draws < FEWEST_DRAWS:
        raise ParameterError(f"draws must be at least {FEWEST_DRAWS}, not {draws}")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, not {alpha:g}")
    half = draws // 2
    hits = _count(audit, half, seed, threads, progress)
    event, likelier = _pick(audit, hits[PICK], half, alpha)
    counts = _counts(hits[TEST], event, likelier, half)
    # One event in one direction, selected on separate draws: a single comparison.
    bounds = lower_bounds(counts, epsilon=audit.epsilon, delta=audit.delta, alpha=alpha)
    return Outcome(audit, audit.events[event], likelier, counts, bounds, alpha, seeded=seed is not None)


def _counts(hits: Ints, event: int, likelier: int, draws: int) -> Counts:
    return Counts(int(hits[likelier, event]), int(hits[1 - likelier, event]), draws)


def _pick(audit: Audit, hits: Ints, draws: int, alpha: float) -> tuple[int, int]:
    """The event and direction with the largest bound: of delta if one is claimed, then of epsilon."""

    def worth(choice: tuple[int, int]) -> tuple[float, float]:
        bounds = lower_bounds(
            _counts(hits, *choice, draws), epsilon=audit.epsilon, delta=audit.delta, alpha=alpha
        )
        delta = max(0.0, bounds.delta) if audit.delta > 0 else 0.0
        return delta, -np.inf if bounds.epsilon is None else bounds.epsilon

    return max(((event, world) for event in range(len(audit.events)) for world in (0, 1)), key=worth)


def _batches(half: int) -> Iterator[tuple[int, int, int, int]]:
    """The half, world, number and size of each batch."""
    for which in (PICK, TEST):
        for world in (0, 1):
            for number, first in enumerate(range(0, half, BATCH)):
                yield which, world, number, min(BATCH, half - first)


def _count(audit: Audit, half: int, seed: int | None, threads: int | None, progress: Progress) -> Ints:
    """Counts of events, by half, world and event."""
    batches = list(_batches(half))

    def count_events(index: int) -> list[int]:
        which, world, number, size = batches[index]
        out = audit.draws(world, size, _randomness(seed, audit.name, which, world, number))
        if len(out) != size:
            raise AssertionError(f"{audit.name} gave {len(out)} draws instead of {size}")
        return [int(np.count_nonzero(event.happens(out))) for event in audit.events]

    counts = on_threads(count_events, len(batches), threads=threads, progress=partial(progress, audit.name))
    hits = np.zeros((2, 2, len(audit.events)), dtype=np.int64)
    for (which, world, _, _), events in zip(batches, counts, strict=True):
        hits[which, world] += events
    return hits


def _randomness(seed: int | None, *names: object) -> Randomness:
    """Randomness of one batch: batches of one seed must not share draws."""
    if seed is None:
        return secure()
    seeded(seed)  # raises an error if it is not a seed
    digest = hashlib.blake2b(repr((seed, *names)).encode(), digest_size=16)
    return seeded(int.from_bytes(digest.digest()))
