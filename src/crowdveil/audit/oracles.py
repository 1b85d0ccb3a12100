"""Audits of frequency oracles: neighbours are two people who hold different cells of a table.

What is attacked is what devices send, for many people with the same code at once: reports are independent.
An attacker sees all of a report: every bit of it, and the seed of its hash.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, equal
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.randomness import Randomness

CELLS = 6
KRR_CELLS, OUE_CELLS, OLH_CELLS = KRR(1.0, CELLS), OUE(1.0, CELLS), OLH(1.0, CELLS)
BLOOM_CELLS = Bloom(1.0, CELLS, bits=8)  # codes 0 and 1 have no bit in common
UNIT = "a record, local"
WORLDS = f"cell 0 or cell 1 of {CELLS}"


def reports(oracle: KRR | OUE | OLH | Bloom) -> Draws:
    """Reports of people who all hold cell 0, or all cell 1."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return oracle.perturb(np.full(count, world, dtype=np.int64), rng=rng)

    return draws


def bits_of(out: Outputs) -> Outputs:
    """Bits of packed reports, the first one first."""
    return np.unpackbits(out, axis=1, bitorder="little")


def bit_events(first: int, second: int) -> tuple[Event, ...]:
    """The events that one of two bits is set, or the one and not the other."""

    def one(bit: int) -> Event:
        return Event(f"bit {bit} is 1", lambda out: bits_of(out)[:, bit] == 1)

    def both(out: Outputs) -> Any:
        bits = bits_of(out)
        return (bits[:, first] == 1) & (bits[:, second] == 0)

    return one(first), one(second), Event(f"bit {first} is 1 and bit {second} is 0", both)


def hash_events(oracle: OLH) -> tuple[Event, ...]:
    """The events that a report, or its seed alone, speaks for cell 0 and not for cell 1."""

    def told(out: Outputs) -> Any:
        first, second = (oracle.hashed(out[:, 0], code) for code in (0, 1))
        return (out[:, 1] == first) & (out[:, 1] != second)

    def seed(out: Outputs) -> Any:
        first, second = (oracle.hashed(out[:, 0], code) for code in (0, 1))
        return (first == 0) & (second != 0)

    return (
        Event("the value is the hash of cell 0 only", told),
        Event("the seed hashes cell 0 only to 0", seed),
        *equal(range(oracle.values), "value", lambda out: out[:, 1]),
    )


def agreeing(first: Outputs, second: Outputs) -> Any:
    """How many of the bits in which two patterns differ are those of the first."""
    places = np.flatnonzero(first != second)

    def many(out: Outputs) -> Ints:
        found: Ints = (bits_of(out)[:, places] == first[places]).sum(axis=1)
        return found

    return many


KRR_AUDIT = Audit(
    name="krr",
    epsilon=KRR_CELLS.promise().epsilon,
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds=WORLDS,
    draws=reports(KRR_CELLS),
    events=equal(range(CELLS), "cell"),
)

OUE_AUDIT = Audit(
    name="oue",
    epsilon=OUE_CELLS.promise().epsilon,
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds=WORLDS,
    draws=reports(OUE_CELLS),
    events=(*bit_events(0, 1), *equal(range(2**CELLS), "bits", lambda out: out[:, 0])),
)

OLH_AUDIT = Audit(
    name="olh",
    epsilon=OLH_CELLS.promise().epsilon,
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds=WORLDS,
    draws=reports(OLH_CELLS),
    events=hash_events(OLH_CELLS),
)

BLOOM_AUDIT = Audit(
    name="bloom",
    epsilon=BLOOM_CELLS.promise().epsilon,
    delta=0.0,
    unit=UNIT,
    whose="ours",
    worlds=f"{WORLDS}, two bits of 8 each",
    draws=reports(BLOOM_CELLS),
    events=at_least(range(1, 5), "bits like those of cell 0", agreeing(*BLOOM_CELLS.patterns[:2])),
)
