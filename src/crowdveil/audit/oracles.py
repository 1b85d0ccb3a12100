"""Audits of frequency oracles: neighbouring inputs are two different cells of a table.

Reports are independent, so one call on many people with the same cell gives as many draws. The attacker sees
the complete report: all its bits, or the hash seed and value.
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
    """Draws of the reports of people in cell 0, or in cell 1."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return oracle.perturb(np.full(count, world, dtype=np.int64), rng=rng)

    return draws


def bits_of(out: Outputs) -> Outputs:
    """The bits of packed reports, in order."""
    return np.unpackbits(out, axis=1, bitorder="little")


def bit_events(first: int, second: int) -> tuple[Event, ...]:
    """The events that the first bit is set, that the second is set, and that only the first is set."""

    def is_set(bit: int) -> Event:
        return Event(f"bit {bit} is 1", lambda out: bits_of(out)[:, bit] == 1)

    def only_first(out: Outputs) -> Any:
        bits = bits_of(out)
        return (bits[:, first] == 1) & (bits[:, second] == 0)

    return is_set(first), is_set(second), Event(f"bit {first} is 1 and bit {second} is 0", only_first)


def hash_events(oracle: OLH) -> tuple[Event, ...]:
    """The events that a report, or its seed alone, supports cell 0 and not cell 1, and each value."""

    def supports(out: Outputs) -> Any:
        first, second = (oracle.hashed(out[:, 0], code) for code in (0, 1))
        return (out[:, 1] == first) & (out[:, 1] != second)

    def seed_supports(out: Outputs) -> Any:
        first, second = (oracle.hashed(out[:, 0], code) for code in (0, 1))
        return (first == 0) & (second != 0)

    return (
        Event("the value is the hash of cell 0 only", supports),
        Event("the seed hashes cell 0 only to 0", seed_supports),
        *equal(range(oracle.values), "value", lambda out: out[:, 1]),
    )


def agreeing(first: Outputs, second: Outputs) -> Any:
    """A function that counts the bits equal to `first`, among those in which the two patterns differ."""
    differing = np.flatnonzero(first != second)

    def agreements(out: Outputs) -> Ints:
        counts: Ints = (bits_of(out)[:, differing] == first[differing]).sum(axis=1)
        return counts

    return agreements


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
