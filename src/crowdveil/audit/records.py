"""Audits of reports about records: neighbouring inputs are two records that differ in every column.

A report for a synthetic table holds several values, each randomized with its share of epsilon. The attacker
sees all values of a report.
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
    """A declared schema of columns with these numbers of values."""
    return Schema(
        tuple(Column(f"c{place}", tuple(map(str, range(size)))) for place, size in enumerate(sizes))
    )


PAIR, TRIPLE = columns((5, 5)), columns((3, 3, 3))
SAMPRIVSYN, ALL_COLUMNS = samprivsyn.SamPrivSyn(1.0), krr.AllColumns(1.0)
LOPUB = lopub.LoPub(1.0, hashes=1)  # few differing bits, so that all of them often agree
FILTERS = [bloom.patterns for bloom in LOPUB.filters(PAIR)]


def alike(schema: Schema, world: int, count: int) -> Records:
    """`count` records with the value 0 in every column, or with the value 1."""
    return Records(schema, np.full((count, len(schema.sizes)), world, dtype=np.int32))


def pairs(epsilon: float) -> Draws:
    """Draws of the reports of one batch, as counted by SamPrivSyn's server, in the order of their values.

    There is only one pair of columns, so everybody is asked about it.
    """

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        people, design = alike(PAIR, world, count), samprivsyn.SamPrivSyn(epsilon, batch=count)
        (table,) = collected(people, design, rng=rng).tables
        return np.repeat(np.arange(table.support.size), table.support)

    return draws


def all_columns(epsilon: float) -> Draws:
    """Draws of the reports of all three columns, as joint codes."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        reports = krr.reported(alike(TRIPLE, world, count), krr.AllColumns(epsilon), rng=rng)
        joint: Outputs = reports @ np.array([9, 3, 1])
        return joint

    return draws


def filters(epsilon: float) -> Draws:
    """Draws of the reports of both columns, as concatenated bits."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return np.hstack(lopub.reported(alike(PAIR, world, count), replace(LOPUB, epsilon=epsilon), rng=rng))

    return draws


def outcomes(schema: Schema) -> tuple[Event, ...]:
    """One event for each possible combination of reported values."""

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
        agreeing(*(np.concatenate([patterns[value] for patterns in FILTERS]) for value in (0, 1))),
    ),
)
