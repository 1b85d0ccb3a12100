"""What truth discovery finds: an estimate and how sure it is for each object, a weight for each user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Truths:
    """Estimates of the objects of some claims, in the same order.

    An error is a standard error with `freedom` degrees of freedom: that of a weighted mean, from how far the
    object's own claims lie from it. It knows nothing of the method's model, so that it holds for noisy
    claims as well. One claim tells nothing about its error (infinite). Noise-aware inference has a model, and
    there it is the deviation of the truth's posterior.
    """

    objects: pl.Series
    users: pl.Series
    estimates: Floats  # (N,)
    errors: Floats  # (N,)
    freedom: Floats  # (N,)
    weights: Floats  # (M,) how much a user's claims count; only ratios matter
    method: str
    sweeps: int
    converged: bool
    limits: tuple[float, float] = (-np.inf, np.inf)  # that intervals stay in

    def intervals(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that cover the truth with about that probability."""
        from scipy.special import stdtrit

        if not 0 < level < 1:
            raise ParameterError(f"a level lies between 0 and 1, not {level:g}")
        known = np.isfinite(self.errors)
        half = np.full(self.errors.size, np.inf)
        half[known] = self.errors[known] * stdtrit(self.freedom[known], 0.5 + level / 2)
        low, high = self.limits
        return np.maximum(self.estimates - half, low), np.minimum(self.estimates + half, high)

    def to_frame(self, level: float = 0.9) -> pl.DataFrame:
        """Columns object, estimate, lower, upper and error; an end that is not known is empty."""
        lower, upper = self.intervals(level)
        found = {"estimate": self.estimates, "lower": lower, "upper": upper, "error": self.errors}
        frame = pl.DataFrame({"object": self.objects, **found})
        return frame.with_columns(
            pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in found
        )

    def user_frame(self) -> pl.DataFrame:
        """Columns user and weight."""
        return pl.DataFrame({"user": self.users, "weight": self.weights})


@dataclass(frozen=True, eq=False)
class Voted:
    """The labels of the objects of some claims, in the same order, and the chance that each is right."""

    objects: pl.Series
    users: pl.Series
    estimates: pl.Series  # (N,) labels
    chances: Floats  # (N,)
    weights: Floats  # (M,) how much a user's claims count; below 0: the opposite is likelier
    method: str
    sweeps: int
    converged: bool

    def to_frame(self) -> pl.DataFrame:
        """Columns object, estimate and chance."""
        return pl.DataFrame({"object": self.objects, "estimate": self.estimates, "chance": self.chances})

    def user_frame(self) -> pl.DataFrame:
        """Columns user and weight."""
        return pl.DataFrame({"user": self.users, "weight": self.weights})
