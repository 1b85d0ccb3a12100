"""The error to expect of a certified release, and the cap for users, from public numbers only.

The error is the mean distance between the median of an object's released claims and the value around which
its claims lie. With n claims, noise as for epsilon e on each claim, a spread s of the object's claims and a
range of length L,

    lost   = exp(-(n e / 9)^1.32)      the chance that noise hides where the claims lie
    found  = s sqrt(0.82^2 / n + 1.2^2 / (n e) + 0.028^2)
    error  = lost L / 4 + (1 - lost) min(found, L / 4)

and lost = exp(-(n e / 10.3)^0.86) for the estimator "histogram".

L / 4 is the error of the middle of the range if a value may lie anywhere in it: what is known without any
release. The constants were fitted to simulated releases; `crowdveil reproduce expected-error` compares the
formula with simulated and real claims.

Only numbers of claims are used here, never a value. They are public under adjacency replace-one and private
under add-remove, where the error can be told for a stated number of claims only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.accounting.gaussian import gaussian_deltas
from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByUser, Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import caps as loops
from crowdveil.releases.neighbours import Neighbours

SAMPLING, NOISE, DRAWING = 0.82, 1.2, 0.028  # of the spread: limited claims, noise, limited released claims
HIDDEN = {"bayes": (9.0, 1.32), "histogram": (10.3, 0.86)}  # by estimator: noise hides the claims where ...
# ... n e is far below the first number; the second says how steeply that begins.
WITHOUT = 0.25  # of the range: the mean distance from its middle
USUAL_SPREAD, POOLED_SPREAD = 0.1, 0.25  # of the range: claims of one object, and of all objects together
USEFUL = 0.5  # of the error without any release: what a release may have at the most
MOST_OBJECTS = 10_000  # that a cap is chosen for; of more, evenly spaced ones are taken
ONE = 2**32  # shares of a claim are whole numbers of this part, so that sums do not depend on an order


@dataclass(frozen=True)
class ExpectedError:
    """The error to expect of an object's released median, for given parameters of a certified release.

    >>> from crowdveil.releases.neighbours import Neighbours
    >>> expected = ExpectedError(epsilon=1.0, neighbours=Neighbours("user", cap=3), length=10.0)
    >>> expected.of([10, 100, 1000]).round(2)
    array([2.06, 0.23, 0.08])
    >>> expected.without
    2.5

    Parameters
    ----------
    epsilon, neighbours, delta:
        As in `Certified`.
    length:
        The length of the range.
    spread:
        The stated spread of an object's claims; by default a tenth of the range. Pooled claims of all objects
        are taken to spread over the range, by a quarter of it.
    pooled, estimator:
        As in `Certified`.

    """

    epsilon: float
    neighbours: Neighbours
    length: float = 1.0
    spread: float | None = None
    delta: float = 0.0
    pooled: bool = False
    estimator: Literal["bayes", "histogram"] = "bayes"

    def __post_init__(self) -> None:
        if self.spread is not None and not 0 < self.spread <= self.length:
            raise ParameterError(
                f"a spread of {self.spread:g} does not fit the range: above 0, and at most its length"
            )

    @property
    def without(self) -> float:
        """The error of the middle of the range, which needs no release."""
        return WITHOUT * self.length

    @property
    def stated(self) -> float:
        """The spread that is expected."""
        if self.pooled:
            return POOLED_SPREAD * self.length
        return USUAL_SPREAD * self.length if self.spread is None else self.spread

    def of(self, claims: ArrayLike) -> Floats:
        """The error for objects with so many claims, of those that the cap leaves.

        An expected number below 1 is the chance that the object has a claim at all.
        """
        n = np.asarray(claims, dtype=np.float64)
        some, n = np.minimum(n, 1.0), np.maximum(n, 1.0)
        evidence = n * per_claim(self.epsilon, self.neighbours, self.delta)
        enough, steepness = HIDDEN[self.estimator]
        seen = some * -np.expm1(-((evidence / enough) ** steepness))
        found = self.stated * np.sqrt(SAMPLING**2 / n + NOISE**2 / evidence + DRAWING**2)
        error: Floats = self.without + seen * np.minimum(found - self.without, 0.0)
        return error

    def over(self, claims: ArrayLike) -> Expectation:
        """The expectation for objects with so many claims each: the mean of their errors."""
        return Expectation(float(self.of(claims).mean()), self.without, self.stated, pooled=self.pooled)


@dataclass(frozen=True)
class Expectation:
    """What to expect of a release: its mean error, and that of publishing nothing, if claims spread so."""

    error: float
    without: float
    spread: float
    pooled: bool = False

    @property
    def useful(self) -> bool:
        """Whether the error is at most half of that of publishing nothing."""
        return self.error <= USEFUL * self.without

    @property
    def sentence(self) -> str:
        """The expectation in words."""
        what = "the median of all claims" if self.pooled else "an object's released median"
        spread = "" if self.pooled else f" if an object's claims spread by {_plain(self.spread)} (--spread)"
        return (
            f"expect {what} to be off by about {_plain(self.error)}{spread}; the middle of the range, "
            f"without a release, by about {_plain(self.without)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {"error": self.error, "without_release": self.without, "spread": self.spread}


def _plain(number: float) -> str:
    """A number with two digits that matter, without an exponent unless it is very small or large."""
    return f"{float(f'{number:.2g}'):,.12g}"


def per_claim(epsilon: float, neighbours: Neighbours, delta: float = 0.0) -> float:
    """The epsilon of a release that protects single replaced claims with noise of the same deviation."""
    changed = (2 if neighbours.replaced else 1) * neighbours.claims
    return 2 * epsilon / changed if not delta else _largest_shift(epsilon, delta) * sqrt(8 / changed)


@lru_cache
def _largest_shift(epsilon: float, delta: float) -> float:
    """The largest L2 sensitivity, in standard deviations, at which Gaussian noise costs (epsilon, delta)."""
    shifts = np.geomspace(1e-6, 1e4, 20_001)
    place = int(np.searchsorted(gaussian_deltas(shifts, epsilon), delta, side="right"))
    return float(shifts[max(0, place - 1)])


def candidate_caps(most: int) -> list[int]:
    """The caps to choose from: 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40 and so on, and `most`."""
    steps = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    decades = range(len(str(max(1, most))))
    caps = {int(step * 10**decade) for step in steps for decade in decades if step * 10**decade % 1 == 0}
    return sorted({cap for cap in caps if cap < most} | {max(1, most)})


def kept_claims(claims: Claims, sizes: Ints, caps: list[int], engine: Engine | None = None) -> Floats:
    """The expected numbers of claims that each cap (a row) leaves of each object, or of 10,000 of them.

    A cap C keeps a claim of a user with N claims with probability min(1, C / N). `sizes` are the users'
    numbers of claims; the last cap is at least the largest.
    """
    count = claims.object_count
    objects = np.arange(min(count, MOST_OBJECTS)) * count // min(count, MOST_OBJECTS)
    possible = np.arange(caps[-1] + 1)
    classes = np.searchsorted(caps, possible)  # of size N: the smallest cap that keeps all claims of a user
    shared = objects, classes, ONE // np.maximum(possible, 1)
    totals = (engine or LocalEngine()).sum(
        *("cap", claims, 2 * objects.size * len(caps), _add_by_class, shared, ByUser(sizes)),
        operations=float(len(claims)),
    )
    complete, shares = totals.reshape(2, objects.size, len(caps))
    cut = shares.sum(axis=1, keepdims=True) - shares.cumsum(axis=1)
    kept: Floats = (complete.cumsum(axis=1) + cut / ONE * caps).T
    return kept


def _add_by_class(block: Block, shared: tuple[Ints, Ints, Ints], sizes: Ints, totals: Ints) -> None:
    """Add the block's claims to the rows of its objects, of those that were taken."""
    objects, classes, shares = shared
    begin, end = np.searchsorted(objects, [block.first, block.first + block.size])
    complete, cut = totals.reshape(2, objects.size, -1)[:, begin:end]
    own = objects[begin:end] - block.first
    loops.add_by_class(block.offsets, own, block.user_codes, sizes, classes, shares, complete, cut)


def chosen_cap(
    claims: Claims,
    epsilon: float,
    *,
    delta: float = 0.0,
    pooled: bool = False,
    engine: Engine | None = None,
) -> int:
    """The cap on claims of each user with the smallest expected error, mean over objects.

    The choice depends on who made claims about which objects, never on a value: it is for adjacency
    replace-one, where that is public. The spread is taken as a tenth of the range (pooled: a quarter). Of
    caps with the same error the smallest is taken.

    Parameters
    ----------
    claims:
        The claims, before any cap. Their values are not used.
    epsilon, delta, pooled:
        As in `Certified`.
    engine:
        Where the claims are looked at.

    """
    sizes = claims.claims_per_user()
    caps = candidate_caps(int(sizes.max(initial=1)))
    if pooled:
        kept = np.array([[np.minimum(sizes, cap).sum()] for cap in caps], dtype=np.float64)
    else:
        kept = kept_claims(claims, sizes, caps, engine)
    best, least = caps[0], inf
    for cap, numbers in zip(caps, kept, strict=True):
        expected = ExpectedError(epsilon, Neighbours("user", cap=cap), delta=delta, pooled=pooled)
        error = float(expected.of(numbers).mean())
        if error < least:
            best, least = cap, error
    return best
