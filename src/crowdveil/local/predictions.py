"""What factorization gives: public profiles of objects, a profile of each user, and their products.

Users' profiles are small and predictions many, so no table of predictions is ever made: means and deviations
come from sums where predictions are used as they are, and row by row where they are kept in the domain.

Notation: d dimensions; u a user's profile, v an object's; a prediction is centre + u'v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_whole
from crowdveil.answers import Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import factors
from crowdveil.kernels.products import product, product_across
from crowdveil.local.inverse_deviation import infer
from crowdveil.randomness import seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.truths import Truths

STEPS = 2**10  # in a unit: profiles are whole numbers of steps
MOST_DIMENSIONS = 256
_FINENESS = 2**20


def object_profiles(objects: pl.Series, dimensions: int, seed: int) -> Ints:
    """Public profiles (N, d) in steps: positive shares of one, rounded towards zero, from a public seed.

    An object's profile depends on its name and the seed, on no answer and on no other object.
    """
    check_whole(dimensions, "the number of dimensions")
    if dimensions > MOST_DIMENSIONS:
        raise ParameterError(f"there are at most {MOST_DIMENSIONS} dimensions, not {dimensions}")
    key, nonces = seeded(seed).streams(objects, purpose="object profiles")
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    profiles = np.empty((len(objects), dimensions), dtype=np.int64)
    for place, nonce in enumerate(nonces):
        start(state, key, nonce)
        factors.fill_profile(state, _FINENESS, STEPS, profiles[place])
    return profiles


def check_profiles(profiles: Ints, objects: int, dimensions: int) -> None:
    """Refuse profiles of the wrong shape, or with one whose entries' sizes add up to more than one."""
    if profiles.shape != (objects, dimensions) or profiles.dtype != np.int64:
        raise ParameterError(f"profiles must be whole numbers, {dimensions} for each of {objects} objects")
    if objects and int(np.abs(profiles).sum(axis=1).max()) > STEPS:
        raise ParameterError(f"an object's profile has more than {STEPS} steps in all")


def symmetric(triangles: Ints, dimensions: int) -> Floats:
    """Matrices (M, d, d) from upper triangles (M, d (d + 1) / 2) in squared steps, row by row."""
    full = np.empty((len(triangles), dimensions, dimensions))
    rows, columns = np.triu_indices(dimensions)
    full[:, rows, columns] = triangles / float(STEPS**2)
    full[:, columns, rows] = full[:, rows, columns]
    return full


def solved(values: Floats, vectors: Floats, right: Floats) -> Floats:
    """Solutions (M, d) of symmetric systems that are given by their eigenvalues and eigenvectors."""
    along = np.einsum("mki,mk->mi", vectors, right) / values
    found: Floats = np.einsum("mki,mi->mk", vectors, along)
    return found


@dataclass(frozen=True, eq=False)
class Predictions:
    """A prediction for each user and object, as centre + u'v, kept in the domain if `within`."""

    objects: pl.Series
    users: pl.Series
    domain: Domain
    user_profiles: Floats  # (M, d)
    profiles: Floats  # (N, d)
    centre: float
    within: bool

    def of(self, user: int) -> Floats:
        """The predictions for one user, by place."""
        found: Floats = self.centre + product(self.profiles, self.user_profiles[user])
        return np.clip(found, self.domain.low, self.domain.high) if self.within else found

    def truths(self) -> Truths:
        """Inverse deviation on all predictions."""
        steps = (self._means, self._losses) if self.within else (self._plain_means, self._plain_losses)
        return infer(self.objects, self.users, self.domain, *steps)

    def _plain_means(self, weights: Floats) -> Floats:
        """The mean prediction is the prediction for the mean profile."""
        mean = product(weights, self.user_profiles) / weights.sum()
        found: Floats = self.centre + product(self.profiles, mean)
        return found

    def _plain_losses(self, truths: Floats) -> Floats:
        """The mean of (u'v - t)^2 over objects is u'Au - 2 u'b + c, taken around the profile nearest to t.

        There b vanishes, and no digits are lost where a user's predictions are close to the truths.
        """
        beyond = truths - self.centre
        nearest = np.linalg.lstsq(self.profiles, beyond, rcond=None)[0]
        left = float(np.square(beyond - product(self.profiles, nearest)).mean())
        gram = product_across(self.profiles, self.profiles) / len(self.objects)
        away = self.user_profiles - nearest
        found: Floats = left + np.maximum(0.0, (product(away, gram) * away).sum(axis=1))
        return found

    def _means(self, weights: Floats) -> Floats:
        out, kept = np.empty(len(self.objects)), self._kept_within()
        LocalEngine().spread(
            "objects",
            out.size,
            lambda first, last: factors.weighted_means(*kept, weights, first, last, out),
        )
        return out

    def _losses(self, truths: Floats) -> Floats:
        out, kept = np.empty(len(self.users)), self._kept_within()
        LocalEngine().spread(
            "users", out.size, lambda first, last: factors.mean_squares(*kept, truths, first, last, out)
        )
        return out

    def _kept_within(self) -> tuple[Floats, Floats, float, float, float]:
        low, high = float(self.domain.low), float(self.domain.high)
        return self.user_profiles, np.ascontiguousarray(self.profiles.T), self.centre, low, high
