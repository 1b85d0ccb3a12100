"""Laplace noise on every cell of a user (LP): a cell without an answer gets one first, then all get noise.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.
In place of NULL stands a public answer or a random one, never one that depends on what the user answered. So
an answer, or none, moves by at most high - low, and exact discrete Laplace noise of scale (high - low) /
epsilon makes each cell pure epsilon-private. (The paper has the number of answers there: more noise.)

What shows: who takes part. What is lost: reports of answers and of NULLs look alike, so that means of reports
lie between the answers and what stands for NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp
from typing import ClassVar

import numpy as np
import polars as pl

from crowdveil.accounting.rounding import up_to
from crowdveil.answers import CellReports, Domain, Symbols
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Unit, rational, rounded_up
from crowdveil.kernels import laplace_cells
from crowdveil.kernels.laplace_cells import Places
from crowdveil.local.cell_response import ASSUMPTIONS
from crowdveil.local.inverse_deviation import infer
from crowdveil.local.reports import CellMechanism, Device, pure
from crowdveil.randomness import Words, scales
from crowdveil.randomness.laplace_table import LaplaceTable
from crowdveil.truths import Truths

MOST = 2**15 - 1  # a report has two bytes; what lies beyond is sent as this
RANGES_PER_SCALE = 4  # ranges of places for inference: finer ones would hardly add information
SCALES_TOLD = 3  # beyond either end of the domain
SCALES_WITHIN = 16  # so many scales fit, so that this happens to one report in eight million


@dataclass(frozen=True)
class LaplaceCells(CellMechanism):
    """Parameters: epsilon for each cell, the domain, and the answer in place of NULL (default: random)."""

    name: ClassVar[str] = "lp"
    method: ClassVar[str] = "laplace cells"
    options: ClassVar[tuple[str, ...]] = ("null",)

    epsilon: float
    domain: Domain
    null: int | None = None

    def __post_init__(self) -> None:
        if self.null is not None and self.null not in range(self.domain.low, self.domain.high + 1):
            raise ParameterError(
                f"what stands for NULL must be an answer of {self.domain.low}:{self.domain.high}, "
                f"not {self.null}"
            )
        if self.domain.size + SCALES_WITHIN * self.scale > MOST:
            least = SCALES_WITHIN * (self.domain.size - 1) / (MOST - self.domain.size)
            raise ParameterError(
                f"epsilon must be at least {rounded_up(least, 3)} on so many answers, not {self.epsilon:g}: "
                "noisy answers would not fit into two bytes"
            )

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise: (high - low) / epsilon, or slightly more if that has too many digits."""
        exact = (self.domain.size - 1) / rational(self.epsilon, what="epsilon")
        return scales.at_least(exact, refusal=f"epsilon is too small: {self.epsilon:g}")

    @cached_property
    def _table(self) -> LaplaceTable:
        return LaplaceTable.of(self.scale)

    @property
    def realised(self) -> float:
        """The epsilon that the noise gives a cell, never above the one asked for."""
        return up_to((self.domain.size - 1) / self.scale, self.epsilon)

    @property
    def noise_variance(self) -> float:
        """The variance of the noise."""
        return scales.discrete_laplace_variance(float(self.scale))

    @property
    def null_mean(self) -> float:
        """What stands for NULL, on average."""
        return 0.5 * (self.domain.low + self.domain.high) if self.null is None else float(self.null)

    def row(self, objects: int) -> tuple[int, type[np.generic]]:
        """A device sends two bytes for each object: steps above the domain's low end."""
        return objects, np.int16

    def bounds(self, objects: int, _place: int) -> list[tuple[int, int]]:
        """Whatever lies beyond is set to the nearer end."""
        return [(-MOST, MOST)] * objects

    def device(self, _objects: pl.Series, _places: Ints) -> Device:
        """What each user's device does."""
        return self._fill_row

    def received(
        self, objects: pl.Series, users: pl.Series, rows: Places, _places: Ints | None = None
    ) -> LaplaceReports:
        """The noisy places, and what is public about their noise."""
        return LaplaceReports(objects, users, self, rows)

    def law(self, ends: Ints) -> Floats:
        """Chances (answers and NULL, ranges) of places below the first end, between ends, and beyond."""
        q, codes = exp(-1.0 / float(self.scale)), np.arange(self.domain.size)
        beyond = ends - codes[:, None]
        tails = np.power(q, np.maximum(beyond, 1 - beyond)) / (1.0 + q)
        reached = np.where(beyond > 0, tails, 1.0 - tails)
        chances = -np.diff(reached, axis=1, prepend=1.0, append=0.0)
        null = chances.mean(axis=0) if self.null is None else chances[self.null - self.domain.low]
        return np.vstack([chances, null])

    def _fill_row(self, _: int, state: Words, answered: Codes, codes: Symbols, out: Places) -> None:
        null = -1 if self.null is None else self.null - self.domain.low
        # All noise is drawn before answers are looked at.
        noise = np.empty(out.size, dtype=np.int64)
        self._table.fill(state, noise)
        laplace_cells.fill_noisy(state, answered, codes, self.domain.size, null, noise, MOST, out)

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee:
        """Pure epsilon for each cell; for a user the sum over `count` objects."""
        exact = (self.domain.size - 1) / self.scale
        return pure(self._unit(unit, count), count, self.realised, exact, ASSUMPTIONS)


@dataclass(frozen=True, eq=False)
class LaplaceReports:
    """A noisy place for each cell, two bytes each, in steps above the domain's low end."""

    objects: pl.Series
    users: pl.Series
    parameters: LaplaceCells
    places: Places  # (M, N)

    def means(self) -> Floats:
        """The mean report about each object: between its answers' mean and what stands for NULL."""
        return self._means(np.full(len(self.users), 1.0))

    def debiased_means(self, answered: float | Floats) -> Floats:
        """The mean answer about each object if that share of users answered; it may lie beyond the domain.

        The share is not in the reports: it must be known from elsewhere. With the true one this is unbiased.
        """
        share = np.asarray(answered, dtype=np.float64)
        if not ((share > 0) & (share <= 1)).all():
            raise ParameterError("the share of users who answered must lie above 0 and at most at 1")
        null = self.parameters.null_mean
        mean: Floats = null + (self.means() - null) / share
        return mean

    def cells(self, answered: float) -> CellReports:
        """Places in ranges, a byte each, for `truth.randomized`, if that share of cells has an answer.

        The share is not in the reports: it must be known from elsewhere, and a wrong one shifts all estimates
        towards what stands for NULL, or away from it.
        """
        if not 0 < answered <= 1:
            raise ParameterError("the share of cells with an answer must lie above 0 and at most at 1")
        domain, scale = self.parameters.domain, float(self.parameters.scale)
        width, outside = max(1, round(scale / RANGES_PER_SCALE)), ceil(SCALES_TOLD * scale)
        ends = np.arange(-outside, domain.size + outside + 1, width)
        symbol_of = np.searchsorted(ends, np.arange(-MOST, MOST + 1), side="right").astype(np.uint8)
        middles = np.append(ends, ends[-1] + width) - 0.5 * (width + 1) + domain.low
        return CellReports(
            *(self.objects, self.users, domain, symbol_of[self.places.astype(np.int64) + MOST]),
            law=self.parameters.law(ends),
            levels=np.clip(middles, domain.low, domain.high),
            answered=float(answered),
        )

    def truths(self) -> Truths:
        """Inverse deviation on reports as they are: what the paper does."""

        def losses(truths: Floats) -> Floats:
            out = np.empty(len(self.users))
            laplace_cells.mean_squares(self.places, truths - self.parameters.domain.low, out)
            return out

        return infer(self.objects, self.users, self.parameters.domain, self._means, losses)

    def _means(self, weights: Floats) -> Floats:
        out = np.empty(len(self.objects))
        laplace_cells.weighted_means(self.places, weights, out)
        return out + self.parameters.domain.low
