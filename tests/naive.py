"""The slow, obvious twin of every loop: whole matrices, no blocks, nothing clever.

Fast paths are compared with these. Notation as in `crowdveil.kernels` and `crowdveil.release`: x an object's
claims, h0 and h bandwidths, w weights that sum to one, g users' weights, y = |phi(x_s) - f|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdveil.claims import Claims
from crowdveil.guarantee import rational
from crowdveil.randomness import Randomness, Stream
from crowdveil.releases.deniability import PrivacyTest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Quantiles = tuple[float, float, float]

TIE = 2.0**-33  # distances closer than this are equal on paper, and no rounding error picks the outliers


def spread(x: Floats) -> float:
    if x.size < 2 or np.all(x == x[0]):
        return 0.0
    return float(np.std(x - np.median(x), ddof=1))


def bandwidth(x: Floats, factor: float, floor: float) -> float:
    sd = spread(x)
    return max(factor * sd * x.size**-0.2, floor) if sd > 0 else 0.0


def smallest_bandwidth(claims: Claims) -> float:
    spreads = [spread(claims.of(i)) for i in range(len(claims.objects))]
    positive = [sd for sd in spreads if sd > 0]
    return 1e-3 * float(np.median(positive)) if positive else 0.0


def kernel_matrix(x: Floats, h0: float) -> Floats:
    matrix: Floats = np.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * h0**2))
    return matrix


def squared_distances(x: Floats, h0: float, w: Floats) -> Floats:
    """|phi(x_s) - f|^2 = (e_s - w)' K (e_s - w), written out."""
    matrix = kernel_matrix(x, h0)
    apart = np.eye(x.size) - w[None, :]
    d: Floats = np.maximum(0.0, np.sum((apart @ matrix) * apart, axis=1))
    return d


def normalised(w: Floats) -> Floats:
    return w / w.sum() if w.sum() > 0 else np.full(w.size, 1 / w.size)


def global_weights(
    claims: Claims, h0: Floats, *, loss: str = "mean", normaliser: str = "sum"
) -> tuple[Floats, int, bool]:
    """Users' weights, sweeps and whether they converged."""
    g = np.ones(len(claims.users))
    codes = [claims.user_codes[claims.offsets[i] : claims.offsets[i + 1]] for i in range(len(claims.objects))]
    usable = [i for i in range(len(claims.objects)) if h0[i] > 0]
    if not usable:
        return g, 0, True
    for sweep in range(1, 51):
        found: dict[int, list[float]] = {}
        for i in usable:
            d = squared_distances(claims.of(i), h0[i], normalised(g[codes[i]]))
            for user, distance in zip(codes[i], d, strict=True):
                found.setdefault(int(user), []).append(float(distance))
        losses = {user: math.fsum(ds) / (len(ds) if loss == "mean" else 1) for user, ds in found.items()}
        whole = math.fsum(losses.values()) if normaliser == "sum" else max(losses.values())
        weights = {user: _from_share(L / whole) if whole > 0 else 1.0 for user, L in losses.items()}
        mean = math.fsum(weights.values()) / len(weights)
        new = np.array([weights.get(user, mean) for user in range(g.size)])
        change = float(np.abs(new - g).max())
        g = new
        if change < 1e-6:
            return g, sweep, True
    return g, 50, False


def _from_share(share: float) -> float:
    """-log of a share in all loss; what is the whole on paper is the whole."""
    return 0.0 if share > 1 - 1e-9 else -math.log(max(share, 1e-12))


def hampel_loss(y: float, quantiles: Quantiles) -> float:
    q1, q2, q3 = quantiles
    if y <= q1:
        return y * y / 2
    if y <= q2:
        return q1 * y - q1 * q1 / 2
    if y < q3:
        return q1 * (y - q3) ** 2 / (2 * (q2 - q3)) + q1 * (q2 + q3 - q1) / 2
    return q1 * (q2 + q3 - q1) / 2


def hampel_weight(y: float, quantiles: Quantiles) -> float:
    """psi(y) / y, psi the derivative of the loss."""
    q1, q2, q3 = quantiles
    if y <= q1:
        return 1.0
    if y <= q2 + TIE:
        return q1 / y
    if y < q3 and q3 - q2 > TIE:
        return q1 * (q3 - y) / ((q3 - q2) * y)
    return 0.0


def distances(x: Floats, h0: float, w: Floats) -> Floats:
    """|phi(x_s) - f|."""
    y: Floats = np.sqrt(squared_distances(x, h0, w))
    return y


def hampel_quantiles(x: Floats, h0: float) -> Quantiles:
    y = distances(x, h0, np.full(x.size, 1 / x.size))
    q1, q2, q3 = np.percentile(y, [50, 75, 95])
    return float(q1), float(q2), float(q3)


def hampel_objective(x: Floats, h0: float, w: Floats) -> float:
    quantiles = hampel_quantiles(x, h0)
    return math.fsum(hampel_loss(y, quantiles) for y in distances(x, h0, w))


def reweighted(
    x: Floats,
    h0: float,
    w: Floats,
    quantiles: Quantiles,
    update: Callable[[float, Quantiles], float] = hampel_weight,
) -> Floats:
    """One step of iteratively reweighted least squares."""
    return normalised(np.array([update(y, quantiles) for y in distances(x, h0, w)]))


def local_weights(x: Floats, h0: float, *, tolerance: float = 1e-6, cap: int = 200) -> Floats:
    w = np.full(x.size, 1 / x.size)
    if x.size < 8 or h0 == 0:
        return w
    quantiles = hampel_quantiles(x, h0)
    for _ in range(cap):
        new = reweighted(x, h0, w, quantiles)
        change = float(np.abs(new - w).max())
        w = new
        if change * x.size < tolerance:
            break
    return w


def combined_weights(x: Floats, local: Floats, g: Floats, floor: float) -> tuple[Floats, float]:
    """The claims' weights with a tenth shared out evenly, and the bandwidth that goes with them."""
    c = normalised(np.sqrt(local * g))
    h = 0.0
    if x.size > 1 and np.any(x != x[0]):
        squares = float(np.sum(c**2))
        centred = x - np.median(x)
        variance = float(np.sum(c * (centred - np.sum(c * centred)) ** 2))
        s_w = math.sqrt(variance / (1 - squares)) if squares < 1 else 0.0
        h = max(floor, 1.15 * 1.06 * s_w * (1 / squares) ** -0.2)
    return 0.9 * c + 0.1 / x.size, h


@dataclass(frozen=True)
class Estimate:
    user: Floats
    local: Floats
    combined: Floats
    bandwidth: Floats
    sweeps: int
    converged: bool


def estimate_weights(
    claims: Claims, floor: float, *, loss: str = "mean", normaliser: str = "sum", local: Floats | None = None
) -> Estimate:
    """All of PrisCrowd's weights; local ones where plain sweeps come to rest, unless they are given."""
    count = len(claims.objects)
    h0 = np.array([bandwidth(claims.of(i), 1.06, floor) for i in range(count)])
    g, sweeps, converged = global_weights(claims, h0, loss=loss, normaliser=normaliser)
    if local is None:
        resting = [local_weights(claims.of(i), h0[i], tolerance=1e-10, cap=3000) for i in range(count)]
        local = np.concatenate(resting)
    combined = []
    for i in range(count):
        inside = slice(claims.offsets[i], claims.offsets[i + 1])
        combined.append(combined_weights(claims.of(i), local[inside], g[claims.user_codes[inside]], floor))
    return Estimate(
        user=g,
        local=local,
        combined=np.concatenate([c for c, _ in combined]),
        bandwidth=np.array([h for _, h in combined]),
        sweeps=sweeps,
        converged=converged,
    )


def plausible_seeds(x: Floats, s: int, y: float, h: float, gamma: float) -> int:
    """How many claims share the bin of claim s at y."""
    bins = np.floor(((y - x) / h) ** 2 * (1.0 / (2.0 * math.log(gamma))))
    return int(np.count_nonzero(bins == bins[s]))


def draw_object(
    x: Floats, c: Floats, h: float, test: PrivacyTest, per_object: int, stream: Stream, *, tested: bool = True
) -> Floats:
    """The released claims of one object, from the same draws as the fast loop's."""
    if x.size < test.k or h == 0:
        return np.empty(0)
    rate = rational(test.epsilon0, what="epsilon0")
    cumulative = np.cumsum(c)
    released: list[float] = []
    for _ in range(100 * per_object):
        place = stream.uniforms(1)[0] * cumulative[-1]
        s = min(int(np.count_nonzero(cumulative <= place)), x.size - 1)
        step = 2.0 ** (math.floor(math.log2(h)) - 10)
        y = float(round((x[s] + h * stream.normals(1)[0]) / step) * step)
        if tested:
            seeds = plausible_seeds(x, s, y, h, test.gamma)
            if test.require_k and seeds < test.k:
                continue
            if not stream.laplace_at_least(1, test.k - seeds, num=rate.numerator, den=rate.denominator)[0]:
                continue
        released.append(y)
        if len(released) == per_object:
            break
    return np.sort(np.array(released))


def draw(
    claims: Claims,
    combined: Floats,
    bandwidths: Floats,
    test: PrivacyTest,
    per_object: int,
    *,
    purpose: str,
    rng: Randomness,
    tested: bool = True,
) -> list[Floats]:
    """The released claims of every object."""
    return [
        draw_object(
            claims.of(i),
            combined[claims.offsets[i] : claims.offsets[i + 1]],
            float(bandwidths[i]),
            test,
            per_object,
            rng.stream(name, purpose=purpose),
            tested=tested,
        )
        for i, name in enumerate(claims.objects)
    ]


def density(points: Floats, x: Floats, w: Floats, h: float) -> Floats:
    """A mixture of normals at `points`, one claim after the other."""
    total = np.zeros(points.size)
    for claim, weight in zip(x, w, strict=True):
        total += weight * np.exp(-(((points - claim) / h) ** 2) / 2) / (h * math.sqrt(2 * math.pi))
    return total


def fine_grid(x: Floats, h: float, steps_per_bandwidth: int = 10) -> Floats:
    """Points close enough for the trapezoid rule to be exact, as wide as normals of sd h reach."""
    low, high = float(x.min()) - 12 * h, float(x.max()) + 12 * h
    return np.linspace(low, high, int((high - low) / h * steps_per_bandwidth) + 1)


def integrated_squared_error(a: Floats, wa: Floats, ha: float, b: Floats, wb: Floats, hb: float) -> float:
    both = np.concatenate([a, b])
    points = fine_grid(both, max(ha, hb), steps_per_bandwidth=math.ceil(20 * max(ha, hb) / min(ha, hb)))
    return float(np.trapezoid((density(points, a, wa, ha) - density(points, b, wb, hb)) ** 2, points))


def steepest_slope(x: Floats, w: Floats, h: float) -> float:
    """sup |f'| near the claims, by differences of f; elsewhere f is flat."""
    z = np.linspace(-4, 4, 1601)
    return max(
        float(np.abs(np.gradient(density(claim + h * z, x, w, h), h * z[1] - h * z[0])).max()) for claim in x
    )


def theorem1_bound(x: Floats, w: Floats, h: float, released: int) -> float:
    """4 A h + A^2 h^2 V + B / (m h) + A B V / m with every piece by numbers."""
    slope = steepest_slope(x, w, h)
    z = np.linspace(-12, 12, 2401)
    energy = float(np.trapezoid(density(z, np.zeros(1), np.ones(1), 1.0) ** 2, z))
    length = float(x.max() - x.min()) + 8 * h
    return (
        4 * slope * h
        + slope**2 * h**2 * length
        + energy / (released * h)
        + slope * energy * length / released
    )


def expected_error(x: Floats, w: Floats, h: float, released: int) -> float:
    """E int (f - f~)^2 exactly, for f~ the density of m draws from f: squared bias plus variance / m."""
    wider = math.sqrt(2) * h
    points = fine_grid(x, wider)
    mean = density(points, x, w, wider)
    bias = float(np.trapezoid((density(points, x, w, h) - mean) ** 2, points))
    energy = 1 / (2 * math.sqrt(math.pi) * h)
    return bias + (energy - float(np.trapezoid(mean**2, points))) / released


def kept_by_cap(claims: Claims, cap: int) -> Floats:
    """The expected number of claims of each object that a cap leaves: min(1, C / N) of each user's claim."""
    sizes = [int(np.count_nonzero(claims.user_codes == user)) for user in range(len(claims.users))]
    kept = np.zeros(len(claims.objects))
    for i in range(len(claims.objects)):
        for user in claims.user_codes[claims.offsets[i] : claims.offsets[i + 1]]:
            kept[i] += min(1.0, cap / sizes[user])
    return kept
