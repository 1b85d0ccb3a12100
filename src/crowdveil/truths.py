"""Results of truth discovery: an estimate with its error for each object, and a weight for each user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Truths:
    """One estimate for each object and one weight for each user, in the order of the claims.

    An error is the standard error of a weighted mean with `freedom` degrees of freedom, estimated from the
    residuals of the object's own claims. It does not rely on the method's model, so it holds for perturbed
    claims too. An object with one claim has an infinite error. For noise-aware inference, which has a model,
    the error is the standard deviation of the truth's posterior.
    """

    objects: pl.Series
    users: pl.Series
    estimates: Floats  # (N,)
    errors: Floats  # (N,)
    freedom: Floats  # (N,)
    weights: Floats  # (M,) weight of a user's claims; only ratios matter
    method: str
    sweeps: int
    converged: bool
    limits: tuple[float, float] = (-np.inf, np.inf)  # intervals are clipped to these

    def intervals(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends of intervals that cover the truth with probability about `level`."""
        from scipy.special import stdtrit

        if not 0 < level < 1:
            raise ParameterError(f"a level lies between 0 and 1, not {level:g}")
        finite = np.isfinite(self.errors)
        half = np.full(self.errors.size, np.inf)
        half[finite] = self.errors[finite] * stdtrit(self.freedom[finite], 0.5 + level / 2)
        low, high = self.limits
        return np.maximum(self.estimates - half, low), np.minimum(self.estimates + half, high)

    def to_frame(self, level: float = 0.9) -> pl.DataFrame:
        """Columns object, estimate, lower, upper and error; infinite ends and errors are null."""
        lower, upper = self.intervals(level)
        columns = {"estimate": self.estimates, "lower": lower, "upper": upper, "error": self.errors}
        frame = pl.DataFrame({"object": self.objects, **columns})
        return frame.with_columns(
            pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in columns
        )

    def user_frame(self) -> pl.DataFrame:
        """Columns user and weight."""
        return pl.DataFrame({"user": self.users, "weight": self.weights})


@dataclass(frozen=True, eq=False)
class Voted:
    """One label for each object, in the order of the claims, and the probability that it is right."""

    objects: pl.Series
    users: pl.Series
    estimates: pl.Series  # (N,) labels
    chances: Floats  # (N,)
    weights: Floats  # (M,) weight of a user's claims; below 0, other labels are likelier than theirs
    method: str
    sweeps: int
    converged: bool

    def to_frame(self) -> pl.DataFrame:
        """Columns object, estimate and chance."""
        return pl.DataFrame({"object": self.objects, "estimate": self.estimates, "chance": self.chances})

    def user_frame(self) -> pl.DataFrame:
        """Columns user and weight."""
        return pl.DataFrame({"user": self.users, "weight": self.weights})
