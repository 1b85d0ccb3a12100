"""Sparse answers with one epsilon for all that a user answered: each device is asked about a few objects.

A mechanism that reports about every cell costs a user as many epsilons as there are objects. Here a device
gets `slots` lists of `listed` objects, dealt without a look at any answer. For each list it picks one of the
objects that its user answered about, all alike, or none (NULL), and rounds the answer at random to one of
some levels. The pick and the level are one symbol of listed x levels + 1. Randomized response over all slots
at once (`joint`), or over each with its part of epsilon, is all that is sent: whatever else the user answered
never leaves the device, so that the user's epsilon is that of the response, with no composition over objects.

With one object a list this is randomized response on a sample of cells. Longer lists find an answer where
most cells are empty, at the price of more symbols.

Notation: S symbols of a slot; a the chance that a report is not made up, keep - other; c the chance that a
slot's true symbol names a given object of its list, (1 - sparsity^listed) / listed if cells are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.rounding import up
from crowdveil.answers import Answers, Domain
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.experiments.sparse_baselines import best_constant, inverse_deviation_on, mae, middle_of
from crowdveil.experiments.sparse_simulation import SimulatedAnswers
from crowdveil.experiments.sparse_theory import answer_law
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import Randomness, secure, seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.randomness.response import Response

MOST_SYMBOLS = 2**32  # of all slots together
SIGMAS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of the domain's length: what users may be like
PRIOR_SPREADS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)  # of the domain's length: what truths may be like
PRIOR_CENTRES = 19
STEPS_OF_TRUTHS = 45  # in the domain; as far beyond its ends as a third of it
SWEEPS = 10
ROUNDS = 6
STATED_ERROR = 0.05  # of the sparsity that an operator states
ASSUMPTIONS = (
    "the domain and the list of objects were declared, not read off the data",
    "who takes part is public, and which objects each device was asked about",
    "each device reported once",
)


@dataclass(frozen=True)
class SlotResponse:
    """Parameters: a user's epsilon, the domain, slots, objects in a slot's list, and levels of answers."""

    epsilon: float
    domain: Domain
    slots: int = 1
    listed: int = 1
    levels: int | None = None  # default: one for each answer
    joint: bool = True

    def __post_init__(self) -> None:
        check_whole(self.slots, "the number of slots")
        check_whole(self.listed, "the number of objects in a list")
        if not 2 <= self.rounded_to <= self.domain.size:
            raise ParameterError(
                f"levels must be at least 2 and at most {self.domain.size}, not {self.levels}"
            )
        if self.joint and self.symbols**self.slots > MOST_SYMBOLS:
            raise ParameterError(f"{self.slots} slots of {self.symbols} symbols are too many at once")
        _ = self.response

    @property
    def rounded_to(self) -> int:
        """How many levels there are."""
        return self.domain.size if self.levels is None else self.levels

    @property
    def symbols(self) -> int:
        """S: how many there are for a slot; the last one is NULL."""
        return self.listed * self.rounded_to + 1

    @cached_property
    def response(self) -> Response:
        """Randomized response: over the symbols of all slots together, or of one slot."""
        if self.joint:
            return Response.of(self.symbols**self.slots, self.epsilon)
        return Response.of(self.symbols, self.epsilon / self.slots)

    @property
    def signal(self) -> float:
        """a: the chance that a slot's symbol is true; else it is any of the S, all alike."""
        return float(self.response.keep_chance - self.response.other_chance)

    def user_level(self) -> Guarantee:
        """What is promised to a user about everything that the user answered, or not: pure epsilon."""
        parts = 1 if self.joint else self.slots
        epsilon = up(Fraction(self.response.epsilon) * parts)
        return Guarantee(epsilon, 0.0, "user", "replace-one", "local", ASSUMPTIONS)

    def rounding(self) -> Floats:
        """(|Gamma|, levels): the chance of each level for each answer, which keeps its mean."""
        along = np.arange(self.domain.size) * (self.rounded_to - 1) / (self.domain.size - 1)
        near: Floats = np.maximum(0.0, 1.0 - np.abs(along[:, None] - np.arange(self.rounded_to)))
        return near

    def true_law(self, cells: Sequence[int | None]) -> Floats:
        """(S,): the chance of each true symbol of a slot, for the answers to its list (None is NULL)."""
        given = [place for place, code in enumerate(cells) if code is not None]
        law = np.zeros(self.symbols)
        law[-1] = 0.0 if given else 1.0
        for place in given:
            code = cells[place]
            assert code is not None
            first = place * self.rounded_to
            law[first : first + self.rounded_to] = self.rounding()[code] / len(given)
        return law


@dataclass(frozen=True, eq=False)
class SlotReports:
    """What devices were asked about and what they reported: a symbol for each slot."""

    objects: pl.Series
    parameters: SlotResponse
    lists: Codes  # (M, slots, listed)
    symbols: Ints  # (M, slots)

    @property
    def answered(self) -> float:
        """The share of slots whose true symbol is not NULL, made free of the noise; it can leave [0, 1]."""
        chosen = self.parameters
        named = float(np.mean(self.symbols < chosen.symbols - 1))
        return (named - (1 - chosen.signal) * (1 - 1 / chosen.symbols)) / chosen.signal

    def counts(self) -> Ints:
        """(N, levels): how often each level was reported about each object."""
        levels = self.parameters.rounded_to
        who, slot = np.nonzero(self.symbols < self.parameters.symbols - 1)
        place, level = np.divmod(self.symbols[who, slot], levels)
        about = self.lists[who, slot, place].astype(np.int64)
        flat = np.bincount(about * levels + level, minlength=len(self.objects) * levels)
        return flat.reshape(-1, levels).astype(np.int64)


# --- devices ------------------------------------------------------------------------------------------------


def deal(users: int, objects: int, parameters: SlotResponse, *, rng: Randomness) -> Codes:
    """(M, slots, listed): the objects that each device is asked about, none twice, all about as often.

    Shuffled decks of all objects are dealt from until too few cards are left.
    """
    hand = parameters.slots * parameters.listed
    if hand > objects:
        raise ParameterError(f"there are {objects} objects, and a device would be asked about {hand}")
    stream, hands = rng.stream("lists", purpose="slot response"), objects // hand
    decks = [np.argsort(stream.uniforms(objects))[: hands * hand] for _ in range(-(-users // hands))]
    dealt = np.concatenate(decks).astype(np.int32).reshape(-1, parameters.slots, parameters.listed)
    return dealt[:users]


def report(answers: Answers, parameters: SlotResponse, *, rng: Randomness | None = None) -> SlotReports:
    """What devices report: drawn for all of them at once, as a study may."""
    rng = rng or secure()
    lists = deal(len(answers.users), len(answers.objects), parameters, rng=rng)
    symbols = _true_symbols(answers, parameters, lists, rng)
    if parameters.joint:
        powers = parameters.symbols ** np.arange(parameters.slots)
        codes = _randomized(symbols @ powers, parameters.response, rng)
        symbols = codes[:, None] // powers % parameters.symbols
    else:
        symbols = _randomized(symbols.ravel(), parameters.response, rng).reshape(symbols.shape)
    return SlotReports(answers.objects, parameters, lists, symbols)


def _true_symbols(answers: Answers, parameters: SlotResponse, lists: Codes, rng: Randomness) -> Ints:
    """(M, slots): one of the answered objects of each list and the level of its answer, or NULL."""
    stream, levels = rng.stream("picks", purpose="slot response"), parameters.rounded_to
    many, objects = lists.shape[0], len(answers.objects)
    owners = np.repeat(np.arange(many), np.diff(answers.offsets))
    filled = np.append(owners * objects + answers.object_codes, many * objects)  # ascending; the last is none
    asked = np.arange(many)[:, None, None] * objects + lists
    places = np.searchsorted(filled, asked)
    lots = np.where(filled[places] == asked, stream.uniforms(asked.size).reshape(asked.shape), -1.0)
    pick = lots.argmax(axis=2)
    place = np.take_along_axis(places, pick[..., None], axis=2)[..., 0]
    codes = np.append(answers.codes, 0)[place].astype(np.int64)
    level, rest = np.divmod(codes * (levels - 1), answers.domain.size - 1)
    level += stream.uniforms(level.size).reshape(level.shape) * (answers.domain.size - 1) < rest
    return np.where(lots.max(axis=2) >= 0, pick * levels + level, parameters.symbols - 1)


def _randomized(codes: Ints, response: Response, rng: Randomness) -> Ints:
    key, nonces = rng.streams(["devices"], purpose="slot response")
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    start(state, key, nonces[0])
    return response.perturb(codes, state=state)


# --- truths -------------------------------------------------------------------------------------------------


def truth_grid(domain: Domain) -> Floats:
    """The truths that are thought of: also some beyond the domain, which no answer can name."""
    length = domain.high - domain.low
    return np.linspace(domain.low - length / 3, domain.high + length / 3, 5 * STEPS_OF_TRUTHS // 3 + 1)


def level_laws(parameters: SlotResponse, grid: Floats) -> Floats:
    """(sigmas, T, levels): the law of an answer's level, for each kind of user and each truth."""
    length = parameters.domain.high - parameters.domain.low
    laws = [answer_law(grid, sigma * length, parameters.domain) for sigma in SIGMAS]
    return np.array(laws) @ parameters.rounding()


def estimate(reports: SlotReports, *, sparsity: float | None = None) -> Floats:
    """The truth of each object: the median of what its counts leave possible, under a learned law of truths.

    A report that names an object is made up, with a chance that the reports of NULL tell (and the `sparsity`
    that the operator states, where they tell little), or an answer of a user of some sigma. Shares of sigmas
    are learned by EM over all objects; truths are normal with a centre and a spread that are averaged over,
    by how well they explain all counts, or may be anything of the domain. An object with no report gets the
    median of that law.
    """
    parameters, counts = reports.parameters, reports.counts()
    grid = truth_grid(parameters.domain)
    laws, priors = level_laws(parameters, grid), _priors(parameters.domain, grid)
    true = parameters.signal * _answered(reports, sparsity)
    made_up = (1 - parameters.signal) * (1 - 1 / parameters.symbols)
    real = true / (true + made_up)
    shares = np.full(len(SIGMAS), 1.0 / len(SIGMAS))
    chances = np.empty((counts.shape[0], grid.size))
    for _ in range(SWEEPS):
        law = (1 - real) / parameters.rounded_to + real * np.tensordot(shares, laws, 1)
        chances = _posterior(counts.astype(np.float64) @ np.log(law).T, priors)
        expected = chances.T @ counts / law
        shares = 1.0 + real * shares * np.sum(laws * expected, axis=(1, 2))  # one user of each kind to begin
        shares /= shares.sum()
    below = np.cumsum(chances, axis=1) - 0.5 * chances
    return np.array([np.interp(0.5, each, grid) for each in below])


def _answered(reports: SlotReports, sparsity: float | None) -> float:
    """The share of slots with an answer: what reports tell, or by precision also what was stated."""
    parameters, found = reports.parameters, reports.answered
    least = 1.0 / reports.symbols.size
    if sparsity is None:
        return min(max(found, least), 1.0)
    stated = _some_answered(sparsity, parameters.listed)
    told = 2 * parameters.signal * sqrt(reports.symbols.shape[0])  # 1 / the largest error of `found`
    odds = float(np.square(told * parameters.listed * STATED_ERROR))
    kept = odds / (1.0 + odds)
    return min(max(kept * found + (1 - kept) * stated, least), 1.0)


def _some_answered(sparsity: float, listed: int) -> float:
    """The chance that somebody answered about an object of a list, if cells are empty on their own."""
    if not 0 <= sparsity <= 1:
        raise ParameterError(f"sparsity must be in [0, 1], not {sparsity:g}")
    return 1.0 - float(np.power(sparsity, listed))


def _priors(domain: Domain, grid: Floats) -> Floats:
    """(centres x spreads + 1, T): normal laws of truths, and that of any truth of the domain."""
    length = domain.high - domain.low
    centres = np.repeat(np.linspace(domain.low, domain.high, PRIOR_CENTRES), len(PRIOR_SPREADS))
    spreads = np.tile(np.array(PRIOR_SPREADS) * length, PRIOR_CENTRES)
    laws = np.exp(-0.5 * np.square((grid - centres[:, None]) / spreads[:, None]))
    laws = np.vstack([laws, (grid >= domain.low) & (grid <= domain.high)])
    normal: Floats = laws / laws.sum(axis=1, keepdims=True)
    return normal


def _posterior(logs: Floats, priors: Floats) -> Floats:
    """(N, T): the chances of truths, averaged over priors by the chance of all that was reported.

    The last prior, any truth of the domain, is as likely beforehand as all others together: where reports
    tell nothing, not even about all objects at once, estimates stay near the middle.
    """
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    evidence = np.maximum(likely @ priors.T, 1e-300)
    whole = np.log(evidence).sum(axis=0)
    whole[-1] += np.log(whole.size - 1)
    weights = np.exp(whole - whole.max())
    chances = likely * ((weights / evidence) @ priors)
    normal: Floats = chances / chances.sum(axis=1, keepdims=True)
    return normal


# --- which parameters ---------------------------------------------------------------------------------------


def expected_error(parameters: SlotResponse, users: int, objects: int, sparsity: float) -> float:
    """About how far estimates will lie from truths that may be anywhere in the domain.

    From how well reports about an object tell two truths apart that lie two such errors from each other: for
    small errors that is Fisher's information. Users have all SIGMAS alike. It sees public figures alone, and
    the sparsity that the operator expects.
    """
    domain, shape = parameters.domain, _mean_answer_law(parameters.domain)
    length, steps = float(domain.high - domain.low), shape.shape[0] - 1
    named = _some_answered(sparsity, parameters.listed) / parameters.listed
    truthful = parameters.signal * named * (shape @ parameters.rounding())
    law = (1 - parameters.signal) / parameters.symbols + truthful
    lists, prior = users * parameters.slots * parameters.listed / objects, 12.0 / (length * length)
    error, place = sqrt(1.0 / prior), np.arange(steps + 1)
    for _ in range(ROUNDS):
        away = max(1, round(error / length * steps))
        below, above = np.maximum(place - away, 0), np.minimum(place + away, steps)
        slopes = (truthful[above] - truthful[below]) / ((above - below) * (length / steps))[:, None]
        told = np.sum(np.square(slopes) / (0.5 * (law[above] + law[below])), axis=1)
        error = float(np.sqrt(np.mean(1.0 / (prior + lists * told))))
    return error


@lru_cache(maxsize=8)
def _mean_answer_law(domain: Domain) -> Floats:
    """(truths of the domain, |Gamma|): the law of an answer of anybody."""
    grid = np.linspace(domain.low, domain.high, 2 * STEPS_OF_TRUTHS + 1)
    laws = [answer_law(grid, sigma * (domain.high - domain.low), domain) for sigma in SIGMAS]
    mean: Floats = np.mean(laws, axis=0)
    return mean


def candidates(epsilon: float, domain: Domain, objects: int) -> Iterable[SlotResponse]:
    """The parameters that are worth a look."""
    for levels in sorted({2, 3, 4, 5, 7, domain.size} & set(range(2, domain.size + 1))):
        for listed in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64):
            for slots in range(1, 7):
                if slots * listed <= objects and (listed * levels + 1) ** slots <= MOST_SYMBOLS:
                    yield SlotResponse(epsilon, domain, slots, listed, levels)


def best_parameters(
    epsilon: float, domain: Domain, users: int, objects: int, sparsity: float
) -> SlotResponse:
    """The slots, lists and levels of the least expected error: from public figures, never from answers."""
    return min(
        candidates(epsilon, domain, objects),
        key=lambda each: expected_error(each, users, objects, sparsity),
    )


# --- the study ----------------------------------------------------------------------------------------------


def trial(simulation: SimulatedAnswers, tried: Iterable[SlotResponse], seed: int) -> list[dict[str, Any]]:
    """The error of each mechanism on one simulation, with those of constants and of original answers."""
    rng = seeded(seed)
    answers, truths = simulation.answers(rng=rng), simulation.truth_values(rng=rng)
    known = {
        "users": simulation.users,
        "objects": simulation.objects,
        "sparsity": simulation.sparsity,
        "truths": simulation.truths,
        "best_constant": mae(best_constant(truths), truths),
        "middle": mae(middle_of(simulation.domain), truths),
        "original": mae(inverse_deviation_on(answers), truths),
    }
    rows = []
    for parameters in tried:
        found = estimate(report(answers, parameters, rng=rng), sparsity=simulation.sparsity)
        told = {name: getattr(parameters, name) for name in ("epsilon", "slots", "listed", "joint")}
        rows.append(known | told | {"levels": parameters.rounded_to, "mae": mae(found, truths)})
    return rows


def sampled_cells(epsilon: float, domain: Domain, slots: int) -> SlotResponse:
    """Randomized response on that many cells, each with its part of epsilon: the plain way."""
    return replace(SlotResponse(epsilon, domain), slots=slots, joint=False)
