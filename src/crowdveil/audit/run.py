"""Running audits: draw in both worlds, select the event on one half of the draws, test it on the other.

Where an audit knows the exact log-likelihood ratio of each draw, these count too: the largest of them, and
how far they exceed epsilon on average.

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

from crowdveil.arrays import Floats, Ints
from crowdveil.audit.bounds import Counts, LowerBounds, lower_bounds, lower_mean
from crowdveil.audit.case import Audit, Event, Outputs
from crowdveil.engines import Progress, on_threads
from crowdveil.engines.local import silent
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, secure, seeded

ALPHA = 1e-3
FEWEST_DRAWS = 100
BATCH = 20_000
PICK, TEST = 0, 1
ROUNDING = 1e-9  # of a log-likelihood ratio


@dataclass(frozen=True)
class Ratios:
    """What the exact log-likelihood ratios of all draws, of both halves, show."""

    largest: float  # of the drawn world over the other one
    delta: float  # lower bound of the mean of [1 - e^(epsilon - ratio)]+, which delta must cover

    def refute(self, audit: Audit) -> bool:
        """Whether they contradict the claim: one ratio is enough if no delta is claimed."""
        if audit.delta == 0:
            return self.largest > audit.epsilon + ROUNDING
        return self.delta > audit.delta


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
    ratios: Ratios | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim is false; a true claim is called false with probability at most alpha."""
        by_ratios = self.ratios is not None and self.ratios.refute(self.audit)
        return by_ratios or self.bounds.delta > self.audit.delta

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
            "measured": self.measured,
            "verdict": self.verdict,
            "worlds": self.audit.worlds,
            "event": self.event.name,
            "likelier_world": self.likelier,
            "hits": [self.counts.hits, self.counts.other_hits],
            "tested_draws": self.counts.draws,
            "alpha": self.alpha,
            "seeded": self.seeded,
            "exact": self.ratios is not None,
        }

    @property
    def measured(self) -> dict[str, float | str | None]:
        """The largest epsilon and delta that events or exact ratios show."""
        epsilon, delta = self.bounds.epsilon, max(0.0, self.bounds.delta)
        if self.ratios is not None and self.audit.delta == 0:
            epsilon = max(self.ratios.largest, -np.inf if epsilon is None else epsilon)
        elif self.ratios is not None:
            delta = max(delta, self.ratios.delta)
        return {"epsilon": "infinite" if epsilon == np.inf else epsilon, "delta": delta}


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
    hits, largest, excess = _count(audit, half, seed, threads, progress)
    # Exact ratios with a delta take half of alpha: a quarter for the mean excess in either world.
    both = audit.log_ratios is not None and audit.delta > 0
    for_events = alpha / 2 if both else alpha
    event, likelier = _pick(audit, hits[PICK], half, for_events)
    counts = _counts(hits[TEST], event, likelier, half)
    # One event in one direction, selected on separate draws: a single comparison.
    bounds = lower_bounds(counts, epsilon=audit.epsilon, delta=audit.delta, alpha=for_events)
    ratios = None
    if audit.log_ratios is not None:
        shown = [lower_mean(float(total) / (2 * half), 2 * half, alpha / 4) for total in excess]
        ratios = Ratios(largest, max(shown))
    return Outcome(
        audit, audit.events[event], likelier, counts, bounds, alpha, seeded=seed is not None, ratios=ratios
    )


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


def _count(
    audit: Audit, half: int, seed: int | None, threads: int | None, progress: Progress
) -> tuple[Ints, float, Floats]:
    """Counts of events by half, world and event; the largest exact log-ratio, and the excesses by world."""
    batches = list(_batches(half))

    def count_events(index: int) -> tuple[list[int], float, float]:
        which, world, number, size = batches[index]
        out = audit.draws(world, size, _randomness(seed, audit.name, which, world, number))
        if len(out) != size:
            raise AssertionError(f"{audit.name} gave {len(out)} draws instead of {size}")
        events = [int(np.count_nonzero(event.happens(out))) for event in audit.events]
        return events, *_losses(audit, out, world)

    counts = on_threads(count_events, len(batches), threads=threads, progress=partial(progress, audit.name))
    hits = np.zeros((2, 2, len(audit.events)), dtype=np.int64)
    excess = np.zeros(2)
    for (which, world, _, _), (events, _, more) in zip(batches, counts, strict=True):
        hits[which, world] += events
        excess[world] += more
    return hits, max(largest for _, largest, _ in counts), excess


def _losses(audit: Audit, out: Outputs, world: int) -> tuple[float, float]:
    """The largest privacy loss among all outputs, and the sum of [1 - e^(epsilon - loss)]+ over the draws."""
    if audit.log_ratios is None:
        return -np.inf, 0.0
    losses = (1 - 2 * world) * audit.log_ratios(out).reshape(len(out), -1)
    excess = -np.expm1(np.minimum(0.0, audit.epsilon - losses[:, 0]))
    return float(losses.max()), float(excess.sum())


def _randomness(seed: int | None, *names: object) -> Randomness:
    """Randomness of one batch: batches of one seed must not share draws."""
    if seed is None:
        return secure()
    seeded(seed)  # raises an error if it is not a seed
    digest = hashlib.blake2b(repr((seed, *names)).encode(), digest_size=16)
    return seeded(int.from_bytes(digest.digest()))
