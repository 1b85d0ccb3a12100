"""Simulated claims as in the papers, drawn from seeded streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from crowdveil.arrays import Flags, Floats
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness


def check_share(share: float) -> None:
    """Raise `ParameterError` unless it is a share of objects that a user can make claims about."""
    if not 0 < share <= 1:
        raise ParameterError(
            f"the share of objects that a user makes claims about must be in (0, 1], not {share:g}"
        )


def claims_of_a_user(objects: int, share: float) -> int:
    """The number of claims of each user: that share of the objects, at least one."""
    return max(1, round(share * objects))


def chosen_by_lot(uniforms: Floats, objects: int, share: float) -> Flags:
    """For all pairs of object and user, object by object: whether the user makes a claim about it."""
    ranks = np.argsort(np.argsort(uniforms.reshape(objects, -1), axis=0), axis=0)
    chosen: Flags = (ranks < claims_of_a_user(objects, share)).ravel()
    return chosen


@dataclass(frozen=True)
class SimulatedClaims:
    """PrisCrowd's simulation: reliable users claim N(centre, spread^2), a share `unreliable` U(low, high).

    Reference: Huai et al., *Privacy-aware Synthesizing for Crowdsourced Data*, 2019 (extended version),
    appendix E.
    """

    users: int = 30
    objects: int = 50
    unreliable: float = 0.3
    share: float = 1.0  # of the objects that each user makes claims about
    centre: float = 5.0
    spread: float = 0.5
    low: float = 0.0
    high: float = 10.0

    def __post_init__(self) -> None:
        if self.users < 1 or self.objects < 1:
            raise ParameterError("a simulation needs at least one user and one object")
        if not 0 <= self.unreliable <= 1:
            raise ParameterError(f"the share of unreliable users must be in [0, 1], not {self.unreliable:g}")
        check_share(self.share)

    @property
    def liars(self) -> int:
        """Number of unreliable users, who come first."""
        return round(self.users * self.unreliable)

    def names(self) -> tuple[list[str], list[str]]:
        """Names of objects and users, zero-padded so that alphabetical order is numerical order."""
        wide_objects, wide_users = len(str(self.objects)), len(str(self.users))
        return (
            [f"object-{i + 1:0{wide_objects}}" for i in range(self.objects)],
            [f"user-{s + 1:0{wide_users}}" for s in range(self.users)],
        )

    def frame(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object, user, value: one claim of every user about each of the objects chosen by lot."""
        normals = rng.stream("reliable", purpose="simulation").normals(self.objects * self.users)
        uniforms = rng.stream("unreliable", purpose="simulation").uniforms(self.objects * self.users)
        unreliable = np.tile(np.arange(self.users) < self.liars, self.objects)
        reliable = self.centre + self.spread * normals
        values = np.where(unreliable, self.low + (self.high - self.low) * uniforms, reliable)
        objects, users = self.names()
        all_claims = pl.DataFrame(
            {
                "object": np.repeat(objects, self.users),
                "user": np.tile(users, self.objects),
                "value": values,
            }
        )
        if self.share == 1:
            return all_claims
        uniforms = rng.stream("lots", purpose="simulation").uniforms(self.objects * self.users)
        return all_claims.filter(pl.Series(chosen_by_lot(uniforms, self.objects, self.share)))

    def truths(self) -> pl.DataFrame:
        """Columns object, value, spread: the normal distribution of reliable claims."""
        return pl.DataFrame(
            {"object": self.names()[0], "value": self.centre, "spread": self.spread},
            schema={"object": pl.String, "value": pl.Float64, "spread": pl.Float64},
        )

    def claims(self, *, rng: Randomness) -> Claims:
        """The claims of `frame`."""
        return Claims.from_frame(self.frame(rng=rng), object="object", user="user", value="value")


@dataclass(frozen=True)
class HarderClaims:
    """A harder simulation: random centres, lognormal spreads, a third of the objects skewed or bimodal.

    Users differ in bias and noise, and a share `unreliable` of them lies: with uniform values in the range
    ("uniform"), with one common wrong value for each object ("colluding"), or near the low end ("low").
    """

    users: int = 30
    objects: int = 50
    unreliable: float = 0.1
    lies: Literal["uniform", "colluding", "low"] = "uniform"
    same_centre: bool = False  # all objects at 5 with spread 0.5, as in the papers' simulation
    low: float = 0.0
    high: float = 10.0

    def components(self, *, rng: Randomness) -> Floats:
        """Weight, mean and spread of the two normals of honest claims, of shape (objects, 2, 3)."""
        positions = rng.stream("centres", purpose="harder").uniforms(self.objects)
        normals = rng.stream("spreads", purpose="harder").normals(self.objects)
        centre = np.full(self.objects, 5.0) if self.same_centre else 1.0 + 8.0 * positions
        spread = np.full(self.objects, 0.5) if self.same_centre else 0.5 * np.exp(0.4 * normals)
        mixtures = np.zeros((self.objects, 2, 3))
        for i in range(self.objects):
            m, s = centre[i], spread[i]
            if self.same_centre or i % 3:
                mixtures[i] = [[1.0, m, s], [0.0, m, s]]
            elif i % 2:
                mixtures[i] = [[0.5, m - 1.5 * s, 0.6 * s], [0.5, m + 1.5 * s, 0.6 * s]]
            else:
                mixtures[i] = [[0.6, m - 0.6 * s, 0.6 * s], [0.4, m + 0.9 * s, 1.2 * s]]
        return mixtures

    def claims(self, *, rng: Randomness) -> Claims:
        """Claims of all users about all objects, clamped to the range."""
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
        lies = {
            "uniform": self.low + length * draw("lies"),
            "colluding": np.broadcast_to(self.low + length * draw("lies")[:, :1], shape),
            "low": self.low + 0.2 * length * draw("lies"),
        }[self.lies]
        values = np.clip(np.where(liars, lies, values), self.low, self.high)
        return Claims.from_columns(
            np.repeat(np.arange(self.objects), self.users),
            np.tile(np.arange(self.users), self.objects),
            values.ravel(),
        )
