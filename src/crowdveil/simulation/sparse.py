"""Simulated sparse answers: users answer about few objects, half of them accurately and half poorly.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018,
section VI-A.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log
from typing import Literal

import numpy as np
import polars as pl

from crowdveil.answers import Answers, Domain
from crowdveil.arrays import Floats, Ints, frozen
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, Stream
from crowdveil.simulation.claims import SimulatedClaims

DRAWS_AT_ONCE = 2**19  # bounds the memory, independently of the number of cells
MOST_CELLS = 10**12


@dataclass(frozen=True)
class SimulatedAnswers:
    """The paper's simulation: an answer is the truth plus N(0, sigma^2), rounded and clipped to the domain.

    The truths of the paper are N(low, 1), so about half of them lie below the domain, where no answer can be;
    "wide" truths are uniform from low to high, and then no constant is a good estimate. A share `poor` of the
    users, chosen at random, has the larger sigma. Each cell is empty with probability `sparsity`,
    independently.
    """

    users: int = 2000
    objects: int = 200
    sparsity: float = 0.9
    truths: Literal["paper", "wide"] = "paper"
    domain: Domain = field(default=Domain(0, 9))
    good_sigma: float = 1.0
    poor_sigma: float = 5.0
    poor: float = 0.5

    def __post_init__(self) -> None:
        if self.users < 1 or self.objects < 1:
            raise ParameterError("a simulation needs at least one user and one object")
        if self.users * self.objects > MOST_CELLS:
            raise ParameterError(f"a simulation has at most {MOST_CELLS:g} cells, users times objects")
        if not 0 <= self.sparsity < 1:
            raise ParameterError(f"the share of empty cells must be in [0, 1), not {self.sparsity:g}")
        if not 0 <= self.poor <= 1:
            raise ParameterError(f"the share of poor users must be in [0, 1], not {self.poor:g}")
        if self.truths not in ("paper", "wide"):
            raise ParameterError(f"truths are 'paper' or 'wide', not {self.truths!r}")
        for sigma in (self.good_sigma, self.poor_sigma):
            if not 0 <= sigma <= 1e12:
                raise ParameterError(f"users' sigma must be a number from 0 to 1e12, not {sigma:g}")

    def names(self) -> tuple[list[str], list[str]]:
        """Names of objects and users, zero-padded so that alphabetical order is numerical order."""
        return SimulatedClaims(users=self.users, objects=self.objects).names()

    def truth_values(self, *, rng: Randomness) -> Floats:
        """The truth of each object."""
        stream = _stream(rng, "truths")
        if self.truths == "paper":
            return self.domain.low + stream.normals(self.objects)
        return self.domain.low + (self.domain.size - 1) * stream.uniforms(self.objects)

    def truth_frame(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object and value: the truths."""
        return pl.DataFrame({"object": self.names()[0], "value": self.truth_values(rng=rng)})

    def sigmas(self, *, rng: Randomness) -> Floats:
        """Sigma of each user, for oracle weights."""
        ranks = np.argsort(_stream(rng, "users").uniforms(self.users))
        sigmas = np.full(self.users, self.good_sigma)
        sigmas[ranks[: round(self.poor * self.users)]] = self.poor_sigma
        return sigmas

    def answers(self, *, rng: Randomness) -> Answers:
        """The answers of all users, sorted by user and object."""
        truths, sigmas, errors = self.truth_values(rng=rng), self.sigmas(rng=rng), _stream(rng, "errors")
        counts, moved = np.zeros(self.users, dtype=np.int64), 0
        objects, codes = [], []
        for cells in self._answered(rng):
            owners, answered = np.divmod(cells, self.objects)
            values = truths[answered] + sigmas[owners] * errors.normals(cells.size)
            nearest = np.clip(np.rint(values), self.domain.low, self.domain.high)
            moved += int(np.count_nonzero(nearest != values))
            counts += np.bincount(owners, minlength=self.users)
            objects.append(answered.astype(np.int32))
            codes.append((nearest - self.domain.low).astype(np.uint8))
        names = self.names()
        return Answers(
            objects=pl.Series("object", names[0]),
            users=pl.Series("user", names[1]),
            domain=self.domain,
            offsets=frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
            object_codes=frozen(np.concatenate(objects)),
            codes=frozen(np.concatenate(codes)),
            moved=moved,
        )

    def frame(self, *, rng: Randomness) -> pl.DataFrame:
        """Columns object, user, value: one row for each answer."""
        answers = self.answers(rng=rng)
        owners = np.repeat(np.arange(self.users), np.diff(answers.offsets))
        return pl.DataFrame(
            {
                "object": answers.objects.gather(answers.object_codes),
                "user": answers.users.gather(owners),
                "value": self.domain.low + answers.codes.astype(np.int64),
            }
        )

    def claims(self, *, rng: Randomness) -> Claims:
        """The answers as claims; objects and users without an answer are left out."""
        return self.answers(rng=rng).claims()

    def _answered(self, rng: Randomness) -> Iterator[Ints]:
        """Indices of the cells with an answer, ascending, in blocks.

        The number of empty cells between two of them is geometric. Drawing it takes one draw for each answer;
        a coin for each cell would take ten at a sparsity of 0.9.
        """
        stream, total, last = _stream(rng, "cells"), self.users * self.objects, -1
        while last < total - 1:
            steps = np.ones(min(DRAWS_AT_ONCE, total), dtype=np.int64)
            if self.sparsity:
                empty = np.log1p(-stream.uniforms(steps.size)) / log(self.sparsity)
                steps += np.minimum(empty, total).astype(np.int64)
            cells = last + np.cumsum(steps)
            last = int(cells[-1])
            yield cells[cells < total]


def _stream(rng: Randomness, name: str) -> Stream:
    return rng.stream(name, purpose="sparse")
