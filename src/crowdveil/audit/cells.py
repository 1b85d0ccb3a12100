"""Audits of sparse answers: the privacy of an answer, and of whether there is one.

The mechanisms are those of `crowdveil.local` themselves, not simulations. Users are independent, so one call
on many users with the same answers gives as many draws. In all audits but "values", a cell has no answer in
one world and an answer in the other.

The paper claims that its factorization hides whether there is an answer. It does not: its noise is divided by
the number of answers, so large profiles reveal that there are few.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from crowdveil.answers import Answers, Domain
from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, column, equal
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.reports import CellMechanism, report
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.randomness import Randomness

NULL = None
Row = tuple[int | None, ...]  # a user's answer, or none, for each object
Sent = Callable[[Answers, Randomness], Outputs]

FIVE, TEN = Domain(0, 4), Domain(0, 9)
RESPONSE = CellResponse(1.0, FIVE)
SYMBOLS = CellResponse(1.0, TEN, levels=2)
LAPLACE = LaplaceCells(1.0, TEN, null=0)
LAYERS = TwoLayer(1.0, FIVE)
SUMS = SoundFactorization(1.0, TEN)
PROFILES = Factorization(1.0, TEN)  # one dimension: all objects have the profile 1
_OTHERS = 29  # cells besides the attacked one


@lru_cache(maxsize=16)
def same_users(row: Row, domain: Domain, count: int) -> Answers:
    """`count` users with the same answers `row` about objects 0, 1, ..."""
    objects = [place for place, answer in enumerate(row) if answer is not None]
    codes = [answer - domain.low for answer in row if answer is not None]
    return Answers(
        objects=pl.Series(np.arange(len(row))),
        users=pl.Series(np.arange(count)),
        domain=domain,
        offsets=np.arange(count + 1) * len(objects),
        object_codes=np.tile(np.array(objects, dtype=np.int32), count),
        codes=np.tile(np.array(codes, dtype=np.uint8), count),
        moved=0,
    )


def sent(send: Sent, domain: Domain, *worlds: Row) -> Draws:
    """Draws of the reports of users with the answers of one world or the other; one row per user."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return send(same_users(worlds[world], domain, count), rng)

    return draws


def rows(mechanism: CellMechanism) -> Sent:
    """The reports as devices send them."""
    return lambda answers, rng: report(answers, mechanism, rng=rng).rows


def noisy_sums(parameters: SoundFactorization) -> Sent:
    """The two noisy sums of users with one dimension: of centred answers, and of their number."""

    def send(answers: Answers, rng: Randomness) -> Outputs:
        reports = report(answers, parameters, rng=rng).read()
        return np.column_stack([reports.answer_sums(), reports.product_sums()[:, 0]])

    return send


def both_at_least(*corners: tuple[float, float]) -> tuple[Event, ...]:
    """The events that both sums reach a corner (first, second)."""

    def event(first: float, second: float) -> Event:
        def happens(out: Outputs) -> Any:
            return (out[:, 0] >= first) & (out[:, 1] >= second)

        return Event(f"answers >= {first:g} and number >= {second:g}", happens)

    return tuple(event(*corner) for corner in corners)


def kept_with_others(symbol: int, others: int, fewest: tuple[int, ...]) -> tuple[Event, ...]:
    """The events that the first cell reports `symbol` and at least c of the other cells `others`."""

    def event(c: int) -> Event:
        def happens(out: Outputs) -> Any:
            return (out[:, 0] == symbol) & ((out[:, 1:] == others).sum(axis=1) >= c)

        return Event(f"told as it was, and >= {c} others too", happens)

    return tuple(event(c) for c in fewest)


RESPONSE_AUDIT = Audit(
    name="cell-response",
    epsilon=RESPONSE.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"no answer or answer 0 of {FIVE.size}",
    draws=sent(rows(RESPONSE), FIVE, (NULL,), (0,)),
    events=equal(range(FIVE.size + 1), "symbol", column(0)),
)

THREE_SYMBOLS_AUDIT = Audit(
    name="three-symbols",
    epsilon=SYMBOLS.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"no answer or the highest of {TEN.size}",
    draws=sent(rows(SYMBOLS), TEN, (NULL,), (TEN.high,)),
    events=equal(range(3), "symbol", column(0)),
)

LAPLACE_AUDIT = Audit(
    name="laplace-cells",
    epsilon=LAPLACE.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"no answer, which counts as the lowest of {TEN.size}, or the highest",
    draws=sent(rows(LAPLACE), TEN, (NULL,), (TEN.high,)),
    events=at_least((-9, 0, 5, 9, 10, 15, 20), of=column(0)),
)

TWO_LAYER_AUDIT = Audit(
    name="two-layer",
    epsilon=LAYERS.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"{_OTHERS} cells without an answer, and one more or answer 0",
    draws=sent(rows(LAYERS), FIVE, (NULL,) * (1 + _OTHERS), (0,) + (NULL,) * _OTHERS),
    events=(
        *kept_with_others(0, FIVE.size, (0, 15, 18, 20, 22)),
        *kept_with_others(FIVE.size, FIVE.size, (0, 15, 18, 20, 22)),
    ),
)

SUMS_AUDIT = Audit(
    name="sound-factorization",
    epsilon=SUMS.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"no answer or the highest of {TEN.size}, one dimension",
    draws=sent(noisy_sums(SUMS), TEN, (NULL,), (TEN.high,)),
    events=both_at_least((0, 0), (2.25, 0.5), (4.5, 1), (4.5, -9), (-99, 1)),
)

SUMS_VALUES_AUDIT = Audit(
    name="sound-factorization-values",
    epsilon=SUMS.promise().epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="ours",
    worlds=f"the lowest answer or the highest of {TEN.size}, one dimension",
    draws=sent(noisy_sums(SUMS), TEN, (TEN.low,), (TEN.high,)),
    events=at_least((-4.5, 0, 4.5, 9), "answers", column(0)),
)

PAPER_AUDIT = Audit(
    name="factorization-paper",
    epsilon=PROFILES.epsilon,
    delta=0.0,
    unit="a cell, local",
    whose="paper",
    worlds=f"the highest of {TEN.size} answers alone, or beside the lowest; one dimension",
    draws=sent(rows(PROFILES), TEN, (TEN.high, NULL), (TEN.high, TEN.low)),
    events=at_least((20, 25, 30, 40), "|profile|", lambda out: np.abs(out[:, 0])),
)
