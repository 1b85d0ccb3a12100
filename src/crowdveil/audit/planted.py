"""Mechanisms broken on purpose, which the audits must refute.

They carry the claims of the sound mechanisms. No release and no command can use them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from crowdveil.arrays import Flags, Floats
from crowdveil.audit import attempts, certified, local, oracles, records, second_look, slots, smoothed
from crowdveil.audit.case import Audit, Event, Outputs, at_least, column, equal, fresh_state, separate
from crowdveil.audit.noise import DISCRETE_GAUSSIAN, gaussian_noise, laplace_noise
from crowdveil.audit.planted_lines import LINES
from crowdveil.audit.releases import repeated
from crowdveil.engines import LocalEngine
from crowdveil.kernels.oracles import fill_oue
from crowdveil.local import Laplace
from crowdveil.local.bit_chance import BitChance
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.randomness.response import Response
from crowdveil.releases.basic import Basic
from crowdveil.releases.method import release

_PURE: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "unit": "a claim, replace-one", "whose": "ours"}
_SYMBOLS = 6
_TEN = Range(0.0, 10.0)
_BASIC = Basic(1.0, _TEN, resolution=1.0)
_MIDDLE = 5.0
_LITTLE = 1e-6
_TWICE = 2 * certified.EPSILON  # gives half the noise of EPSILON


def _half_the_noise(world: int, count: int, rng: Randomness) -> Outputs:
    return 10 * world + laplace_noise(rng, count, Fraction(5))


def _half_the_variance(world: int, count: int, rng: Randomness) -> Outputs:
    return 2 * world + gaussian_noise(rng, count, Fraction(7, 4))


def _noise_for_one_bin(world: int, count: int, rng: Randomness) -> Outputs:
    """Noise for sensitivity 1, although a replaced claim changes two bins."""
    noise = laplace_noise(rng, 2 * count, Fraction(1)).reshape(count, 2)
    return np.array(((1, 0), (0, 1))[world]) + noise


def _keep_as_if_of_two(world: int, count: int, rng: Randomness) -> Outputs:
    """Randomized response that keeps with probability e/(1 + e), which is right for two symbols only."""
    odds = Response.of(2, 1.0)
    wrong = Response(_SYMBOLS, (_SYMBOLS - 1) * (odds.keep // 2**8), odds.other // 2**8)
    return wrong.perturb(np.full(count, world, dtype=np.int64), state=fresh_state(rng))


def _rows_in_raw_order(world: int, count: int, rng: Randomness) -> Outputs:
    """Noisy rows with users' names in the order of raw values: user 0's row number and noisy value."""
    claims = repeated((_TEN.low, _TEN.high)[world], (_MIDDLE, _MIDDLE), count)
    noisy = claims.values + laplace_noise(rng, len(claims), Fraction(10))
    row = np.argmin(claims.user_codes.reshape(count, -1), axis=1)
    return np.column_stack([row, noisy.reshape(count, -1)[np.arange(count), row]])


def _noise_shared_by_two_releases(world: int, count: int, rng: Randomness) -> Outputs:
    """A claim and later its public correction are released with noise from the same key."""
    key = seeded(int(2**53 * rng.stream("key", purpose="audit").uniforms(1)[0]))
    released = [
        release(repeated(value, (), count), _BASIC, rng=key, engine=LocalEngine(1)).values
        for value in ((_TEN.low, _TEN.high)[world], _MIDDLE)
    ]
    return np.column_stack(released)


def float_laplace(uniforms: Floats, centre: float) -> Floats:
    """Laplace noise of scale 1 around `centre`, by the usual floating-point formula."""
    u = np.maximum(uniforms, 2.0**-53)
    below = centre + np.log(np.minimum(u + u, 1.0))
    above = centre - np.log(np.minimum(2.0 - u - u, 1.0))
    return np.where(u < 0.5, below, above)


def occurs_around_zero(values: Floats) -> Flags:
    """Whether `float_laplace` around 0 gives exactly this value for some multiple of 2^-53."""
    nearest = np.rint(np.exp(-np.abs(values)) * 2.0**52)
    occurs = np.zeros(values.shape, dtype=np.bool_)
    for step in (-1, 0, 1):
        u = np.clip((nearest + step) * 2.0**-53, 2.0**-53, 0.5)
        occurs |= float_laplace(np.where(values > 0, 1.0 - u, u), 0.0) == values
    return occurs


def _float_noise(world: int, count: int, rng: Randomness) -> Outputs:
    return float_laplace(rng.stream("noise", purpose="audit").uniforms(count), float(world))


def _exact_pairs_choose_bins(world: int, count: int, rng: Randomness) -> Outputs:
    """The number of bins follows from the exact number of pairs, under add-remove."""
    claims = certified.few_claims(world)
    pairs = [certified.pairs_of(claims, certified.A_CLAIM, one).pairs for one in separate(rng, count)]
    return np.column_stack([4 * np.array(pairs), np.ones(count), np.full(count, certified.FEW.per_object)])


def _epsilon_for_each_slot(world: int, count: int, rng: Randomness) -> Outputs:
    """Two slots, each randomized with the full epsilon: both symbols as one number."""
    response = Response.of(slots.SLOTS.symbols, slots.SLOTS.epsilon)
    symbol = slots.SLOTS.symbols - 1 if world == 0 else 1
    symbols = response.perturb(np.full(2 * count, symbol, dtype=np.int64), state=fresh_state(rng)).reshape(
        count, 2
    )
    joint: Outputs = symbols @ np.array([[1], [slots.SLOTS.symbols]])
    return joint


def _no_answer_without_noise(world: int, count: int, rng: Randomness) -> Outputs:
    """Users without an answer about listed objects report that without noise."""
    reports = slots.SLOTS_AUDIT.draws(world, count, rng)
    return reports if world else np.full_like(reports, slots.SLOTS.response.symbols - 1)


def _ones_half_as_often(world: int, count: int, rng: Randomness) -> Outputs:
    """OUE with half the probability of ones in the other cells."""
    ones = BitChance(oracles.OUE_CELLS.ones.weight // 2)
    out = np.empty((count, 1), dtype=np.uint8)
    codes = np.full(count, world, dtype=np.int64)
    fill_oue(fresh_state(rng), codes, oracles.CELLS, ones.drawn, out)
    return out


def _seed_that_suits_the_code(world: int, count: int, rng: Randomness) -> Outputs:
    """OLH whose seeds are redrawn until they hash the code to 0."""
    reports = oracles.OLH_AUDIT.draws(world, 2 * oracles.OLH_CELLS.values * count, rng)
    accepted: Outputs = reports[oracles.OLH_CELLS.hashed(reports[:, 0], world) == 0]
    return accepted[:count]


_AUDITS = (
    Audit(
        **_PURE,
        name="half the noise",
        worlds="0 or 10, noise of scale 5",
        draws=_half_the_noise,
        events=at_least((0, 5, 10, 15)),
    ),
    Audit(
        name="half the variance",
        epsilon=DISCRETE_GAUSSIAN.epsilon,
        delta=DISCRETE_GAUSSIAN.delta,
        unit=DISCRETE_GAUSSIAN.unit,
        whose="ours",
        worlds="0 or 2, noise of variance 7/4",
        draws=_half_the_variance,
        events=DISCRETE_GAUSSIAN.events,
    ),
    Audit(
        **_PURE,
        name="noise for one bin of two",
        worlds=certified.CERTIFIED_HISTOGRAM.worlds,
        draws=_noise_for_one_bin,
        events=certified.CERTIFIED_HISTOGRAM.events,
    ),
    Audit(
        **_PURE,
        name="wrong keep probability",
        worlds=f"symbol 0 or symbol 1 of {_SYMBOLS}",
        draws=_keep_as_if_of_two,
        events=equal(range(_SYMBOLS)),
    ),
    Audit(
        **_PURE,
        name="rows in the order of raw values",
        worlds="a claim at the low or at the high end, beside two in the middle",
        draws=_rows_in_raw_order,
        events=(
            *equal(range(3), "user 0's row", column(0)),
            *at_least((0, 10), "user 0's value", column(1)),
        ),
    ),
    Audit(
        **(_PURE | {"epsilon": 2.0}),
        name="noise shared by two releases",
        worlds="a claim at the low or at the high end, and its correction to the middle",
        draws=_noise_shared_by_two_releases,
        events=at_least((-5, 0, 5), "first - second", lambda out: out[:, 0] - out[:, 1]),
    ),
    Audit(
        **_PURE,
        name="floating-point Laplace noise",
        worlds="0 or 1, noise of scale 1",
        draws=_float_noise,
        events=(
            *at_least((0.0, 1.0)),
            Event("the output cannot occur around 0", lambda out: ~occurs_around_zero(out)),
        ),
    ),
    replace(
        local.LAPLACE_AUDIT,
        name="a device with half the noise",
        draws=local.sent(Laplace(2.0, _TEN, resolution=1.0), (0.0,), (10.0,)),
    ),
    replace(
        local.USER_AUDIT,
        name="delta for a claim, claimed for a user",
        delta=local.MANY.delta_at(1.0),
    ),
    replace(
        certified.CERTIFIED_USER,
        name="noise for a claim, claimed for a user",
        draws=certified.user_rows(replace(certified.USER, unit="claim", cap=None)),
    ),
    replace(
        certified.CERTIFIED_ADD_REMOVE,
        name="the exact number of claims, where claims come and go",
        draws=certified.count_rows(replace(certified.ADD_REMOVE, adjacency="replace-one")),
    ),
    replace(
        certified.CERTIFIED_SHAPE,
        name="the exact number of pairs in the number of bins",
        draws=_exact_pairs_choose_bins,
    ),
    replace(
        certified.PAIR_DISTANCES,
        name="half the noise for pair distances",
        draws=certified.pair_rows(certified.replaced_pair, certified.A_CLAIM, _TWICE),
    ),
    replace(
        certified.PAIR_DISTANCES_ADD_REMOVE,
        name="noise for one more pair, where one is rematched",
        draws=certified.pair_rows(certified.rematched_pair, certified.A_CLAIM_MORE, _TWICE),
    ),
    replace(
        second_look.SECOND_LOOK,
        name="noise of some claims, where weights are counted in steps",
        draws=second_look.log_odds_rows(second_look.SENSITIVITY * certified.EPSILON / 3),
    ),
    replace(
        smoothed.SMOOTHED,
        name="a smoothed density without its public share",
        draws=smoothed.released(
            replace(smoothed.CELL, lam=_LITTLE), smoothed.CELL_PLACES, smoothed.CELL_OTHERS
        ),
    ),
    replace(
        attempts.ATTEMPTS_CROWD,
        name="a privacy test with half the noise",
        draws=attempts.released(
            replace(attempts.CROWD, epsilon0=2 * attempts.CROWD.epsilon0), attempts.CROWD.k
        ),
    ),
    replace(
        attempts.ATTEMPTS_NOTHING,
        name="a privacy test without forced failures",
        draws=attempts.released(replace(attempts.NOTHING, eta=_LITTLE), attempts.NOTHING_CLAIMS),
    ),
    replace(
        slots.SLOTS_AUDIT,
        name="all of epsilon for each of two slots",
        draws=_epsilon_for_each_slot,
    ),
    replace(
        slots.SLOTS_AUDIT,
        name="no answer told as it is",
        draws=_no_answer_without_noise,
    ),
    replace(
        oracles.OUE_AUDIT,
        name="half the ones that hide a cell",
        draws=_ones_half_as_often,
    ),
    replace(
        oracles.OLH_AUDIT,
        name="a seed that suits the code",
        draws=_seed_that_suits_the_code,
    ),
    replace(
        oracles.BLOOM_AUDIT,
        name="noise for the bits of one code, where two differ",
        draws=oracles.reports(replace(oracles.BLOOM_CELLS, epsilon=2.0)),
    ),
    replace(
        records.SAMPRIVSYN_AUDIT,
        name="all of epsilon for each of two values",
        draws=records.pairs(2 * records.SAMPRIVSYN.epsilon),
    ),
)

PLANTED: dict[str, Audit] = {audit.name: audit for audit in (*_AUDITS, *LINES)}
