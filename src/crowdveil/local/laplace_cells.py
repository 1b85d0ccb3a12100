"""Laplace noise on every cell of a user (LP): a cell without an answer gets one first, then all get noise.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.
In place of NULL stands a public answer or a random one, never one that depends on what the user answered. So
an answer, or none, moves by at most high - low, and exact discrete Laplace noise of scale (high - low) /
epsilon makes each cell pure epsilon-private. (The paper has the number of answers there: more noise.)

What shows: who takes part. What is lost: reports of answers and of NULLs look alike, so that means of reports
lie between the answers and what stands for NULL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sinh

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.rounding import up
from crowdveil.answers import Answers, Domain, Symbols
from crowdveil.arrays import Codes, Floats
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, rational, rounded_up
from crowdveil.kernels import laplace_cells
from crowdveil.kernels.laplace_cells import Places
from crowdveil.local.cell_response import ASSUMPTIONS
from crowdveil.local.devices import run_devices
from crowdveil.local.inverse_deviation import Inferred, infer
from crowdveil.randomness import Randomness, Words, scales, secure

MOST = 2**15 - 1  # a report has two bytes; what lies beyond is told as this
SCALES_WITHIN = 16  # so many scales fit, so that this happens to one report in eight million


@dataclass(frozen=True)
class LaplaceCells:
    """Parameters: epsilon for each cell, the domain, and the answer in place of NULL (default: random)."""

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

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams."""
        return "laplace cells"

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise: (high - low) / epsilon, or slightly more if that has too many digits."""
        exact = (self.domain.size - 1) / rational(self.epsilon, what="epsilon")
        return scales.at_least(exact, refusal=f"epsilon is too small: {self.epsilon:g}")

    @property
    def realised(self) -> float:
        """The epsilon that the noise gives a cell, never above the one asked for."""
        return up((self.domain.size - 1) / self.scale)

    @property
    def noise_variance(self) -> float:
        """The variance of the noise."""
        return 0.5 / sinh(0.5 / float(self.scale)) ** 2

    @property
    def null_mean(self) -> float:
        """What stands for NULL, on average."""
        return 0.5 * (self.domain.low + self.domain.high) if self.null is None else float(self.null)

    def fill_row(self, state: Words, answered: Codes, codes: Symbols, out: Places) -> None:
        """Fill `out` with what a device sends, in steps above the domain's low end."""
        null = -1 if self.null is None else self.null - self.domain.low
        laplace_cells.fill_noisy(
            *(state, answered, codes, self.domain.size, null),
            *(self.scale.numerator, self.scale.denominator, MOST, out),
        )

    def cell_level(self) -> Guarantee:
        """What is promised about each cell: pure epsilon."""
        return Guarantee(self.realised, 0.0, "cell", "replace-one", "local", ASSUMPTIONS)

    def user_level(self, objects: int) -> Guarantee:
        """What is promised to a user about all cells: their epsilons' sum."""
        check_whole(objects, "the number of objects")
        whole = up(objects * (self.domain.size - 1) / self.scale)
        return replace(self.cell_level(), epsilon=whole, unit="user")


@dataclass(frozen=True, eq=False)
class LaplaceReports:
    """A noisy place for each cell, two bytes each, in steps above the domain's low end."""

    objects: pl.Series
    users: pl.Series
    domain: Domain
    places: Places  # (M, N)
    null_mean: float
    noise_variance: float

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
        mean: Floats = self.null_mean + (self.means() - self.null_mean) / share
        return mean

    def truths(self) -> Inferred:
        """Inverse deviation on reports as they are: what the paper does."""

        def losses(truths: Floats) -> Floats:
            out = np.empty(len(self.users))
            laplace_cells.mean_squares(self.places, truths - self.domain.low, out)
            return out

        return infer(len(self.users), self._means, losses, scale=float(self.domain.size - 1))

    def _means(self, weights: Floats) -> Floats:
        out = np.empty(len(self.objects))
        laplace_cells.weighted_means(self.places, weights, out)
        return out + self.domain.low


def report(answers: Answers, parameters: LaplaceCells, *, rng: Randomness | None = None) -> LaplaceReports:
    """Every cell as its user's device would report it; each user has a stream of the user's own name."""
    places = np.empty((len(answers.users), len(answers.objects)), dtype=np.int16)

    def send(user: int, state: Words, answered: Codes, codes: Symbols) -> None:
        parameters.fill_row(state, answered, codes, places[user])

    run_devices(answers, send, purpose=parameters.method, rng=rng or secure())
    return LaplaceReports(
        *(answers.objects, answers.users, answers.domain, places),
        null_mean=parameters.null_mean,
        noise_variance=parameters.noise_variance,
    )
