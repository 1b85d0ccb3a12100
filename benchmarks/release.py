"""A release against kernel density estimates object by object in common libraries."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.checks import RELEASED, WHOLE_RELEASE, densities_and_draws
from benchmarks.claims import HIGH, LOW, every, simulated, with_estimate, write_parquet
from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work, over
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays

OURS = HERE / "ours" / "releases.py"
COMMANDS = HERE / "ours" / "commands.py"
NUMPY = ("numpy==2.4.6",)
SCIPY = ("scipy==1.17.1", *NUMPY)
SCIKIT_LEARN = ("scikit-learn==1.9.1", *SCIPY)
KDEPY = ("KDEpy==1.1.12", *SCIPY)

PAIR_NANOSECONDS = 1.3  # a vectorised exponential, by published measurements
EXP_PER_OBJECT = 200
EXACT = densities_and_draws(1e-9)
MORE = "does more: the whole release, weights to convergence, privacy test, secure randomness, all threads"

AT_ONCE = "NumPy, a thousand objects at once"
OURS_SAME, OURS_WHOLE = "crowdveil", "crowdveil, the whole release"
SMALL, LARGE = 20, 200  # claims per object
FIT = "one fit and sample, {} claims an object"
WHOLE = "the whole release, 20 claims an object"
LIMIT = "weights in one thread, 200 claims an object"


def works(quick: bool) -> list[Work]:
    """Works of a million claims; if quick of two thousand."""
    claims = 2_000 if quick else 1_000_000
    return [*(_fit_and_sample(claims // n, n) for n in (SMALL, LARGE)), _whole(quick), _limit(quick)]


def _make(per_object: int, _: Path, objects: int) -> Arrays:
    return with_estimate(simulated(objects, per_object))


def _make_with_file(per_object: int, folder: Path, objects: int) -> Arrays:
    arrays = _make(per_object, folder, objects)
    return {**arrays, "parquet": write_parquet(arrays, folder / "claims.parquet")}


def _fit_and_sample(objects: int, per_object: int) -> Work:
    """Densities with given weights and bandwidths; our complete release, which estimates them, runs too."""

    def peer(
        name: str,
        script: str,
        requirements: tuple[str, ...],
        share: int,
        remark: str = "",
        function: str = "fit_and_sample",
    ) -> Contestant:
        path = HERE / "peers" / script
        return Contestant(name, path, function, {}, requirements, EXACT, share, repeats=3, remark=remark)

    return Work(
        FIT.format(per_object),
        partial(_make_with_file, per_object),
        objects,
        "objects",
        (
            Contestant(OURS_SAME, OURS, "fit_and_sample", check=EXACT),
            Contestant(OURS_WHOLE, OURS, "whole_release", check=RELEASED, remark=MORE),
            _command("crowdveil release (command)", ["--method", "priscrowd"], RELEASED),
            _command(
                "crowdveil release (command), certified", ["--epsilon", "1", "--range", f"{LOW:g}:{HIGH:g}"]
            ),
            peer("NumPy loop", "numpy_loop.py", NUMPY, 1),
            peer(
                AT_ONCE,
                "numpy_loop.py",
                NUMPY,
                1,
                "only where all objects have the same number of claims",
                "fit_and_sample_at_once",
            ),
            peer("scipy gaussian_kde", "scipy_kde.py", SCIPY, 5),
            peer("scikit-learn KernelDensity", "sklearn_kde.py", SCIKIT_LEARN, 10),
            peer("KDEpy NaiveKDE", "kdepy_kde.py", KDEPY, 10, "draws by NumPy: it has no sampler"),
        ),
        warm=100,
        part=every,
        baseline=OURS_SAME,
    )


def _command(name: str, options: list[str], check: Check | None = None) -> Contestant:
    settings = {"arguments": ["release", "CLAIMS", *options, "-o", "out"], "read": check is not None}
    remark = "does more: from Parquet to bundle, in a process of its own"
    return Contestant(name, COMMANDS, "command", settings, check=check, repeats=3, remark=remark)


def _whole(quick: bool) -> Work:
    """The complete release, for all contestants."""
    remark = "an object's kernel matrix is computed once and kept"
    return Work(
        WHOLE,
        partial(_make, SMALL),
        100 if quick else 1_000,
        "objects",
        (
            Contestant("crowdveil", OURS, "whole_release", check=WHOLE_RELEASE),
            Contestant(
                "NumPy loop",
                HERE / "peers" / "numpy_loop.py",
                "whole_release",
                requirements=NUMPY,
                check=WHOLE_RELEASE,
                repeats=3,
                remark=remark,
            ),
            Contestant(
                "scipy gaussian_kde",
                HERE / "peers" / "scipy_kde.py",
                "whole_release",
                requirements=SCIPY,
                check=WHOLE_RELEASE,
                repeats=3,
            ),
        ),
        warm=20,
        baseline="crowdveil",
    )


def _limit(quick: bool) -> Work:
    """A lower limit of the cost of pairwise kernels: one exponential for each pair."""
    return Work(
        LIMIT,
        partial(_make, EXP_PER_OBJECT),
        (2_000 if quick else 1_000_000) // EXP_PER_OBJECT,
        "objects",
        (
            Contestant("crowdveil", OURS, "weights", {"threads": 1}, check=_SAME_AS_GIVEN),
            Contestant(
                "exponentials alone",
                OURS,
                "only_exponentials",
                check=_EXPONENTIALS,
                remark="one for each pair, in the first-level cache",
            ),
        ),
        warm=10,
        baseline="exponentials alone",
    )


def _not_exponentials(_: Arrays, answers: Arrays) -> str | None:
    worst = float(np.max(np.abs(answers["row"] / np.exp(answers["given"]) - 1.0)))
    return None if worst <= 1e-14 else f"exponentials are off by {worst:.1e} of their value"


def _not_given(inputs: Arrays, answers: Arrays) -> str | None:
    same = np.array_equal(inputs["combined"], answers["combined"])
    return None if same else "weights depend on the number of threads"


_EXPONENTIALS = Check("exponentials within 1e-14 of NumPy's", _not_exponentials)
_SAME_AS_GIVEN = Check("the same weights, to the last bit, as with all threads", _not_given)


def bars(results: Found) -> list[Bar]:
    """Bars: requirements for 20 claims per object, and other ratios."""
    small, large = FIT.format(SMALL), FIT.format(LARGE)
    scipy, sklearn = "scipy gaussian_kde", "scikit-learn KernelDensity"
    kdepy, loop = "KDEpy NaiveKDE", "NumPy loop"
    command = "crowdveil release (command)"

    def against(work: str, peer: str, least: float | None = None, fast: str = "crowdveil") -> Bar:
        return Bar(f"{work}: {fast} against {peer}", results.ratio(work, peer, fast), least=least, unit="x")

    # A loop takes equal time for each object, so the time of all is extrapolated from a thousand.
    objects = {work.name: work.count for work in results.works}
    loop_of_all = results.seconds(WHOLE, scipy)
    if loop_of_all is not None:
        loop_of_all *= objects[small] / objects[WHOLE]

    return [
        against(small, scipy, 50.0),
        against(small, sklearn, 20.0),
        against(small, loop, 8.0),
        Bar(
            f"{command}, Parquet to bundle, against a {scipy} loop that does the whole release",
            over(loop_of_all, results.seconds(small, command)),
            least=30.0,
            unit="x",
        ),
        *_limit_bars(results),
        *(against(small, peer, fast=OURS_WHOLE) for peer in (scipy, sklearn, loop)),
        against(small, scipy, fast=command),
        against(small, AT_ONCE),
        *(
            Bar(
                f"{small}: CPU of {peer} against ours",
                results.ratio(small, peer, OURS_SAME, "cpu_seconds"),
                unit="x",
            )
            for peer in (scipy, sklearn, loop, AT_ONCE)
        ),
        against(small, kdepy),
        *(against(large, peer) for peer in (scipy, sklearn, loop, kdepy)),
        *(against(WHOLE, peer) for peer in (scipy, loop)),
    ]


def _limit_bars(results: Found) -> list[Bar]:
    (work,) = (candidate for candidate in results.works if candidate.name == LIMIT)
    pairs = float(work.count) * EXP_PER_OBJECT**2
    cpu = results.median_of("cpu_seconds", LIMIT, "crowdveil")
    least = results.median_of("cpu_seconds", LIMIT, "exponentials alone")
    stated = pairs * PAIR_NANOSECONDS * 1e-9
    return [
        Bar(f"{LIMIT}: CPU against {PAIR_NANOSECONDS:g} ns a pair", over(cpu, stated), most=3.0, unit="x"),
        Bar(f"{LIMIT}: CPU against this machine's exponentials", over(cpu, least), unit="x"),
        Bar("an exponential on this machine", over(least, pairs * 1e-9), unit="ns"),
    ]


BENCHMARK = Benchmark(
    "release",
    "A release against densities fitted object by object",
    works,
    bars,
    seconds_as_bars,
)
