"""Simulated claims as in the papers, from the project's own seeded streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from crowdveil.arrays import Floats
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


@dataclass(frozen=True)
class HarderClaims:
    """A harder simulation: centres anywhere, lognormal spreads, a third of the objects skewed or bimodal.

    Users differ in bias and noise, and a share of them lies: anything in the range ("uniform"), all the same
    wrong value for an object ("colluding"), or values near the low end ("low").
    """

    users: int = 30
    objects: int = 50
    unreliable: float = 0.1
    lies: Literal["uniform", "colluding", "low"] = "uniform"
    same_centre: bool = False  # all objects at 5 with spread 0.5, as in the papers' simulation
    low: float = 0.0
    high: float = 10.0

    def components(self, *, rng: Randomness) -> Floats:
        """(objects, 2, 3): weight, mean and spread of the two normals that honest claims come from."""
        place = rng.stream("centres", purpose="harder").uniforms(self.objects)
        size = rng.stream("spreads", purpose="harder").normals(self.objects)
        centre = np.full(self.objects, 5.0) if self.same_centre else 1.0 + 8.0 * place
        spread = np.full(self.objects, 0.5) if self.same_centre else 0.5 * np.exp(0.4 * size)
        made = np.zeros((self.objects, 2, 3))
        for i in range(self.objects):
            m, s = centre[i], spread[i]
            if self.same_centre or i % 3:
                made[i] = [[1.0, m, s], [0.0, m, s]]
            elif i % 2:
                made[i] = [[0.5, m - 1.5 * s, 0.6 * s], [0.5, m + 1.5 * s, 0.6 * s]]
            else:
                made[i] = [[0.6, m - 0.6 * s, 0.6 * s], [0.4, m + 0.9 * s, 1.2 * s]]
        return made

    def claims(self, *, rng: Randomness) -> Claims:
        """The claims of all users about all objects, pulled into the range."""
        parts = self.components(rng=rng)
        shape = (self.objects, self.users)
        size = self.objects * self.users

        def draw(name: str) -> Floats:
            return rng.stream(name, purpose="harder").uniforms(size).reshape(shape)

        normals = rng.stream("claims", purpose="harder").normals(size).reshape(shape)
        bias = rng.stream("bias", purpose="harder").normals(self.users) * (0.0 if self.same_centre else 0.15)
        noise = np.exp(0.12 * rng.stream("noise", purpose="harder").normals(self.users))
        second = draw("component") >= parts[:, 0, 0, None]
        mean = np.where(second, parts[:, 1, 1, None], parts[:, 0, 1, None])
        spread = np.where(second, parts[:, 1, 2, None], parts[:, 0, 2, None])
        values = mean + spread * (normals * (1.0 if self.same_centre else noise) + bias)
        liars = np.arange(self.users) < round(self.users * self.unreliable)
        length = self.high - self.low
        told = {
            "uniform": self.low + length * draw("lies"),
            "colluding": np.broadcast_to(self.low + length * draw("lies")[:, :1], shape),
            "low": self.low + 0.2 * length * draw("lies"),
        }[self.lies]
        values = np.clip(np.where(liars, told, values), self.low, self.high)
        return Claims.from_columns(
            np.repeat(np.arange(self.objects), self.users),
            np.tile(np.arange(self.users), self.objects),
            values.ravel(),
        )
