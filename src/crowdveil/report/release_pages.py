"""The two pages of a release: a public page of released data only, and a private one for the steward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdveil.arrays import Flags, Floats, Ints
from crowdveil.certificates.certificate import of_release
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByClaim, Engine
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


def public_page(release: Release, engine: Engine) -> str:
    """The public page: the promise and a summary of the released claims."""
    counts = np.diff(release.offsets)
    drawn = np.flatnonzero(counts >= 2)[:PICTURES].tolist()
    listed = np.flatnonzero(counts)[:ROWS_SHOWN].tolist()
    rows = [
        _summary(release.objects[i], values)
        for i, values in zip(listed, release.some(listed, engine), strict=True)
    ]
    pictures = _released_pictures(release.some(drawn, engine), declared_range(release))
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


def _summary(name: str | int, values: Floats) -> dict[str, Any]:
    low, median, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    shown = interval(median, low, high)
    return {
        "object": name,
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


def steward_page(release: Release, claims: Claims, engine: Engine) -> str:
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
            pictures=_case_pictures(release, claims, engine),
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


def _case_pictures(release: Release, claims: Claims, engine: Engine) -> list[dict[str, Any]]:
    """Cases of the objects with the most outliers or, without weights, with the most claims."""
    weights = () if release.weights is None else (ByClaim(release.weights.combined),)
    counted = engine.map(
        *("cases", claims, _varied_and_outlying, None, *weights),
        per=("object", "object"),
        operations=float(len(claims)),
    )
    varied, outliers = map(engine.collect, counted)
    scores = outliers if weights else claims.counts()
    shown = (release.statuses == Status.released) & varied
    order = [
        i for i in np.argsort(np.where(shown, -scores, 1), kind="stable")[:PICTURES].tolist() if shown[i]
    ]
    by_object = _cases(release, claims, sorted(order), engine)
    cases = [by_object[i] for i in order]
    tops = [max(float(heights.max()) for heights in case["curves"].values()) for case in cases]
    top = shared_top(tops) if declared_range(release) is not None else None
    return [
        {
            **case,
            "picture": density_chart(case["points"], case["curves"], case["marks"], case["outlying"], top),
        }
        for case in cases
    ]


def _varied_and_outlying(block: Block, _: None, combined: Floats | None = None) -> tuple[Flags, Ints]:
    """Whether the claims about each object differ, and how many are outliers by these weights."""
    counts = np.diff(block.offsets)
    claimed, varied = np.flatnonzero(counts), np.zeros(block.size, dtype=np.bool_)
    varied[claimed] = block.values[block.offsets[claimed]] != block.values[block.offsets[claimed + 1] - 1]
    outliers = np.zeros(block.size, dtype=np.int64)
    if combined is not None:
        owners = np.repeat(np.arange(block.size), counts)
        outliers = np.bincount(owners[combined * counts[owners] < OUTLIER_SHARE], minlength=block.size)
    return varied, outliers.astype(np.int64)


def _cases(release: Release, claims: Claims, rows: list[int], engine: Engine) -> dict[int, dict[str, Any]]:
    """The case of each of these objects, whose numbers ascend."""
    if not rows:
        return {}
    numbers, within = np.array(rows, dtype=np.int64), declared_range(release)
    picked, released = claims.picked(numbers), release.some(rows, engine)
    if release.weights is None:
        return {
            i: {"object": picked.objects[at], "claims": int(picked.counts()[at])}
            | _plain_case(picked.of(at), released[at], within)
            for at, i in enumerate(rows)
        }
    offsets = np.concatenate([[0], np.cumsum(claims.counts())])
    combined = engine.collect(release.weights.combined, numbers, offsets)
    bandwidths = engine.collect(release.weights.bandwidth, numbers)
    cases = {}
    for at, i in enumerate(rows):
        own = slice(picked.offsets[at], picked.offsets[at + 1])
        by_user = release.weights.user[picked.user_codes[own]]
        bandwidth = float(bandwidths[at])
        case = _weighted_case(picked.of(at), by_user, combined[own], bandwidth, released[at], within)
        cases[i] = {"object": picked.objects[at], "claims": int(picked.counts()[at])} | case
    return cases


def _plain_case(x: Floats, released: Floats, within: tuple[float, float] | None) -> dict[str, Any]:
    """One object's claims, and their density beside that of the released ones."""
    x = x[:: 1 + x.size // MOST_DRAWN]  # x ascends, so this is an evenly spaced sample
    h = silverman(x, 0.0)
    points = _points(x, h, within)
    curves = {"uniform": curve(points, x, None, h)}
    return {
        "points": points,
        "curves": curves | _released_curve(points, released, silverman(released, 1e-3 * h)),
        "marks": x,
        "outlying": np.zeros(x.size, dtype=np.bool_),
    }


def _weighted_case(
    x: Floats,
    by_user: Floats,
    combined: Floats,
    h: float,
    released: Floats,
    within: tuple[float, float] | None,
) -> dict[str, Any]:
    """One object's claims and densities: uniform, global only, combined and released."""
    points = _points(x, h, within)
    _, curves = case_curves(x, by_user, combined, h, points)
    outliers = combined * x.size < OUTLIER_SHARE
    case: dict[str, Any] = {"outliers": int(outliers.sum()), "bandwidth": h}
    if x.size <= LARGEST_FOR_BOUND:
        case["bound"] = theorem1_bound(x, combined, h, max(1, released.size))
    sample = slice(None, None, 1 + x.size // MOST_DRAWN)
    return {
        **case,
        "points": points,
        "curves": curves | _released_curve(points, released, h),
        "marks": x[sample],
        "outlying": outliers[sample],
    }


def _released_curve(points: Floats, released: Floats, h: float) -> dict[str, Floats]:
    """The density of the released claims, if there are any."""
    return {"released": curve(points, released, None, h)} if released.size else {}


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
