"""Exact integer noise: draws per second on one core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.checks import Floats, follows
from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work, over
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays

NUMPY = ("numpy==2.4.6",)
OPENDP = ("opendp==0.16.0", *NUMPY)
DIFFPRIVLIB = ("diffprivlib==0.6.6", "scikit-learn==1.8.0", "scipy==1.17.1", *NUMPY)

LAPLACE = "discrete Laplace of scale {}"
GAUSSIAN = "discrete Gaussian of sigma {}"
DRAWS = 1_000_000


def works(quick: bool) -> list[Work]:
    """Works of a million draws; if quick of twenty thousand."""
    draws = 20_000 if quick else DRAWS
    return [_laplace(draws, 10), _laplace(draws, 1), _gaussian(draws, 10)]


def _laplace_weight(y: Floats, scale: float) -> Floats:
    return -np.abs(y) / scale


def _gaussian_weight(y: Floats, sigma: float) -> Floats:
    return -0.5 * (y / sigma) ** 2


def _laplace(draws: int, scale: int) -> Work:
    name = LAPLACE.format(scale)
    return _work(
        name,
        draws,
        scale,
        "discrete_laplace",
        follows(_laplace_weight, name),
        [
            ("numpy_noise.py", "NumPy, not private", NUMPY, 1, "not a secure generator, floating point"),
            ("opendp_noise.py", "OpenDP", OPENDP, 10, ""),
            ("diffprivlib_noise.py", "diffprivlib", DIFFPRIVLIB, 10, "a value at a time"),
        ],
    )


def _gaussian(draws: int, sigma: int) -> Work:
    name = GAUSSIAN.format(sigma)
    peers = [("opendp_noise.py", "OpenDP", OPENDP, 10, "")]
    return _work(name, draws, sigma, "discrete_gaussian", follows(_gaussian_weight, name), peers)


def _work(
    name: str,
    draws: int,
    scale: int,
    function: str,
    check: Check,
    peers: Sequence[tuple[str, str, tuple[str, ...], int, str]],
) -> Work:
    ours = Contestant("crowdveil", HERE / "ours" / "noise.py", function, check=check)
    others = tuple(
        Contestant(peer, HERE / "peers" / script, function, {}, requirements, check, share, 3, remark)
        for script, peer, requirements, share, remark in peers
    )

    def make(_: Path, count: int) -> Arrays:
        return {"count": np.array(count), "scale": np.array(scale)}

    return Work(name, make, draws, "draws", (ours, *others), warm=100, part=_part, baseline="crowdveil")


def _part(inputs: Arrays, share: int) -> Arrays:
    return {**inputs, "count": np.array(len(range(0, int(inputs["count"]), share)))}


def bars(results: Found) -> list[Bar]:
    """Bars: draws per CPU second on one thread, and ratios to the peers."""

    def against(name: str, peer: str, least: float | None = None) -> Bar:
        ratio = results.ratio(name, peer, "crowdveil", "cpu_seconds")
        return Bar(f"{name}, against {peer}", ratio, least=least, unit="x")

    names = [LAPLACE.format(10), LAPLACE.format(1), GAUSSIAN.format(10)]
    rates = [
        over(work.count, results.median_of("cpu_seconds", work.name, "crowdveil")) for work in results.works
    ]
    return [
        *(
            Bar(f"{name}, draws in a CPU second", rate, least=2e6 if "Laplace" in name else None)
            for name, rate in zip(names, rates, strict=True)
        ),
        *(against(name, "OpenDP", 15.0) for name in names),
        *(against(name, peer) for name in names[:2] for peer in ("diffprivlib", "NumPy, not private")),
    ]


BENCHMARK = Benchmark(
    "noise", "Exact discrete noise, draws a second on one core", works, bars, seconds_as_bars
)
