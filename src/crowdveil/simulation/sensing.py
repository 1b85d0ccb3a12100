"""Simulated crowd sensing: users with different error variances.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018.
Notation: lambda1 is the rate of the exponential distribution of users' error variances; its mean is
1/lambda1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import polars as pl

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Stream
from crowdveil.simulation.claims import SimulatedClaims, check_share, chosen_by_lot, claims_of_a_user

_MARGIN = 10.0  # margin of the public range around the truths, in units of 1/sqrt(lambda1)


@dataclass(frozen=True)
class SimulatedSensing:
    """The paper's simulation: a user claims the truth plus N(0, v), where v ~ Exp(lambda1) for each user.

    The paper does not state how truths are drawn; here they are uniform in [low, high]. With `share` below 1
    each user makes claims about that share of the objects, at least one, chosen at random.
    """

    users: int = 150
    objects: int = 30
    lambda1: float = 1.0
    share: float = 1.0
    low: float = 0.0
    high: float = 10.0

    def __post_init__(self) -> None:
        if self.users < 1 or self.objects < 1:
            raise ParameterError("a simulation needs at least one user and one object")
        if not 1e-12 <= self.lambda1 <= 1e12:
            raise ParameterError(f"lambda1 must be a number from 1e-12 to 1e12, not {self.lambda1:g}")
        check_share(self.share)

    @property
    def range(self) -> Range:
        """A public range that contains all but one claim in a million; the paper has no range."""
        margin = _MARGIN / sqrt(self.lambda1)
        return Range(self.low - margin, self.high + margin)

    @property
    def claims_of_a_user(self) -> int:
        """Number of claims of each user."""
        return claims_of_a_user(self.objects, self.share)

    def names(self) -> tuple[list[str], list[str]]:
        """Names of objects and users, zero-padded so that alphabetical order is numerical order."""
        return SimulatedClaims(users=self.users, objects=self.objects).names()

    def truth_values(self, *, rng: Randomness) -> Floats:
        """The truth of each object."""
        return self.low + (self.high - self.low) * _stream(rng, "truths").uniforms(self.objects)

    def truths(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object and value: the truths."""
        return pl.DataFrame({"object": self.names()[0], "value": self.truth_values(rng=rng)})

    def variances(self, *, rng: Randomness) -> Floats:
        """Error variance of each user, for oracle weights."""
        variances: Floats = -np.log1p(-_stream(rng, "variances").uniforms(self.users)) / self.lambda1
        return variances

    def frame(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object, user, value."""
        shape = (self.objects, self.users)
        errors = _stream(rng, "errors").normals(self.objects * self.users).reshape(shape)
        values = self.truth_values(rng=rng)[:, None] + np.sqrt(self.variances(rng=rng)) * errors
        objects, users = self.names()
        all_claims = pl.DataFrame(
            {
                "object": np.repeat(objects, self.users),
                "user": np.tile(users, self.objects),
                "value": values.ravel(),
            }
        )
        if self.share == 1:
            return all_claims
        uniforms = _stream(rng, "lots").uniforms(self.objects * self.users)
        return all_claims.filter(pl.Series(chosen_by_lot(uniforms, self.objects, self.share)))

    def claims(self, *, rng: Randomness) -> Claims:
        """The claims of `frame`."""
        return Claims.from_frame(self.frame(rng=rng), object="object", user="user", value="value")


def _stream(rng: Randomness, name: str) -> Stream:
    return rng.stream(name, purpose="sensing")
