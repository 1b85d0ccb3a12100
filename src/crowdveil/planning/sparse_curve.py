"""The expected error of a sparse campaign's truths from counts that are simulated under the mechanism's law.

No device is simulated: how often each symbol is reported about an object has a multinomial law that follows
from its truth, the law of answers and the mechanism, for any number of people. A few objects with truths all
over the domain are simulated; inference from their counts is that of `discover`.

For reports about every cell it is its first stage in short: the same grid of truths, the spread of errors in
its list that is next to the expected one (one object cannot tell which: all of them), a flat prior, and the
same trust in differences between objects.
For slots it is the estimator itself.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.answer_law import answer_law
from crowdveil.answers import Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.products import product
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.slot_response import SlotResponse, signal_of
from crowdveil.local.slot_truths import Told, believed, some_answered
from crowdveil.randomness import seeded
from crowdveil.truth.randomized import (
    BEYOND,
    CAUTION,
    ENOUGH_TRUST,
    FINEST_STEP,
    LARGEST_SPREAD,
    LEAST_SPREAD,
    SPREADS,
    STEPS,
    SURELY,
    VISIBLE,
)

SPREAD = 0.1  # of people's errors, relative to the domain's length
OBJECTS = 200  # that are simulated for reports about cells
OF_SLOTS = 60  # the same for slots, whose estimator takes longer
FEW = 2000  # draws of one object; beyond, counts are drawn from their normal approximation
_TINY = 1e-12


def cell_error(
    mechanism: CellResponse, people: int, objects: int, sparsity: float, spread: float = SPREAD
) -> float:
    """Expected mean absolute error, in steps of the domain, if every cell is reported about."""
    check_whole(people, "the number of people")
    domain, length = mechanism.domain, float(mechanism.domain.high - mechanism.domain.low)
    truths = _truths(domain, OBJECTS)

    def law_at(places: Floats, sigmas: Floats) -> Floats:
        answered = answer_law(places, sigmas[:, None], domain).mean(axis=0)
        answers = product(answered, mechanism.law[:-1])
        law: Floats = sparsity * mechanism.law[-1] + (1.0 - sparsity) * answers
        return law

    spreads = np.geomspace(LEAST_SPREAD, max(LARGEST_SPREAD * length, 2 * LEAST_SPREAD), SPREADS)
    near = np.abs(np.log(spreads / (spread * length))).argmin()
    step = max(FINEST_STEP, length / STEPS)
    outside = math.ceil(BEYOND * length / step)
    places = domain.low + step * np.arange(-outside, round(length / step) + outside + 1, dtype=np.float64)
    law = law_at(places, spreads if objects == 1 else spreads[[near]])
    inside = (places >= domain.low) & (places <= domain.high)
    counts = _drawn(law_at(truths, np.array([spread * length])), people, f"cells {mechanism.rounded_to}")
    logs = product(counts, np.log(np.maximum(law, _TINY)).T)
    trust = _trust(law[inside, :-1], places[inside], people, objects) if objects > 1 else 1.0
    logs *= trust if trust < ENOUGH_TRUST else 1.0
    logs[:, ~inside] += math.log(0.5)
    medians = _medians(np.exp(logs - logs.max(axis=1, keepdims=True)), places, step)
    return float(np.abs(np.clip(medians, domain.low, domain.high) - truths).mean())


def slot_error(
    mechanism: SlotResponse, people: int, objects: int, sparsity: float, spread: float = SPREAD
) -> float:
    """Expected mean absolute error, in steps of the domain, of reports about a few objects of each person."""
    check_whole(people, "the number of people")
    domain, levels = mechanism.domain, mechanism.rounded_to
    common = 0 if mechanism.unnamed is None else people // mechanism.unnamed
    truths, length = _truths(domain, min(objects, OF_SLOTS)), domain.high - domain.low
    answers = product(answer_law(truths, np.full(truths.size, spread * length), domain), mechanism.rounding)
    signal = signal_of(mechanism.response)
    named = some_answered(sparsity, mechanism.listed) / mechanism.listed
    law = (1.0 - signal) / mechanism.symbols + signal * named * answers
    lists = (people - common) * mechanism.slots * mechanism.listed / objects
    counts = _drawn(_with_rest(law), max(1, round(lists)), f"slots {levels}")[:, :-1]
    devices = max(1, round((people - common) * truths.size / objects))
    told = Told(counts.astype(np.int64), devices, mechanism.slots, mechanism.listed, signal)
    unnamed_signal = signal_of(mechanism.unnamed_response)
    any_answer = some_answered(sparsity, objects)
    of_all = (1.0 - unnamed_signal) / (levels + 1) + unnamed_signal * any_answer * answers.mean(axis=0)
    unnamed = _drawn(_with_rest(of_all[None, :]), common, "unnamed")[:, :-1]
    beliefs = believed(
        told,
        Told(unnamed.astype(np.int64), common, 1, 1, unnamed_signal, of=objects),
        *(mechanism.rounding, domain, None),
    )
    return float(np.abs(beliefs.medians() - truths).mean())


def _truths(domain: Domain, count: int) -> Floats:
    """Truths all over the domain, evenly spaced."""
    return domain.low + (domain.high - domain.low) * (np.arange(count) + 0.5) / count


def _with_rest(law: Floats) -> Floats:
    """With a last symbol that stands for all others."""
    return np.hstack([law, np.maximum(1.0 - law.sum(axis=1, keepdims=True), 0.0)])


def _drawn(law: Floats, reports: int, name: str) -> Floats:
    """(N, K): counts of symbols among so many reports, which follow the rows of this law."""
    stream = seeded(0).stream(name, purpose="sparse curve")
    if reports <= FEW:
        edges = np.cumsum(law, axis=1)[:, :-1]
        draws = stream.uniforms(len(law) * reports).reshape(len(law), reports)
        return np.array([_counted(own, ends) for own, ends in zip(draws, edges, strict=True)])
    roots, normals = np.sqrt(law), stream.normals(law.size).reshape(law.shape)
    around = roots * normals - law * (roots * normals).sum(axis=1, keepdims=True)
    drawn: Floats = np.maximum(np.rint(reports * law + math.sqrt(reports) * around), 0.0)
    return drawn


def _counted(draws: Floats, edges: Floats) -> Ints:
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)


def _trust(law: Floats, places: Floats, people: int, objects: int) -> float:
    """The trust of `truth.randomized` in differences between objects, if these are as large as expected."""
    answered = law.sum(axis=1).mean()
    chances = law / law.sum(axis=1, keepdims=True)
    common = chances.mean(axis=0)
    scores = ((places - places.mean())[:, None] * chances).mean(axis=0) / common
    scores -= (common * scores).sum()
    reports = people * float(answered)
    by_chance = reports * float((common * np.square(scores)).sum())
    predicted = float(np.var(reports * product(chances, scores)))
    error = by_chance * math.sqrt(2.0 / (objects - 1))
    if predicted <= VISIBLE * error:
        return 0.0
    share = 1.0 if predicted > SURELY * error else 1.0 - CAUTION * error / predicted
    return float(min(1.0, max(0.0, share)))


def _medians(beliefs: Floats, places: Floats, step: float) -> Floats:
    """Posterior medians; each place stands for the half steps on both sides of it."""
    cumulative = np.cumsum(beliefs, axis=1) / beliefs.sum(axis=1, keepdims=True)
    at = (cumulative >= 0.5).argmax(axis=1)
    rows = np.arange(at.size)
    own = beliefs[rows, at] / beliefs.sum(axis=1)
    medians: Floats = places[at] + (0.5 - (cumulative[rows, at] - 0.5) / own) * step
    return medians
