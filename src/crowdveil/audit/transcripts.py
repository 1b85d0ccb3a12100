"""The exact log-likelihood ratio of all that a certified release learns from raw claims: its transcript.

The chance of a transcript is a product over its statistics: the law of each one's noise around exact counts,
given the earlier noisy statistics. To find it, the release code itself (`private_part`) runs once more on the
claims of either world, with the statistics of the transcript in the place of new ones. So it decides again
what to ask for (bins, shares of epsilon, a second look), and what it asks for gives the exact counts and the
noise of that world. If that differs from the transcript in anything without noise (objects, bins, a public
number), the transcript is impossible there and the ratio infinite.

Coins that do not depend on claims: where the bins of an object start is part of the transcript. Which claims
are paired is not, so the chance of pair distances is a mean over all matchings. They are uniform, so all
arrangements of an object's values under one key stand for all its matchings; objects here are small.

Besides its draws an audit judges transcripts in which all noise is 0. They are possible, and of largest ratio
if the same counts change in every statistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import inf, log, sqrt, tanh
from typing import Any

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.audit.case import Draws, Outputs, repeatable
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.releases import certified
from crowdveil.releases.certified import Certified, Looks, Transcript
from crowdveil.releases.histogram import Histograms, PairDistances
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise

NOISE_FREE = 4  # transcripts without noise in each batch of draws
_NO_NOISE = Fraction(10**6)  # an epsilon whose noise is 0, but for a chance below e^-1000
_ONE = LocalEngine(1)

Mixture = dict[tuple[int, ...], float]
"""Exact counts, and the chance of each."""


def log_chances(noise: CountNoise, drawn: Ints) -> Floats:
    """The exact log-probability of each number under a law of noise."""
    parameter = float(noise.parameter)
    if not noise.gaussian:
        return log(tanh(0.5 / parameter)) - np.abs(drawn) / parameter
    return -np.square(drawn) / (2 * parameter) - _log_total(parameter)


@cache
def _log_total(variance: float) -> float:
    far = int(40 * sqrt(variance)) + 40
    return float(np.log(np.exp(-np.square(np.arange(-far, far + 1)) / (2 * variance)).sum()))


@dataclass(frozen=True)
class Asked:
    """One statistic as the release code asks for it in one world, given the earlier ones."""

    counts: Mixture
    noise: CountNoise
    public: tuple[Any, ...]  # what the statistic tells without noise

    def log_chance(self, told: Ints) -> float:
        """The log-probability of the noisy counts that were told."""
        parts = [
            log(chance) + log_chances(self.noise, told - np.array(exact)).sum()
            for exact, chance in self.counts.items()
        ]
        return float(np.logaddexp.reduce(parts))


class World:
    """The claims of one world, and the release code that runs on them."""

    def __init__(self, claims: Claims, parameters: Certified) -> None:
        self._claims = parameters.used(claims)
        self._parameters = parameters
        self._matchings: Mixture | None = None

    def draw(self, rng: Randomness) -> Transcript:
        """A transcript as a release draws it."""
        return certified.private_part(self._claims, self._parameters, rng=rng, engine=_ONE)

    def without_noise(self, rng: Randomness) -> Transcript:
        """The transcript in which all noise is 0."""
        return self._run(rng, None)[0]

    def asks(self, rng: Randomness, transcript: Transcript) -> list[Asked]:
        """What the release code asks for, if it is told the statistics of the transcript."""
        return self._run(rng, transcript)[1]

    def _run(self, rng: Randomness, told: Transcript | None) -> tuple[Transcript, list[Asked]]:
        asked: list[Asked] = []

        def pairs(
            claims: Claims,
            limits: Range,
            resolution: float,
            epsilon: Fraction,
            neighbours: Neighbours,
            **coins: Any,
        ) -> PairDistances:
            def at(epsilon: Fraction, claims: Claims = claims) -> PairDistances:
                return certified.DRAWN.pair_distances(
                    claims, limits, resolution, epsilon, neighbours, **coins
                )

            real, exact = at(epsilon), at(_NO_NOISE)
            if self._matchings is None:
                self._matchings = over_matchings(claims, lambda one: at(_NO_NOISE, one).counts)
            public = (real.counts.size, real.smallest, real.pairs if neighbours.replaced else None)
            asked.append(Asked(self._matchings, real.noise, public))
            return replace(exact, noise=real.noise) if told is None else told.near

        def histograms(
            claims: Claims,
            limits: Range,
            bins: int,
            epsilon: Fraction,
            neighbours: Neighbours,
            delta: float,
            **coins: Any,
        ) -> Histograms:
            real = certified.DRAWN.noisy_histograms(claims, limits, bins, epsilon, neighbours, delta, **coins)
            exact = certified.DRAWN.noisy_histograms(claims, limits, bins, _NO_NOISE, neighbours, **coins)
            sizes = real.claims.tolist() if neighbours.replaced else None
            public = (claims.objects.to_list(), bins, real.shifts.tolist(), sizes)
            asked.append(Asked({_existing(exact): 1.0}, real.noise, public))
            return replace(exact, noise=real.noise) if told is None else told.first

        def weights(
            claims: Claims, noisy: Histograms, epsilon: Fraction, neighbours: Neighbours, **coins: Any
        ) -> Histograms:
            real, exact = (
                certified.DRAWN.weighted_histograms(claims, noisy, each, neighbours, **coins)
                for each in (epsilon, _NO_NOISE)
            )
            asked.append(Asked({_existing(exact): 1.0}, real.noise, ()))
            if told is None or told.second is None:
                return replace(exact, noise=real.noise)
            return told.second

        looks = Looks(pairs, histograms, weights)
        made = certified.private_part(self._claims, self._parameters, rng=rng, engine=_ONE, looks=looks)
        return made, asked


def over_matchings(claims: Claims, counts_of: Callable[[Claims], Ints]) -> Mixture:
    """Exact pair counts over all matchings of all objects, by the arrangements of each object's values."""
    together: Mixture = {}
    for i, name in enumerate(claims.objects.to_list()):
        values = claims.of(i)
        arrangements = sorted(set(permutations(values.tolist())))
        found = Counter(
            tuple(
                counts_of(
                    Claims(
                        claims.objects.filter(claims.objects == name),
                        claims.users,
                        np.array([0, values.size]),
                        claims.user_codes[claims.offsets[i] : claims.offsets[i + 1]],
                        np.array(each, dtype=np.float64),
                    )
                ).tolist()
            )
            for each in arrangements
        )
        own = {counts: number / len(arrangements) for counts, number in found.items()}
        together = _sums(together, own) if together else own
    return together


def _sums(first: Mixture, second: Mixture) -> Mixture:
    sums: Counter[tuple[int, ...]] = Counter()
    for one, chance in first.items():
        for other, more in second.items():
            sums[tuple(np.add(one, other).tolist())] += chance * more  # type: ignore[assignment]
    return dict(sums)


def _existing(histograms: Histograms) -> tuple[int, ...]:
    """The counts of the bins that objects have, one object after the other."""
    return tuple(histograms.counts[histograms.has_bin].tolist())


def _told(transcript: Transcript) -> list[Ints]:
    """The noisy counts of a transcript, statistic by statistic."""
    bins = transcript.first.has_bin
    told = [transcript.near.counts, transcript.first.counts[bins]]
    return told if transcript.second is None else [*told, transcript.second.counts[bins]]


def log_ratio(transcript: Transcript, worlds: tuple[World, World], drawn: int, rng: Randomness) -> float:
    """log(chance in world 0 / chance in world 1) of a transcript of world `drawn`, with its coins."""
    told = _told(transcript)
    asked = [world.asks(rng, transcript) for world in worlds]
    chances = [each.log_chance(counts) for each, counts in zip(asked[drawn], told, strict=True)]
    if [each.public for each in asked[0]] != [each.public for each in asked[1]]:
        return inf if drawn == 0 else -inf
    others = [each.log_chance(counts) for each, counts in zip(asked[1 - drawn], told, strict=True)]
    return (1 - 2 * drawn) * (sum(chances) - sum(others))


def log_ratios(parameters: Certified, claims_of: Callable[[int], Claims]) -> Draws:
    """Draws of the log-ratio of a transcript and, for the first few, of one without noise.

    `claims_of` gives the raw claims of either world. Releases are made with keys of their own, so that each
    can be rerun on the claims of the other world.
    """

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        worlds = World(claims_of(0), parameters), World(claims_of(1), parameters)
        out = np.empty((count, 2))
        for i, key in enumerate(_keys(rng, count)):
            out[i] = log_ratio(worlds[world].draw(key), worlds, world, key)
            if i < NOISE_FREE:
                out[i, 1] = log_ratio(worlds[world].without_noise(key), worlds, world, key)
        return out

    return draws


def _keys(rng: Randomness, count: int) -> list[Randomness]:
    if rng.private:  # every use would take a new key
        rng = seeded(int(2**53 * rng.stream("key", purpose="audit").uniforms(1)[0]))
    return repeatable(rng, count)
