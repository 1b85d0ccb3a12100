"""Smoothed densities: synthetic claims are drawn from a kernel density mixed with a public density.

Claims x_1 ... x_n of an object give the law f(y) = lam b(y) + ((1 - lam)/n) sum_s K(y, x_s) on the M cells of
a grid over the declared range. K is a Gaussian kernel with integer weights, reflected at both ends. b is
proportional to the kernel's envelope max_x K(y, x), the public density that gives the smallest epsilon. All
draws are exact, and epsilon is computed from these integer weights.

Notation: a = (1 - lam)/n; Z = sum_y max_x K(y, x), the envelope's mass; q = lam/Z; m draws for each object.
Guarantee: docs/guarantees/smoothed.md. For neighbouring claims (one replaced), one draw is dominated by the
pair P = (q + a, q, rest) and Q = (q, q + a, rest), in either direction; m draws are an m-fold composition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isfinite, log, log1p, nextafter, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from crowdveil.accounting import smallest_epsilon
from crowdveil.arrays import Floats, Ints, frozen
from crowdveil.claims import Claims
from crowdveil.engines import Block, Engine, Kept
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Promise, rational
from crowdveil.kernels.smoothed import draw_smoothed
from crowdveil.public_range import STEPS_IN_RANGE, Range, check_resolution
from crowdveil.randomness import Randomness, Streams
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release, Status

LARGEST_GRID = 10_000
LARGEST_DRAWS = 10_000
LEAST_WIDTH = 1e-6  # of the kernel, in cells
_BITS = 30  # the kernel's largest weight is 2^30
_ROUNDING = 2.0**-50


# --- draws on a public grid, shared with `attempts` ---------------------------------------------------------


class DrawnOnGrid(ReleaseMethod):
    """The common part of methods that apply a kernel to claims on a public grid and publish grid cells.

    Subclasses are frozen dataclasses with at least these fields.
    """

    range: Range
    bandwidth: float
    delta: float
    resolution: float | None

    depends_on_counts: ClassVar[bool] = True

    @property
    def cells(self) -> int:
        """The number of grid cells."""
        return cells_in(self.range, self.resolution)

    @property
    def kernel_width(self) -> float:
        """The bandwidth in cells."""
        return self.bandwidth / self.range.length * self.cells

    def guarantee(self, epsilon: float) -> Guarantee:
        """The guarantee of draws that cost `epsilon` at `delta`."""
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            unit="claim",
            adjacency="replace-one",
            trust="central",
            assumptions=(
                "the range, the resolution and the bandwidth were declared, not read off the data",
                "who made claims about which objects, and so how many there are, is public",
                "nothing else is published from the same claims",
            ),
        )

    def published(self, claims: Claims, counts: Ints, values: Kept, *, seeded: bool) -> Release:
        """The release of these values, of which object i has `counts[i]`, possibly 0."""
        pattern = Pattern.of(claims)
        return Release(
            objects=claims.objects,
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            values=values,
            statuses=np.where(counts > 0, Status.released, Status.shortfall).astype(np.int8),
            method=self.name,
            parameters=self.to_dict(),
            promise=self.promise(pattern),
            user_promise=self.user_promise(pattern),
            seeded=seeded,
            public=self.public(pattern),
        )

    def _public_grid(self) -> dict[str, Any]:
        return {
            "range": [self.range.low, self.range.high],
            "resolution": self.range.length / self.cells,
        }


def check_grid(range: Range, bandwidth: float, resolution: float | None) -> None:
    """Raise `ParameterError` for a public grid or bandwidth that cannot be used."""
    check_resolution(resolution)
    if not (isfinite(bandwidth) and 0 < bandwidth <= range.length):
        raise ParameterError(f"bandwidth must be above 0 and at most the range's length, not {bandwidth:g}")
    if resolution is not None and range.length / resolution > LARGEST_GRID:
        raise ParameterError(f"the resolution is too fine: the range may have {LARGEST_GRID} cells at most")
    cell = range.length / cells_in(range, resolution)
    if not cell > 0:
        raise ParameterError("the range is too narrow for a grid")
    if bandwidth / cell < LEAST_WIDTH:
        raise ParameterError(f"bandwidth {bandwidth:g} is too small for cells of width {cell:g}")


def cells_in(range: Range, resolution: float | None) -> int:
    """The number of equal cells of width about `resolution` that cover the range."""
    return max(1, round(range.length / resolution)) if resolution else STEPS_IN_RANGE


def cell_of(values: Floats, range: Range, cells: int) -> Ints:
    """The cell of each value; values outside the range are clamped to it."""
    inside = np.clip(values, range.low, range.high)
    place = np.floor((inside - range.low) / range.length * cells)
    return np.clip(place, 0, cells - 1).astype(np.int64)


def centre_of(places: Ints, range: Range, cells: int) -> Floats:
    """The centre of each cell."""
    centres: Floats = range.low + (places.astype(np.float64) + 0.5) * (range.length / cells)
    return centres


# --- smoothed densities -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Smoothed(DrawnOnGrid):
    """Parameters of smoothed densities; epsilon follows from them and from the numbers of claims.

    Parameters
    ----------
    range, resolution, bandwidth:
        The public range of values, the width of a grid cell, and the kernel's standard deviation.
    per_object:
        m, the number of draws for each object.
    lam:
        The weight of the public density in the mixture.
    delta:
        The delta at which epsilon is computed.

    """

    range: Range
    bandwidth: float
    per_object: int = 30
    lam: float = 0.2
    delta: float = 1e-6
    resolution: float | None = None

    name: ClassVar[str] = "smoothed"

    def __post_init__(self) -> None:
        if not isinstance(self.per_object, int) or not 1 <= self.per_object <= LARGEST_DRAWS:
            raise ParameterError(f"per-object must be from 1 to {LARGEST_DRAWS}, not {self.per_object}")
        if not 0 < self.lam < 1:
            raise ParameterError(f"lam, the public share, must lie between 0 and 1, not {self.lam:g}")
        rational(self.lam, what="lam")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be in [0, 1), not {self.delta:g}")
        check_grid(self.range, self.bandwidth, self.resolution)
        if law(self).envelope_mass < 2:
            raise ParameterError("the bandwidth is too wide for this range: take at most a quarter of it")

    def pair(self, n: int) -> tuple[Fraction, Fraction]:
        """q and a of the dominating pair, for an object with n claims."""
        lam = rational(self.lam, what="lam")
        return lam / law(self).envelope_mass, (1 - lam) / n

    def promise(self, pattern: Pattern) -> Guarantee:
        """The guarantee of a release, with the epsilon of the object with the fewest claims."""
        return self.guarantee(self.epsilon(int(pattern.per_object.min())))

    def user_promise(self, pattern: Pattern) -> Promise | None:
        """The guarantee of the user with the most claims: that of as many times the draws, at `delta`."""
        most, least = max(1, pattern.most), int(pattern.per_object.min())
        if most * self.per_object > LARGEST_DRAWS:
            return super().user_promise(pattern)
        return self.to_users(self.promise(pattern), self.epsilon(least, claims_per_user=most), self.delta)

    def epsilon(self, n: int, *, claims_per_user: int = 1) -> float:
        """The epsilon at `delta` for one claim or a user with several, if objects have at least n claims."""
        if n < 1 or claims_per_user < 1:
            raise ParameterError("objects and users have at least one claim")
        q, a = self.pair(n)
        # A smaller q and a larger a can only cost more.
        low_q, high_a = nextafter(float(q), 0.0), nextafter(float(a), 1.0)
        return pair_epsilon(low_q, high_a, self.per_object * claims_per_user, self.delta)

    def public(self, pattern: Pattern) -> dict[str, Any]:
        """The smallest number of claims of an object, and the largest of a user."""
        return {"claims_per_object": [int(pattern.per_object.min())], **super().public(pattern)}

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        return {
            "per_object": self.per_object,
            "lam": self.lam,
            "bandwidth": self.bandwidth,
            "delta": self.delta,
            **self._public_grid(),
        }

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """`per_object` exact draws for every object; values are centres of cells."""
        objects, per_object = claims.object_count, self.per_object
        (kept,) = engine.map(
            *("smoothed claims", claims, _drawn, (self, rng.all_streams(purpose=self.name))),
            operations=10.0 * objects * per_object,
        )
        counts = np.full(objects, per_object)
        return self.published(claims, counts, engine.flat(kept, counts), seeded=not rng.private)


def _drawn(block: Block, shared: tuple[Smoothed, Streams]) -> tuple[Floats]:
    """The values that were drawn for each object."""
    parameters, streams = shared
    cells = cell_of(block.values, parameters.range, parameters.cells)
    weights, lam = law(parameters), rational(parameters.lam, what="lam")
    drawn = np.empty((block.size, parameters.per_object), dtype=np.int64)
    draw_smoothed(
        *(block.offsets, cells, np.cumsum(weights.base), np.cumsum(weights.kernel)),
        *(lam.numerator, lam.denominator, streams.key, streams.nonces(block.names, block.first)),
        *(0, block.size, drawn),
    )
    return (centre_of(drawn, parameters.range, parameters.cells),)


@dataclass(frozen=True)
class Law:
    """The integer weights of the draws."""

    kernel: Ints  # (2 r + 1,), for the offsets -r ... r
    base: Ints  # (M,), for cells: max_x K(y, x) times the sum of `kernel`

    @property
    def envelope_mass(self) -> Fraction:
        """Z, slightly more than the length of the range times the kernel's peak."""
        return Fraction(int(self.base.sum()), int(self.kernel.sum()))


def law(parameters: Smoothed) -> Law:
    """The integer weights of the kernel and of the public density."""
    return _law(parameters.kernel_width, parameters.cells)


@lru_cache(maxsize=16)
def _law(width: float, cells: int) -> Law:
    kernel = gaussian_weights(width)
    return Law(frozen(kernel), frozen(envelope(kernel, cells)))


def gaussian_weights(width: float) -> Ints:
    """Integer weights of the offsets -r ... r for a Gaussian of standard deviation `width` cells.

    They are symmetric and decrease with distance, from 2^30 at the centre to at least 1 at the ends.
    """
    distances = np.arange(1, ceil(width * sqrt(2 * log(2) * (_BITS + 1))) + 1, dtype=np.float64)
    half = np.rint(2.0**_BITS * np.exp(-0.5 * (distances / width) ** 2)).astype(np.int64)
    half = half[half > 0]
    return np.concatenate([half[::-1], [2**_BITS], half]).astype(np.int64)


def envelope(kernel: Ints, cells: int) -> Ints:
    """max_x K(y, x) at each cell y, where K is the kernel reflected at both ends.

    K(y, x) = G(y - x) + G(y + x + 1), where G is the kernel repeated with period 2 M. At cells farther from
    both ends than the kernel's reach the maximum is the kernel's peak.
    """
    reach = kernel.size // 2
    repeated = np.zeros(2 * cells, dtype=np.int64)
    np.add.at(repeated, np.arange(-reach, reach + 1) % (2 * cells), kernel)
    out = np.full(cells, kernel[reach], dtype=np.int64)
    x = np.arange(cells)
    near = cells if 2 * reach >= cells else reach
    for y in range(near):
        out[y] = (repeated[(y - x) % (2 * cells)] + repeated[(y + x + 1) % (2 * cells)]).max()
    if near < cells:
        out[cells - near :] = out[:near][::-1]
    return out


def reflected(kernel: Ints, cells: int, x: int) -> Ints:
    """The integer weights K(y, x) of all cells y, for the kernel around cell x."""
    reach = kernel.size // 2
    unfolded = (x + np.arange(-reach, reach + 1)) % (2 * cells)
    out = np.zeros(cells, dtype=np.int64)
    np.add.at(out, np.minimum(unfolded, 2 * cells - 1 - unfolded), kernel)
    return out


def pair_delta(q: float, a: float, draws: int, epsilon: float) -> float:
    """The exact delta(epsilon) between `draws` draws from (q + a, q, rest) and from (q, q + a, rest).

    With i draws of the first symbol and j of the second, the privacy loss is (i - j) log(1 + a/q). Delta is
    the sum over i - j of Pr[i - j] [1 - e^(epsilon - loss)]_+.
    """
    masses = _differences(q, a, draws)
    return _tail_delta(masses, _loss(q, a), epsilon)


def pair_epsilon(q: float, a: float, draws: int, delta: float) -> float:
    """The smallest epsilon with pair_delta <= delta; draws * log(1 + a/q) if delta is 0."""
    masses = _differences(q, a, draws)
    loss = _loss(q, a)
    most = nextafter(draws * loss, np.inf)
    if delta == 0:
        return most
    return smallest_epsilon(lambda at: _tail_delta(masses, loss, at), delta, most=most)


def _loss(q: float, a: float) -> float:
    return log1p(a / q) * (1.0 + 4 * _ROUNDING)


def _tail_delta(masses: Floats, loss: float, epsilon: float) -> float:
    losses = loss * np.arange(1, masses.size + 1)
    beyond = losses > epsilon
    return min(1.0, float((masses[beyond] * -np.expm1(epsilon - losses[beyond])).sum()))


def _differences(q: float, a: float, draws: int) -> Floats:
    """Upper bounds of Pr[i - j = t] for t = 1 ... draws; i and j count the first two symbols."""
    if not (q > 0 and a > 0 and 2 * q + a <= 1 + _ROUNDING):
        raise ParameterError("q and a must be above 0 and 2 q + a at most 1")
    if not 1 <= draws <= LARGEST_DRAWS:
        raise ParameterError(f"accounting takes from 1 to {LARGEST_DRAWS} draws, not {draws}")
    log_rest = log(max(1.0 - 2 * q - a, 0.0) + _ROUNDING)
    log_factorial = gammaln(np.arange(draws + 1) + 1.0)
    out = np.full(draws, -np.inf)
    for j in range((draws - 1) // 2 + 1):
        t = np.arange(1, draws - 2 * j + 1)
        others = draws - 2 * j - t
        ways = log_factorial[draws] - log_factorial[j + t] - log_factorial[j] - log_factorial[others]
        masses = (j + t) * log(q + a) + j * log(q) + others * log_rest
        out[: t.size] = np.logaddexp(out[: t.size], ways + masses)
    # Rounding errors grow with the size of the terms.
    size = 4 * log_factorial[draws] + draws * (8.0 - log(q))
    probabilities: Floats = np.exp(out) * (1.0 + _ROUNDING * size)
    return probabilities
