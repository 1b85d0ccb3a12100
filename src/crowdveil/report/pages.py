"""The two pages of a release: one for readers, made of released data only, and one for the steward."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from crowdveil.claims import Claims
from crowdveil.release.density import curve, support, weighted_bandwidth
from crowdveil.release.measures import silverman, theorem1_bound
from crowdveil.release.result import Floats, Release, Status
from crowdveil.release.weights import Weights
from crowdveil.report import plots
from crowdveil.report.certificate import certificate

ROWS_SHOWN = 200
PICTURES = 6
OUTLIER_SHARE = 0.25  # a claim is marked as an outlier below this share of an even weight


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("crowdveil.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


def public_page(release: Release) -> str:
    """What readers see: the promise, and a summary of the released claims."""
    summary = (
        release.to_frame()
        .group_by("object", maintain_order=True)
        .agg(
            pl.len().alias("claims"),
            pl.col("value").median().alias("median"),
            pl.col("value").quantile(0.1, "linear").alias("low"),
            pl.col("value").quantile(0.9, "linear").alias("high"),
        )
    )
    filled = np.flatnonzero(np.diff(release.offsets) >= 2)[:PICTURES]
    return (
        _environment()
        .get_template("public.html")
        .render(
            certificate=certificate(release),
            rows=summary.head(ROWS_SHOWN).to_dicts(),
            objects=summary.height,
            released=len(release),
            pictures=[(release.objects[int(i)], _released_picture(release.of(int(i)))) for i in filled],
        )
    )


def _released_picture(values: Floats) -> str:
    spread = silverman(values, 0.0)
    made, (axes,) = plots.figure(4.2, 2.2)
    if spread > 0:
        points = np.linspace(*support(values, spread), 300)
        plots.draw_density(axes, points, {"released": curve(points, values, None, spread)}, None, [])
    else:
        axes.hist(values, bins=10, color=plots.ORANGE)
    axes.set_xlabel("value")
    return plots.svg(made)


def steward_page(release: Release, claims: Claims, weights: Weights | None) -> str:
    """What only the steward sees: statuses, users' weights, densities over raw claims, outliers."""
    counts = claims.counts()
    status_names = [Status(code).name for code in release.statuses[:ROWS_SHOWN]]
    rows = [
        {"object": claims.objects[i], "claims": int(counts[i]), "status": status}
        for i, status in enumerate(status_names)
    ]
    return (
        _environment()
        .get_template("steward.html")
        .render(
            certificate=certificate(release),
            statuses=release.status_counts(),
            rows=rows,
            objects=len(claims.objects),
            users=len(claims.users),
            claims=len(claims),
            pictures=[] if weights is None else _case_pictures(release, claims, weights),
            reliability=None
            if weights is None or release.method == "uniform"
            else _reliability(claims, weights),
        )
    )


def _reliability(claims: Claims, weights: Weights) -> dict[str, Any]:
    order = np.argsort(weights.user, kind="stable")[: ROWS_SHOWN // 4]
    made = claims.claims_per_user()
    return {
        "picture": plots.svg(plots.histogram(weights.user, "users' global weight")),
        "least": [
            {"user": claims.users[int(s)], "weight": float(weights.user[s]), "claims": int(made[s])}
            for s in order
        ],
        "sweeps": weights.sweeps,
        "converged": weights.converged,
    }


def _case_pictures(release: Release, claims: Claims, weights: Weights) -> list[dict[str, Any]]:
    """The released objects with the most outliers, each with its curves."""
    counts = claims.counts()
    far = weights.combined * np.repeat(counts, counts) < OUTLIER_SHARE
    outliers = np.add.reduceat(far.astype(np.int64), claims.offsets[:-1])
    shown = (release.statuses == Status.released) & (counts >= 2)
    order = np.argsort(np.where(shown, -outliers, 1), kind="stable")[:PICTURES]
    return [case(release, claims, weights, int(i)) for i in order if shown[i]]


def case(release: Release, claims: Claims, weights: Weights, index: int) -> dict[str, Any]:
    """One object's claims and densities: uniform, global only, combined, and what was released."""
    a, b = claims.offsets[index], claims.offsets[index + 1]
    x = claims.of(index)
    combined = weights.combined[a:b]
    h = float(weights.bandwidth[index])
    points, curves = case_curves(x, weights.user[claims.user_codes[a:b]], combined, h)
    released = release.of(index)
    if released.size:
        curves["released"] = curve(points, released, None, h)
    far = combined * x.size < OUTLIER_SHARE
    made, (axes,) = plots.figure(4.4, 2.7)
    plots.draw_density(axes, points, curves, x, far)
    axes.set_xlabel("value")
    return {
        "object": claims.objects[index],
        "claims": int(x.size),
        "outliers": int(far.sum()),
        "bandwidth": h,
        "bound": theorem1_bound(x, combined, h, max(1, released.size)),
        "picture": plots.svg(made),
    }


def case_curves(
    x: Floats, g: Floats, combined: Floats, h: float, points: Floats | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Points (by default over the claims) and the three densities of the paper's case study there."""
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
