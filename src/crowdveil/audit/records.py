"""Audits of reports about records: neighbours are two people whose records differ in every column.

What is attacked is what devices send for a synthetic table: several values in one report, each randomized
with its share of epsilon. An attacker sees all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import cast

import numpy as np

from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least
from crowdveil.audit.oracles import UNIT, agreeing
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.randomness import Randomness
from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis import krr, lopub, samprivsyn
from crowdveil.synthesis.simulated import collected


def columns(sizes: Sequence[int]) -> Schema:
    """Declared columns with so many values."""
    return Schema(
        tuple(Column(f"c{place}", tuple(map(str, range(size)))) for place, size in enumerate(sizes))
    )


PAIR, TRIPLE = columns((5, 5)), columns((3, 3, 3))
SAMPRIVSYN, ALL_COLUMNS = samprivsyn.SamPrivSyn(1.0), krr.AllColumns(1.0)
LOPUB = lopub.LoPub(1.0, hashes=1)  # few bits that differ, so that it is not rare that all of them tell
FILTERS = [each.patterns for each in LOPUB.filters(PAIR)]


def alike(schema: Schema, world: int, count: int) -> Records:
    """People who all hold value 0 in every column, or all value 1."""
    return Records(schema, np.full((count, len(schema.sizes)), world, dtype=np.int32))


def pairs(epsilon: float) -> Draws:
    """Reports of people in one batch, as SamPrivSyn's server counts them, those alike side by side.

    There is one pair, so that everybody is asked about it.
    """

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        people, design = alike(PAIR, world, count), samprivsyn.SamPrivSyn(epsilon, batch=count)
        (table,) = collected(people, design, rng=rng).tables
        return np.repeat(np.arange(table.support.size), table.support)

    return draws


def all_columns(epsilon: float) -> Draws:
    """Reports of all three columns, as joint codes."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        told = krr.reported(alike(TRIPLE, world, count), krr.AllColumns(epsilon), rng=rng)
        joint: Outputs = told @ np.array([9, 3, 1])
        return joint

    return draws


def filters(epsilon: float) -> Draws:
    """Reports of both columns, as bits side by side."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return np.hstack(lopub.reported(alike(PAIR, world, count), replace(LOPUB, epsilon=epsilon), rng=rng))

    return draws


def outcomes(schema: Schema) -> tuple[Event, ...]:
    """An event for every possible report of one value for each column."""

    def event(code: int, values: Sequence[int]) -> Event:
        return Event(f"values = {', '.join(map(str, values))}", lambda out: out == code)

    return tuple(event(code, values) for code, values in enumerate(product(*map(range, schema.sizes))))


def promised(promise: Promise) -> float:
    """The epsilon of a promise about declared columns."""
    return cast(Guarantee, promise).epsilon


SAMPRIVSYN_AUDIT = Audit(
    name="samprivsyn",
    epsilon=promised(SAMPRIVSYN.promise(PAIR)),
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds="values 0 and 0, or 1 and 1, of two columns of 5",
    draws=pairs(SAMPRIVSYN.epsilon),
    events=outcomes(PAIR),
)

ALL_COLUMNS_AUDIT = Audit(
    name="krr-all-columns",
    epsilon=promised(ALL_COLUMNS.promise(TRIPLE)),
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds="value 0 or value 1 in each of three columns of 3",
    draws=all_columns(ALL_COLUMNS.epsilon),
    events=outcomes(TRIPLE),
)

LOPUB_AUDIT = Audit(
    name="lopub",
    epsilon=promised(LOPUB.promise(PAIR)),
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds="values 0 and 0, or 1 and 1, of two columns of 5, one bit of 64 for each value",
    draws=filters(LOPUB.epsilon),
    events=at_least(
        range(1, 5),
        "bits like those of 0 and 0",
        agreeing(*(np.concatenate([each[value] for each in FILTERS]) for value in (0, 1))),
    ),
)
