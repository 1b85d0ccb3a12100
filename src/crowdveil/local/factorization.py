"""Factorization with a noisy objective (MF), as in the paper: answers are hidden, which there are is not.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018,
algorithm 2. Profiles v of objects are public and random, |v| <= 1 (L1). A device finds the profile u that
minimises the sum of (answer - u'v)^2 over its user's answers, plus 2 u'noise, and sends it. In closed form
G u = z - noise, with G = sum of v v' and z = sum of answer * v. (The paper descends along the gradient.)

The paper claims epsilon for each cell, NULL included. That is false: noise is added to z only, and G, which
says which objects were answered, is not hidden. With one dimension u = (sum of answers - noise) / (number of
answers): who answered twice has half the noise of who answered once. See docs/guarantees/sparse.md, and
`sound_factorization` for what hides both. Positive profiles predict nearly the same number for all objects.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.accounting.rounding import up
from crowdveil.answers import Answers, Domain, Symbols
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee, Unit, rational, rounded_up
from crowdveil.kernels import factors
from crowdveil.local.predictions import (
    STEPS,
    Predictions,
    check_profiles,
    object_profiles,
    solved,
    symmetric,
)
from crowdveil.local.reports import CellMechanism, Device
from crowdveil.local.sound_factorization import PUBLIC_PROFILES
from crowdveil.randomness import Words, scales
from crowdveil.randomness.samplers import fill_discrete_laplace

ASSUMPTIONS = (
    "the domain was declared, not read off the data",
    "who answered about which objects is public: it is not protected",
    "each answer was used once: whatever else is sent about it adds up",
    PUBLIC_PROFILES,
)
SINGULAR = 1e-9  # a Gram matrix whose smallest eigenvalue is no larger part of its largest has none


@dataclass(frozen=True)
class Factorization(CellMechanism):
    """Parameters: the paper's epsilon, the domain, dimensions, the profiles' public seed, and a ridge.

    Without a ridge users need enough answers for an invertible Gram matrix, or their profile does not exist.
    """

    name: ClassVar[str] = "mf"
    method: ClassVar[str] = "factorization"
    units: ClassVar[tuple[Unit, ...]] = ("cell", "user", "claim")
    options: ClassVar[tuple[str, ...]] = ("dimensions", "ridge")

    epsilon: float
    domain: Domain
    dimensions: int = 1
    seed: int = 0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self.dimensions, "the number of dimensions")
        if self.ridge:
            check_positive(self.ridge, "the ridge")
        object_profiles(pl.Series([], dtype=pl.Int64), self.dimensions, self.seed)  # refuses both if bad
        _ = self.scale

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise in steps: that of the paper, the number of answers over epsilon."""
        exact = self.domain.size * STEPS / rational(self.epsilon, what="epsilon")
        return scales.at_least(exact, refusal=f"epsilon is too small: {self.epsilon:g}")

    def profiles(self, objects: pl.Series) -> Ints:
        """The public profiles of objects, in steps."""
        return object_profiles(objects, self.dimensions, self.seed)

    def row(self, _objects: int) -> tuple[int, type[np.generic]]:
        """A device sends its user's profile."""
        return self.dimensions, np.float64

    def bounds(self, _objects: int, _place: int) -> list[tuple[int, int]]:
        """None: a profile is made of floats, and hides no NULL."""
        raise ParameterError("mf does not send whole numbers: no campaign can use it")

    def device(self, objects: pl.Series, _places: Ints) -> Device:
        """What each user's device does."""
        profiles, d = self.profiles(objects), self.dimensions
        check_profiles(profiles, len(objects), d)

        def fill(_: int, state: Words, answered: Codes, codes: Symbols, out: Floats) -> None:
            noisy = np.empty(d, dtype=np.int64)
            triangle = np.empty(d * (d + 1) // 2, dtype=np.int64)
            self.fill_sums(state, answered, codes, profiles, noisy, triangle)
            out[:] = self.user_profile(noisy, triangle)

        return fill

    def received(
        self, objects: pl.Series, users: pl.Series, rows: Floats, _places: Ints | None = None
    ) -> Predictions:
        """Predictions from users' profiles and those of objects."""
        if not np.isfinite(rows).all():
            raise InputError("a user's profile has an entry that is not a finite number")
        profiles = self.profiles(objects) / float(STEPS)
        return Predictions(objects, users, self.domain, rows, profiles, centre=0.0, within=False)

    def fill_sums(
        self, state: Words, answered: Codes, codes: Symbols, profiles: Ints, noisy: Ints, triangle: Ints
    ) -> None:
        """What a device computes first: z less noise, in steps, and the upper triangle of G as it is."""
        fill_discrete_laplace(state, self.scale.numerator, self.scale.denominator, noisy)
        np.negative(noisy, out=noisy)
        factors.add_answers(answered, codes, profiles, 1, -self.domain.low, noisy)
        triangle[:] = 0
        factors.add_products(answered, profiles, triangle)

    def check(self, answers: Answers) -> None:
        """Refuse answers of which some user's profile would not exist, before anything is drawn."""
        super().check(answers)
        if self.ridge:
            return
        profiles, d = self.profiles(answers.objects), self.dimensions
        triangles = np.zeros((len(answers.users), d * (d + 1) // 2), dtype=np.int64)
        for user, triangle in enumerate(triangles):
            own = slice(answers.offsets[user], answers.offsets[user + 1])
            factors.add_products(answers.object_codes[own], profiles, triangle)
        values = np.linalg.eigvalsh(symmetric(triangles, d))
        if (values[:, 0] <= SINGULAR * values[:, -1]).any():
            raise InputError(self._too_few)

    @property
    def _too_few(self) -> str:
        fewer = "a ridge" if self.dimensions == 1 else "fewer dimensions or a ridge"
        return (
            "some user has too few answers, or too similar ones, for a profile of "
            f"{self.dimensions} dimension{'s' * (self.dimensions > 1)}: use {fewer}"
        )

    def user_profile(self, noisy: Ints, triangle: Ints) -> Floats:
        """What a device sends (d,); refused, or left to the ridge, if G is not invertible."""
        values, vectors = np.linalg.eigh(symmetric(triangle[None], self.dimensions))
        if values[0, 0] <= SINGULAR * values[0, -1]:
            if not self.ridge:
                raise InputError(self._too_few)
            warnings.warn(
                "some users have too few answers for their profile: the ridge decides it", stacklevel=2
            )
        lifted = np.maximum(values, 0.0) + self.ridge
        profile: Floats = solved(lifted, vectors, noisy[None] / float(STEPS))[0]
        return profile

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee | NoGuarantee:
        """Nothing for a cell or a user, because NULL shows.

        For a "claim", the value of one answer, an epsilon holds if it is public which objects were answered.
        """
        epsilon = up((self.domain.size - 1) * STEPS / self.scale)
        if self._unit(unit, count) == "claim":
            return Guarantee(epsilon, 0.0, "claim", "replace-one", "local", ASSUMPTIONS)
        return NoGuarantee(
            "which objects were answered is not protected, as a user's profile shows it. What holds is for "
            f"the values of answers only: epsilon = {rounded_up(epsilon)} for each, if who answered about "
            "what is public."
        )
