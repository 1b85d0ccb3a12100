"""Factorization on noisy sums: each user's profile from two sums that hide every cell, NULL included.

The method of Sun et al. 2018 tells which objects were answered (`factorization`). Here a device sends the two
sums that a profile is made of, with noise, and the server does the rest. Profiles of objects are public, with
|v| <= 1 (L1). So an answer that is replaced moves the first sum by at most high - low and the second not at
all; one that comes or goes moves them by at most (high - low) / 2 and 1. Noise of scale (high - low) /
epsilon on the first and 2 / epsilon on the second makes each cell pure epsilon-private.

Notation: z the sum of (answer - middle) v over a user's answers; G that of v v', its upper triangle.
What shows: who takes part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import ClassVar

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.accounting.rounding import up_to
from crowdveil.answers import Domain, Symbols
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.guarantee import Guarantee, Unit, rational
from crowdveil.kernels import factors
from crowdveil.local.cell_response import ASSUMPTIONS
from crowdveil.local.grid import DEVIATIONS
from crowdveil.local.predictions import (
    STEPS,
    Predictions,
    check_profiles,
    object_profiles,
    solved,
    symmetric,
)
from crowdveil.local.reports import CellMechanism, Device, pure
from crowdveil.randomness import Words, scales
from crowdveil.randomness.samplers import fill_discrete_laplace
from crowdveil.truths import Truths

PUBLIC_PROFILES = "objects' profiles come from a public seed, chosen without looking at answers"


@dataclass(frozen=True)
class SoundFactorization(CellMechanism):
    """Parameters: epsilon for each cell, the domain, dimensions, the profiles' public seed, and a ridge."""

    name: ClassVar[str] = "mf-sound"
    method: ClassVar[str] = "sound factors"
    options: ClassVar[tuple[str, ...]] = ("dimensions", "ridge")

    epsilon: float
    domain: Domain
    dimensions: int = 1
    seed: int = 0
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_whole(self.dimensions, "the number of dimensions")
        check_positive(self.ridge, "the ridge")
        object_profiles(pl.Series([], dtype=pl.Int64), self.dimensions, self.seed)  # refuses both if bad
        _ = self.answer_scale, self.product_scale

    @property
    def width(self) -> int:
        """How far answers are apart at most."""
        return self.domain.size - 1

    @property
    def sums(self) -> int:
        """How many numbers a device sends: z, then the upper triangle of G row by row."""
        return self.dimensions + self.dimensions * (self.dimensions + 1) // 2

    @cached_property
    def answer_scale(self) -> Fraction:
        """The scale of the noise in z, in half steps."""
        return self._scale(2 * self.width * STEPS)

    @cached_property
    def product_scale(self) -> Fraction:
        """The scale of the noise in G, in squared steps."""
        return self._scale(2 * STEPS**2)

    def _scale(self, sensitivity: int) -> Fraction:
        exact = sensitivity / rational(self.epsilon, what="epsilon")
        return scales.at_least(exact, refusal=f"epsilon is too small: {self.epsilon:g}")

    @property
    def realised(self) -> float:
        """The epsilon that the noise gives a cell, never above the one asked for."""
        return up_to(self._realised, self.epsilon)

    @property
    def _realised(self) -> Fraction:
        """Of an answer that is replaced, or of one that comes or goes, whichever is more."""
        replaced = 2 * self.width * STEPS / self.answer_scale
        comes = self.width * STEPS / self.answer_scale + STEPS**2 / self.product_scale
        return max(replaced, comes)

    def profiles(self, objects: pl.Series) -> Ints:
        """The public profiles of objects, in steps."""
        return object_profiles(objects, self.dimensions, self.seed)

    def row(self, _objects: int) -> tuple[int, type[np.generic]]:
        """A device sends both sums, however many objects there are."""
        return self.sums, np.int64

    def bounds(self, objects: int, _place: int) -> list[tuple[int, int]]:
        """The largest sums that so many answers have, and noise of a thousand standard deviations."""
        answers = objects * self.width * STEPS + ceil(DEVIATIONS * sqrt(2) * float(self.answer_scale))
        products = objects * STEPS**2 + ceil(DEVIATIONS * sqrt(2) * float(self.product_scale))
        entries = self.sums - self.dimensions
        return [(-answers, answers)] * self.dimensions + [(-products, products)] * entries

    def device(self, objects: pl.Series, _places: Ints) -> Device:
        """What each user's device does."""
        profiles = self.profiles(objects)
        check_profiles(profiles, len(objects), self.dimensions)

        def fill(_: int, state: Words, answered: Codes, codes: Symbols, out: Ints) -> None:
            self.fill_sums(state, answered, codes, profiles, out)

        return fill

    def received(
        self, objects: pl.Series, users: pl.Series, rows: Ints, _places: Ints | None = None
    ) -> NoisySums:
        """The sums, with the objects' profiles."""
        return NoisySums(objects, users, self, self.profiles(objects), rows)

    def fill_sums(self, state: Words, answered: Codes, codes: Symbols, profiles: Ints, out: Ints) -> None:
        """Fill `out` with what a device sends: both sums in whole steps, with noise."""
        first = out[: self.dimensions]
        second = out[self.dimensions :]
        # The noise comes first and the sums are added to it: no array ever holds a sum without noise.
        fill_discrete_laplace(state, self.answer_scale.numerator, self.answer_scale.denominator, first)
        fill_discrete_laplace(state, self.product_scale.numerator, self.product_scale.denominator, second)
        factors.add_answers(answered, codes, profiles, 2, self.width, first)
        factors.add_products(answered, profiles, second)

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee:
        """Pure epsilon for each cell; for a user the sum over `count` objects."""
        assumptions = (*ASSUMPTIONS, PUBLIC_PROFILES)
        return pure(self._unit(unit, count), count, self.realised, self._realised, assumptions)


@dataclass(frozen=True, eq=False)
class NoisySums:
    """What devices sent: for each user z and the upper triangle of G, in half steps and squared steps."""

    objects: pl.Series
    users: pl.Series
    parameters: SoundFactorization
    profiles: Ints  # (N, d) in steps
    sums: Ints  # (M, d + d (d + 1) / 2)

    def answer_sums(self) -> Floats:
        """z of each user (M, d): unbiased."""
        return self.sums[:, : self.parameters.dimensions] / (2.0 * STEPS)

    def product_sums(self) -> Floats:
        """G of each user (M, d, d): unbiased, symmetric, not always positive."""
        return symmetric(self.sums[:, self.parameters.dimensions :], self.parameters.dimensions)

    def predictions(self) -> Predictions:
        """Users' profiles from their sums: G made positive, then (G + ridge) u = z."""
        values, vectors = np.linalg.eigh(self.product_sums())
        lifted = np.maximum(values, 0.0) + self.parameters.ridge
        domain = self.parameters.domain
        return Predictions(
            *(self.objects, self.users, domain),
            user_profiles=solved(lifted, vectors, self.answer_sums()),
            profiles=self.profiles / float(STEPS),
            centre=0.5 * (domain.low + domain.high),
            within=True,
        )

    def truths(self) -> Truths:
        """Inverse deviation on all predictions."""
        return self.predictions().truths()
