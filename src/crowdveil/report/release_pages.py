"""The two pages of a release: a public page of released data only, and a private one for the steward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.certificates.certificate import of_release
from crowdveil.claims import Claims
from crowdveil.evaluation.release_measures import silverman, theorem1_bound
from crowdveil.releases.density import curve, support, weighted_bandwidth
from crowdveil.releases.result import Release, Status
from crowdveil.releases.weights import Weights
from crowdveil.report.charts import density_chart, histogram_chart
from crowdveil.report.dot_plot import Estimate, dot_plot
from crowdveil.report.numbers import interval
from crowdveil.report.page import environment
from crowdveil.report.weights_chart import sentence, weights_chart

ROWS_SHOWN = 200
PICTURES = 6
LARGEST_FOR_BOUND = 500  # claims of an object for which Theorem 1's bound is computed
MOST_DRAWN = 10_000  # claims of an object in a chart
OUTLIER_SHARE = 0.25  # a claim is marked as an outlier below this share of an equal weight


def public_page(release: Release) -> str:
    """The public page: the promise and a summary of the released claims."""
    counts = np.diff(release.offsets)
    drawn = np.flatnonzero(counts >= 2)[:PICTURES].tolist()
    rows = [_summary(release, int(i)) for i in np.flatnonzero(counts)[:ROWS_SHOWN]]
    pictures = _released_pictures([release.of(i) for i in drawn], declared_range(release))
    return (
        environment()
        .get_template("public.html")
        .render(
            certificate=of_release(release).to_dict(),
            rows=rows,
            objects=int(np.count_nonzero(counts)),
            released=len(release),
            overview=_overview(rows, declared_range(release)) if len(rows) > 1 else None,
            pictures=list(zip([release.objects[i] for i in drawn], pictures, strict=True)),
        )
    )


def declared_range(release: Release) -> tuple[float, float] | None:
    """The public range of all values, if the method has one."""
    declared = release.parameters.get("range")
    return None if declared is None else (float(declared[0]), float(declared[1]))


def _summary(release: Release, index: int) -> dict[str, Any]:
    values = release.of(index)
    low, median, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    shown = interval(median, low, high)
    return {
        "object": release.objects[index],
        "claims": values.size,
        "median": median,
        "low": low,
        "high": high,
        "shown": {"median": shown[0], "low": shown[1], "high": shown[2]},
    }


def _overview(rows: Sequence[dict[str, Any]], within: tuple[float, float] | None) -> str:
    """Medians of released claims with their middle 80 %."""
    return dot_plot(
        [Estimate(str(row["object"]), row["median"], row["low"], row["high"], range=within) for row in rows],
        "median of the released claims",
    )


def _released_pictures(drawn: Sequence[Floats], within: tuple[float, float] | None) -> list[str]:
    """Densities of released claims; with a public range all of them lie along the same axis."""
    spreads = [silverman(values, 0.0) for values in drawn]
    varied = [(values, spread) for values, spread in zip(drawn, spreads, strict=True) if spread > 0]
    ends = [support(values, spread) for values, spread in varied]
    if within is not None and not all(resolved(spread, within) for _, spread in varied):
        within = None
    if within is not None:
        common = (min([within[0], *(low for low, _ in ends)]), max([within[1], *(high for _, high in ends)]))
        ends = [common] * len(varied)
    points = [np.linspace(*end, 300) for end in ends]
    curves = [curve(at, values, None, spread) for at, (values, spread) in zip(points, varied, strict=True)]
    top = shared_top([float(heights.max()) for heights in curves]) if within is not None else None
    densities = iter(
        [
            density_chart(at, {"released": heights}, top=top)
            for at, heights in zip(points, curves, strict=True)
        ]
    )
    return [
        next(densities) if spread > 0 else histogram_chart(values, "value")
        for values, spread in zip(drawn, spreads, strict=True)
    ]


def shared_top(tops: Sequence[float]) -> float | None:
    """The height that charts share; None if the lowest curve would fill less than a quarter of it."""
    return max(tops) if tops and max(tops) <= 4 * min(tops) else None


def steward_page(release: Release, claims: Claims) -> str:
    """The steward's private page: statuses, users' weights, densities of raw claims, outliers."""
    counts, weights = claims.counts(), release.weights
    status_names = [Status(code).name for code in release.statuses[:ROWS_SHOWN]]
    rows = [
        {"object": claims.objects[i], "claims": int(counts[i]), "status": status}
        for i, status in enumerate(status_names)
    ]
    return (
        environment()
        .get_template("steward.html")
        .render(
            certificate=of_release(release).to_dict(),
            statuses=release.status_counts(),
            rows=rows,
            objects=len(claims.objects),
            users=len(claims.users),
            claims=len(claims),
            pictures=_case_pictures(release, claims, weights),
            reliability=None
            if weights is None or np.ptp(weights.user) == 0
            else _reliability(claims, weights),
        )
    )


def _reliability(claims: Claims, weights: Weights) -> dict[str, Any]:
    least = np.argsort(weights.user, kind="stable")[: ROWS_SHOWN // 4]
    claims_per_user = claims.claims_per_user()
    return {
        "picture": weights_chart(weights.user),
        "words": sentence(weights.user),
        "least": [
            {
                "user": claims.users[int(s)],
                "weight": float(weights.user[s]),
                "claims": int(claims_per_user[s]),
            }
            for s in least
        ],
        "sweeps": weights.sweeps,
        "converged": weights.converged,
    }


def _case_pictures(release: Release, claims: Claims, weights: Weights | None) -> list[dict[str, Any]]:
    """Cases of the objects with the most outliers or, without weights, with the most claims."""
    counts = claims.counts()
    scores = counts
    if weights is not None:
        outliers = weights.combined * np.repeat(counts, counts) < OUTLIER_SHARE
        scores = np.add.reduceat(outliers.astype(np.int64), claims.offsets[:-1])
    varied = np.zeros(counts.size, dtype=np.bool_)
    claimed = np.flatnonzero(counts)
    varied[claimed] = claims.values[claims.offsets[claimed]] != claims.values[claims.offsets[claimed + 1] - 1]
    shown = (release.statuses == Status.released) & varied
    order = np.argsort(np.where(shown, -scores, 1), kind="stable")[:PICTURES].tolist()
    within = declared_range(release)
    cases = [_case(release, claims, weights, i, within) for i in order if shown[i]]
    tops = [max(float(heights.max()) for heights in case["curves"].values()) for case in cases]
    top = shared_top(tops) if within is not None else None
    return [
        {
            **case,
            "picture": density_chart(case["points"], case["curves"], case["marks"], case["outlying"], top),
        }
        for case in cases
    ]


def _case(
    release: Release,
    claims: Claims,
    weights: Weights | None,
    index: int,
    within: tuple[float, float] | None,
) -> dict[str, Any]:
    """One object's claims and densities: uniform, global only, combined and released."""
    x, released = claims.of(index), release.of(index)
    case: dict[str, Any] = {"object": claims.objects[index], "claims": int(x.size)}
    outliers = np.zeros(x.size, dtype=np.bool_)
    if weights is None:
        x = x[:: 1 + x.size // MOST_DRAWN]  # x ascends, so this is an evenly spaced sample
        outliers = outliers[: x.size]
        h = silverman(x, 0.0)
        points = _points(x, h, within)
        curves = {"uniform": curve(points, x, None, h)}
        h_released = silverman(released, 1e-3 * h)
    else:
        own = slice(claims.offsets[index], claims.offsets[index + 1])
        combined = weights.combined[own]
        h = h_released = float(weights.bandwidth[index])
        points = _points(x, h, within)
        _, curves = case_curves(x, weights.user[claims.user_codes[own]], combined, h, points)
        outliers = combined * x.size < OUTLIER_SHARE
        case |= {"outliers": int(outliers.sum()), "bandwidth": h}
        if x.size <= LARGEST_FOR_BOUND:
            case["bound"] = theorem1_bound(x, combined, h, max(1, released.size))
    if released.size:
        curves["released"] = curve(points, released, None, h_released)
    sample = slice(None, None, 1 + x.size // MOST_DRAWN)
    return {**case, "points": points, "curves": curves, "marks": x[sample], "outlying": outliers[sample]}


def _points(x: Floats, h: float, within: tuple[float, float] | None) -> Floats:
    """Where densities are drawn: over the public range, if that shows them, or over the support."""
    if within is None or not resolved(h, within):
        return np.linspace(*support(x, h), 600)
    return np.linspace(min(within[0], float(x[0])), max(within[1], float(x[-1])), 600)


def resolved(spread: float, within: tuple[float, float]) -> bool:
    """Whether a density of this bandwidth is more than a spike on an axis over the range."""
    return spread > (within[1] - within[0]) / 150


def case_curves(
    x: Floats, g: Floats, combined: Floats, h: float, points: Floats | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Points, by default over the support, and the three densities of the paper's case study at them."""
    even = np.full(x.size, 1.0 / x.size)
    by_user = g / g.sum() if g.sum() > 0 else even
    h_even = max(h, weighted_bandwidth(x, even))
    h_user = max(h, weighted_bandwidth(x, by_user))
    points = np.linspace(*support(x, h), 600) if points is None else points
    return points, {
        "uniform": curve(points, x, even, h_even),
        "global only": curve(points, x, by_user, h_user),
        "combined": curve(points, x, combined, h),
    }
