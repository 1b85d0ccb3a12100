"""The two pages of a release: a public page of released data only, and a private one for the steward."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from crowdveil.arrays import Floats
from crowdveil.certificates.certificate import of_release
from crowdveil.claims import Claims
from crowdveil.evaluation.release_measures import silverman, theorem1_bound
from crowdveil.releases.density import curve, support, weighted_bandwidth
from crowdveil.releases.result import Release, Status
from crowdveil.releases.weights import Weights
from crowdveil.report.charts import density_chart, histogram_chart

ROWS_SHOWN = 200
PICTURES = 6
LARGEST_FOR_BOUND = 500  # claims of an object for which Theorem 1's bound is computed
MOST_DRAWN = 10_000  # claims of an object in a chart
OUTLIER_SHARE = 0.25  # a claim is marked as an outlier below this share of an equal weight


@cache
def environment() -> Environment:
    """The environment of the page templates; values are escaped."""
    return Environment(
        loader=PackageLoader("crowdveil.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


def public_page(release: Release) -> str:
    """The public page: the promise and a summary of the released claims."""
    counts = np.diff(release.offsets)
    drawn = np.flatnonzero(counts >= 2)[:PICTURES]
    return (
        environment()
        .get_template("public.html")
        .render(
            certificate=of_release(release).to_dict(),
            rows=[_summary(release, int(i)) for i in np.flatnonzero(counts)[:ROWS_SHOWN]],
            objects=int(np.count_nonzero(counts)),
            released=len(release),
            pictures=[(release.objects[int(i)], _released_picture(release.of(int(i)))) for i in drawn],
        )
    )


def _summary(release: Release, index: int) -> dict[str, Any]:
    values = release.of(index)
    low, median, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    return {
        "object": release.objects[index],
        "claims": values.size,
        "median": median,
        "low": low,
        "high": high,
    }


def _released_picture(values: Floats) -> str:
    spread = silverman(values, 0.0)
    if spread == 0:
        return histogram_chart(values, "value")
    points = np.linspace(*support(values, spread), 300)
    return density_chart(points, {"released": curve(points, values, None, spread)})


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
        "picture": histogram_chart(weights.user, "users' global weight"),
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
    return [_case(release, claims, weights, i) for i in order if shown[i]]


def _case(release: Release, claims: Claims, weights: Weights | None, index: int) -> dict[str, Any]:
    """One object's claims and densities: uniform, global only, combined and released."""
    x, released = claims.of(index), release.of(index)
    case: dict[str, Any] = {"object": claims.objects[index], "claims": int(x.size)}
    outliers = np.zeros(x.size, dtype=np.bool_)
    if weights is None:
        x = x[:: 1 + x.size // MOST_DRAWN]  # x ascends, so this is an evenly spaced sample
        outliers = outliers[: x.size]
        h = silverman(x, 0.0)
        points = np.linspace(*support(x, h), 600)
        curves = {"uniform": curve(points, x, None, h)}
        h_released = silverman(released, 1e-3 * h)
    else:
        own = slice(claims.offsets[index], claims.offsets[index + 1])
        combined = weights.combined[own]
        h = h_released = float(weights.bandwidth[index])
        points, curves = case_curves(x, weights.user[claims.user_codes[own]], combined, h)
        outliers = combined * x.size < OUTLIER_SHARE
        case |= {"outliers": int(outliers.sum()), "bandwidth": h}
        if x.size <= LARGEST_FOR_BOUND:
            case["bound"] = theorem1_bound(x, combined, h, max(1, released.size))
    if released.size:
        curves["released"] = curve(points, released, None, h_released)
    sample = slice(None, None, 1 + x.size // MOST_DRAWN)
    return {**case, "picture": density_chart(points, curves, x[sample], outliers[sample])}


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
