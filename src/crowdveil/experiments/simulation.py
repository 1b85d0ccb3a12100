"""Simulated claims as in the papers, from the project's own seeded streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness


@dataclass(frozen=True)
class SimulatedClaims:
    """PrisCrowd's simulation: reliable users claim N(centre, spread^2), a share claims U(low, high).

    Reference: Huai et al. 2019 (extended), appendix E.
    """

    users: int = 30
    objects: int = 50
    unreliable: float = 0.3
    centre: float = 5.0
    spread: float = 0.5
    low: float = 0.0
    high: float = 10.0

    def __post_init__(self) -> None:
        if self.users < 1 or self.objects < 1:
            raise ParameterError("a simulation needs at least one user and one object")
        if not 0 <= self.unreliable <= 1:
            raise ParameterError(f"the share of unreliable users must be in [0, 1], not {self.unreliable:g}")

    @property
    def liars(self) -> int:
        """How many users are unreliable: the first ones."""
        return round(self.users * self.unreliable)

    def names(self) -> tuple[list[str], list[str]]:
        """Names of objects and users, padded so that they sort as they count."""
        wide_objects, wide_users = len(str(self.objects)), len(str(self.users))
        return (
            [f"object-{i + 1:0{wide_objects}}" for i in range(self.objects)],
            [f"user-{s + 1:0{wide_users}}" for s in range(self.users)],
        )

    def frame(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object, user, value: every user claims something about every object."""
        normals = rng.stream("reliable", purpose="simulation").normals(self.objects * self.users)
        uniforms = rng.stream("unreliable", purpose="simulation").uniforms(self.objects * self.users)
        lies = np.tile(np.arange(self.users) < self.liars, self.objects)
        honest = self.centre + self.spread * normals
        values = np.where(lies, self.low + (self.high - self.low) * uniforms, honest)
        objects, users = self.names()
        return pl.DataFrame(
            {
                "object": np.repeat(objects, self.users),
                "user": np.tile(users, self.objects),
                "value": values,
            }
        )

    def truths(self) -> pl.DataFrame:
        """Columns object, value, spread: the density that honest claims come from."""
        return pl.DataFrame(
            {"object": self.names()[0], "value": self.centre, "spread": self.spread},
            schema={"object": pl.String, "value": pl.Float64, "spread": pl.Float64},
        )

    def claims(self, *, rng: Randomness) -> Claims:
        """The same, coded."""
        return Claims.from_frame(self.frame(rng=rng), object="object", user="user", value="value")
