"""Truths from counts of levels, some of them made up: about each object, and about all of them together.

The model: an answer is the truth plus a normal error, rounded and clamped to the domain and then to a level;
with a known chance a report is made up. Users' sigmas have shares that are learned by EM over all objects.
Truths are normal with a centre and a spread that are averaged over, by how well they explain all that was
told, or may be anything of the domain. So an object of which little was told gets what objects have in
common, and where that is not known either, the middle of the domain.

Whatever it computes, it computes from reports alone: it costs nothing.

Notation: N objects, T places for truths, P laws of truths.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from crowdveil.answer_law import answer_law
from crowdveil.answers import Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.kernels.products import product, product_across

SIGMAS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of the domain's length: what users may be like
SPREADS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)  # of the domain's length: what truths may be like
CENTRES = 19
STEPS = 45  # in the domain; as far beyond its ends as a third of it, for truths that no answer can name
CAP = 100
TOLERANCE = 1e-4  # of the domain's length
STATED_ERROR = 0.05  # of the sparsity that an operator states
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Told:
    """Levels told about each object, or about no object in particular, and how they came to be told."""

    counts: Ints  # (N, levels)
    devices: int
    slots: int
    listed: int  # objects that a slot can name
    signal: float  # the chance that a report is not made up
    of: int | None = None  # objects that a slot picks from, if not from those that it can name

    def real(self, sparsity: float | None) -> float:
        """The chance that a level is an answer's, and not made up."""
        levels = self.listed * self.counts.shape[1]
        true, made_up = self.signal * self._answered(sparsity), (1 - self.signal) * levels / (levels + 1)
        return float(true / (true + made_up))

    def _answered(self, sparsity: float | None) -> float:
        """The share of slots with an answer: what reports tell, or by precision also what was stated."""
        reports = self.devices * self.slots
        if not reports:
            return 1.0
        levels, among = self.listed * self.counts.shape[1], self.of or self.listed
        named = self.counts.sum() / reports
        found = (named - (1 - self.signal) * levels / (levels + 1)) / self.signal
        kept = 1.0
        if sparsity is not None:
            told = 2 * self.signal * sqrt(self.devices)  # 1 / the largest error of `found`
            odds = float(np.square(told * min(among * STATED_ERROR, 1.0)))
            kept = odds / (1.0 + odds)
        stated = some_answered(sparsity or 0.0, among)
        return float(min(max(kept * found + (1 - kept) * stated, 1.0 / reports), 1.0))


def some_answered(sparsity: float, among: int) -> float:
    """The chance that somebody answered about one of so many objects, if cells are empty on their own."""
    if not 0 <= sparsity <= 1:
        raise ParameterError(f"sparsity must be in [0, 1], not {sparsity:g}")
    return 1.0 - float(np.power(sparsity, among))


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The chances of places for each object's truth, and how they were found."""

    places: Floats  # (T,)
    chances: Floats  # (N, T)
    common: Floats  # (T,) for an object of which nothing was told
    domain: Domain
    sweeps: int
    converged: bool

    def medians(self) -> Floats:
        """(N,): inside the domain."""
        return self._medians(self.chances)

    def constant(self) -> float:
        """What all objects have in common: the median for an object of which nothing was told."""
        return float(self._medians(self.common[None, :])[0])

    def _medians(self, chances: Floats) -> Floats:
        below = np.cumsum(chances, axis=1) - 0.5 * chances
        found = np.array([np.interp(0.5, each, self.places) for each in below])
        inside: Floats = np.clip(found, self.domain.low, self.domain.high)
        return inside

    def deviations(self) -> Floats:
        """(N,): of truths pulled into the domain."""
        inside = np.clip(self.places, self.domain.low, self.domain.high)
        means = product(self.chances, inside)
        variances = np.maximum(product(self.chances, np.square(inside)) - np.square(means), 0.0)
        step = self.places[1] - self.places[0]
        deviations: Floats = np.sqrt(variances + step * step / 12.0)
        return deviations


def believed(told: Told, unnamed: Told, rounding: Floats, domain: Domain, sparsity: float | None) -> Beliefs:
    """Beliefs about all objects, from what was told about each and about none in particular."""
    length, levels = domain.high - domain.low, rounding.shape[1]
    places = np.linspace(domain.low - length / 3, domain.high + length / 3, 5 * STEPS // 3 + 1)
    answered = answer_law(places, np.array(SIGMAS)[:, None] * length, domain)
    laws = product(answered, rounding)  # (sigmas, T, levels)
    priors = _priors(domain, places)
    real, common = told.real(sparsity), unnamed.real(sparsity)
    shares = np.full(len(SIGMAS), 1.0 / len(SIGMAS))
    means, sweeps, converged = np.full(told.counts.shape[0], np.inf), 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        answers = np.einsum("s,stl->tl", shares, laws)
        law = (1 - real) / levels + real * answers
        log_law = np.log((1 - common) / levels + common * product(priors, answers))
        together = product(log_law, unnamed.counts[0])
        chances, whole = _posterior(product(told.counts, np.log(law).T), priors, together)
        expected = product_across(chances, told.counts) / law
        shares = 1.0 + real * shares * np.sum(laws * expected, axis=(1, 2))
        shares = shares / shares.sum()  # one user of each kind to begin with
        before, means = means, product(chances, places)
        converged = float(np.abs(means - before).mean()) < TOLERANCE * length
    return Beliefs(places, chances, whole, domain, sweeps, converged)


def _priors(domain: Domain, places: Floats) -> Floats:
    """(P, T): normal laws of truths, and last that of any truth of the domain."""
    centres = np.repeat(np.linspace(domain.low, domain.high, CENTRES), len(SPREADS))
    spreads = np.tile(np.array(SPREADS) * (domain.high - domain.low), CENTRES)
    laws = np.exp(-0.5 * np.square((places - centres[:, None]) / spreads[:, None]))
    laws = np.vstack([laws, (places >= domain.low) & (places <= domain.high)])
    normal: Floats = laws / laws.sum(axis=1, keepdims=True)
    return normal


def _posterior(logs: Floats, priors: Floats, together: Floats) -> tuple[Floats, Floats]:
    """(N, T) and (T,): the chances of truths, averaged over priors by the chance of all that was told.

    The last prior, any truth of the domain, is as likely beforehand as all others together: where reports
    tell nothing, not even about all objects at once, estimates stay near the middle.
    """
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    evidence = np.maximum(product(likely, priors.T), _TINY)
    whole = np.log(evidence).sum(axis=0) + together
    whole[-1] += np.log(whole.size - 1)
    weights = np.exp(whole - whole.max())
    chances = likely * product(weights / evidence, priors)
    return chances / chances.sum(axis=1, keepdims=True), product(weights, priors) / weights.sum()
