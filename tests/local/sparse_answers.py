"""What tests of sparse answers share: rows of answers, laws in exact fractions, and chi-square tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import chi2

from crowdveil.answers import Answers, Domain
from crowdveil.local.reports import CellMechanism, report
from crowdveil.randomness import Randomness, Words, chacha, seeded

ERROR = 1e-6
NULL = None
Row = Sequence[int | None]  # an answer, or none, for each object


def answers_of(rows: Sequence[Row], domain: Domain, users: Sequence[str | int] | None = None) -> Answers:
    """A table with a row for each user."""
    objects = [[j for j, answer in enumerate(row) if answer is not None] for row in rows]
    codes = [[answer - domain.low for answer in row if answer is not None] for row in rows]
    return Answers(
        objects=pl.Series([f"object {j}" for j in range(len(rows[0]))]),
        users=pl.Series(list(range(len(rows))) if users is None else list(users)),
        domain=domain,
        offsets=np.cumsum([0, *map(len, objects)]).astype(np.int64),
        object_codes=np.array([j for row in objects for j in row], dtype=np.int32),
        codes=np.array([code for row in codes for code in row], dtype=np.uint8),
        moved=0,
    )


def crowd(row: Row, domain: Domain, users: int) -> Answers:
    """So many users with the same answers."""
    one = answers_of([row], domain)
    return Answers(
        objects=one.objects,
        users=pl.Series(np.arange(users)),
        domain=domain,
        offsets=np.arange(users + 1) * len(one),
        object_codes=np.tile(one.object_codes, users),
        codes=np.tile(one.codes, users),
        moved=0,
    )


def largest_log_ratio(laws: Sequence[Sequence[Fraction]]) -> float:
    """Over all pairs of inputs and all outputs, from exact chances."""
    return max(log(max(chances) / min(chances)) for chances in zip(*laws, strict=True))


def follows(observed: NDArray[Any], chances: NDArray[Any]) -> bool:
    """The chi-square test of counts; each is expected at least 20 times."""
    expected = np.asarray(chances, dtype=np.float64) * observed.sum()
    assert expected.min() >= 20
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return statistic <= float(chi2.isf(ERROR, expected.size - 1))


def stream(user: str | int, purpose: str, seed: int = 1) -> Words:
    """The stream of one user, as a device that knows nobody else would begin it."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(seed).streams([user], purpose=purpose)
    chacha.start(state, key, nonces[0])
    return state


def received(answers: Answers, mechanism: CellMechanism, *, rng: Randomness | None = None) -> Any:
    """What the server reads of all devices' reports."""
    return report(answers, mechanism, rng=rng).read()


def fill_alone(mechanism: CellMechanism, name: str | int, answers: Answers, out: NDArray[Any]) -> None:
    """Fill `out` as the device of the only user would, whose stream is that of the name."""
    device = mechanism.device(answers.objects, np.array([0]))
    device(0, stream(name, mechanism.method), answers.object_codes, answers.codes, out)
