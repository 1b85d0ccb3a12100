"""Before anybody's data are touched: what a release would be worth, from a simulation of what is expected.

Objects are simulated with normal claims of the expected spread at random places of the range, and released
with the very methods that would be used. Where the epsilon follows from other parameters, these are searched
for on a small grid: those that cost no more than wished, and of them the best in a simulation of its own.
Nothing is charged, because nothing private is looked at.

Errors: of the density of an object's released claims, relative to the true density's own energy; of their
median. An object of which fewer than two claims are released shows no density, which scores 1; its median
without any is the middle of the range.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import ceil, log
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.evaluation.release_measures import error_to_normal, silverman
from crowdveil.guarantee import Guarantee, Unit
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.attempts import LARGEST_RATE, Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import USEFUL, Certified
from crowdveil.releases.method import ReleaseMethod, release
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import Smoothed

MOST_OBJECTS = 60
MOST_CLAIMS = 10_000  # of an object; more make every method better, and none dearer
MOST_IN_ALL = 300_000
MOST_READ = 500  # released claims of an object that its density is made of
REPETITIONS = 3
WORTHLESS = 0.6
LARGEST_DELTA = 1e-3  # what is allowed to fail more often is no protection

# The grid of the search.
NUMBERS = (1, 2, 5, 10, 30, 100, 300)  # of draws or attempts for each object
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # of kernels, in spreads
PUBLIC_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # lam of smoothed releases
RATE_SHARE = 0.7  # of an attempt's epsilon for the noise of its test
STRICTER = (1.0, 1.1, 1.2, 1.35, 1.5, 2.0)  # k over the least at which a lone claim hardly ever passes


@dataclass(frozen=True)
class ReleasePlan:
    """What the steward expects, and what she wishes."""

    objects: int
    claims_per_object: int
    range: Range
    epsilon: float
    spread: float | None = None  # of an object's claims; default a tenth of the range
    per_object: int = 30
    delta: float = 1e-6  # for methods that need one
    unit: Unit = "claim"
    cap: int | None = None  # claims used of each user, for unit "user"

    def __post_init__(self) -> None:
        if self.objects < 1 or self.claims_per_object < 1:
            raise ParameterError("a plan needs at least one object and one claim for each")
        if not 0 < self.width <= self.range.length / 4:
            raise ParameterError(
                f"a spread of {self.width:g} does not fit the range: at most a quarter of it"
            )
        if not 0 <= self.delta <= LARGEST_DELTA:
            raise ParameterError(f"delta must be from 0 to {LARGEST_DELTA:g}, not {self.delta:g}")
        self.certified(pooled=False)  # refuses what no release takes

    @property
    def width(self) -> float:
        """The expected spread."""
        return self.range.length / 10 if self.spread is None else self.spread

    @property
    def claims(self) -> int:
        """Claims of an object, as many as are simulated."""
        return min(self.claims_per_object, MOST_CLAIMS)

    @property
    def numbers(self) -> list[int]:
        """How many claims an object may release: no more than were asked for."""
        return sorted({min(number, self.per_object) for number in NUMBERS})

    @property
    def bandwidths(self) -> list[float]:
        """Kernels that suit the spread, in three digits; at most a quarter of the range."""
        return sorted({_digits(min(w * self.width, self.range.length / 4)) for w in WIDTHS})

    def certified(self, *, pooled: bool) -> Certified:
        """The certified release of this wish."""
        return Certified(
            *(self.epsilon, self.range, self.per_object), unit=self.unit, cap=self.cap, pooled=pooled
        )


def plan_release(plan: ReleasePlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Expected errors, cost, parameters and command of every method, and which method to use."""
    engine = engine or LocalEngine()
    methods = [_row(name, found, plan, engine) for name, found in _choices(plan, engine).items()]
    without = _without(plan)
    worth = [
        row
        for row in methods
        if row["possible"]
        and row["method"] != "pooled"
        and row["relative_ise"] < min(WORTHLESS, without["relative_ise"])
    ]
    pooled = [row for row in methods if row["possible"] and row["method"] == "pooled"]
    best = min(worth or pooled, key=lambda row: float(row["relative_ise"]), default=None)
    return {
        "advice": best["method"] if best else "none",
        "command": best["command"] if best else None,
        "claims_times_epsilon": plan.claims_per_object * plan.epsilon,
        "spread": plan.width,
        "without_release": without,
        "methods": methods,
    }


def _choices(plan: ReleasePlan, engine: LocalEngine) -> dict[str, ReleaseMethod | str]:
    """Each method's parameters for this wish, or why it has none."""
    found: dict[str, ReleaseMethod | str] = {
        "certified": _certified(plan, pooled=False),
        "pooled": _certified(plan, pooled=True),
    }
    if plan.unit != "claim":
        return found | dict.fromkeys(("smoothed", "attempts", "basic"), "protects claims, not users")
    unreachable = "cannot reach this epsilon with so few claims"
    found["smoothed"] = _least_error(_smoothed(plan), plan, engine) or unreachable
    found["attempts"] = (
        (_least_error(_attempts(plan), plan, engine) or unreachable)
        if plan.delta
        else "needs a delta above 0"
    )
    found["basic"] = Basic(plan.epsilon, plan.range)
    return found


def _certified(plan: ReleasePlan, *, pooled: bool) -> Certified | str:
    parameters = plan.certified(pooled=pooled)
    claims = plan.claims_per_object * (plan.objects if pooled else 1)
    useful = parameters.usefulness(Pattern.even(1, claims)) >= USEFUL
    return parameters if useful else "too few claims for this epsilon: little but noise"


# --- searching ----------------------------------------------------------------------------------------------


def _smoothed(plan: ReleasePlan) -> Iterator[Smoothed]:
    """For each number of draws and bandwidth: the smallest public share that is private enough."""
    for draws in plan.numbers:
        for bandwidth in plan.bandwidths:
            made = [Smoothed(plan.range, bandwidth, draws, lam, plan.delta) for lam in PUBLIC_SHARES]
            first = bisect_left(made, True, key=lambda one: one.epsilon(plan.claims) <= plan.epsilon)
            yield from made[first : first + 1]


def _attempts(plan: ReleasePlan) -> Iterator[Attempts]:
    """For each number of attempts: the smallest k that is private enough, with each bandwidth."""
    for times in plan.numbers:
        rate = _digits(min(max(RATE_SHARE * plan.epsilon / times, 1e-6), LARGEST_RATE))
        # From here on a lone claim passes with a probability of at most delta.
        least = 1 + max(0.0, log(times / (2 * plan.claims * plan.delta))) / rate
        made = [
            Attempts(plan.range, plan.bandwidths[0], times, k, epsilon0=rate, delta=plan.delta)
            for k in (ceil(least * factor) for factor in STRICTER)
            if k <= plan.claims
        ]
        first = bisect_left(made, True, key=lambda one: one.epsilon([plan.claims]) <= plan.epsilon)
        for one in made[first : first + 1]:
            yield from (replace(one, bandwidth=bandwidth) for bandwidth in plan.bandwidths)


def _least_error(
    candidates: Iterable[ReleaseMethod], plan: ReleasePlan, engine: LocalEngine
) -> ReleaseMethod | None:
    """The candidate with the smallest error in a simulation that is not used again."""
    return min(candidates, key=lambda one: _trial(one, plan, REPETITIONS, engine), default=None)


def _digits(number: float) -> float:
    return float(f"{number:.3g}")


# --- judging ------------------------------------------------------------------------------------------------


def _row(method: str, found: ReleaseMethod | str, plan: ReleasePlan, engine: LocalEngine) -> dict[str, Any]:
    if isinstance(found, str):
        empty = ("relative_ise", "centre_error", "epsilon", "delta", "parameters", "command")
        return {"method": method, "possible": False, "why": found, **dict.fromkeys(empty)}
    scores = [_trial(found, plan, seed, engine) for seed in range(REPETITIONS)]
    cost = found.promise(Pattern.even(1, plan.claims))
    assert isinstance(cost, Guarantee)
    return {
        "method": method,
        "possible": True,
        "why": None,
        **_named(np.mean(scores, axis=0)),
        "epsilon": cost.epsilon,
        "delta": cost.delta,
        "parameters": {name: value for name, (value, _) in _public(found).items()},
        "command": _command(found),
    }


def _trial(
    parameters: ReleaseMethod, plan: ReleasePlan, seed: int, engine: LocalEngine
) -> tuple[float, float]:
    """The errors of one simulated release; a pooled one says the same about every object."""
    claims, centres = _simulated(plan, seed)
    drawn = release(claims, parameters, rng=seeded(seed), engine=engine)
    return _errors(lambda i: drawn.of(min(i, len(drawn.objects) - 1)), centres, plan)


def _without(plan: ReleasePlan) -> dict[str, float]:
    """The errors of whoever knows no more than the range."""
    even = np.linspace(plan.range.low, plan.range.high, MOST_READ)
    scores = [_errors(lambda _: even, _simulated(plan, seed)[1], plan) for seed in range(REPETITIONS)]
    return _named(np.mean(scores, axis=0))


def _named(errors: Floats) -> dict[str, float]:
    return {"relative_ise": float(errors[0]), "centre_error": float(errors[1])}


@lru_cache(maxsize=REPETITIONS + 1)
def _simulated(plan: ReleasePlan, seed: int) -> tuple[Claims, Floats]:
    """Claims, each by a user of its own (who made them changes nothing), and the objects' centres."""
    n = plan.claims
    objects = min(plan.objects, MOST_OBJECTS, MOST_IN_ALL // n)
    rng = seeded(seed)
    room = max(0.0, plan.range.length - 4 * plan.width)
    places = rng.stream("centres", purpose="plan").uniforms(objects)
    centres: Floats = plan.range.low + (plan.range.length - room) / 2 + room * places
    noise = rng.stream("claims", purpose="plan").normals(objects * n).reshape(objects, n)
    values = np.clip(centres[:, None] + plan.width * noise, plan.range.low, plan.range.high)
    names = np.repeat(np.arange(objects), n)
    return Claims.from_columns(names, np.arange(objects * n), values.ravel()), centres


def _errors(released: Callable[[int], Floats], centres: Floats, plan: ReleasePlan) -> tuple[float, float]:
    """The mean errors of the density and of the centre; `released` gives an object's claims, ascending."""
    energy = 1.0 / (2.0 * np.sqrt(np.pi) * plan.width)
    ises, gaps = [], []
    for i, centre in enumerate(centres.tolist()):
        x = released(i)
        bandwidth = silverman(x, 0.1 * plan.width)
        step = max(1, x.size // MOST_READ)
        read = x[step // 2 :: step] if x.size > 1 else x[:0]
        ises.append(error_to_normal(read, bandwidth, centre, plan.width) / energy)
        middle = float(np.median(x)) if x.size else 0.5 * (plan.range.low + plan.range.high)
        gaps.append(abs(middle - centre))
    return float(np.mean(ises)), float(np.mean(gaps))


# --- releasing ----------------------------------------------------------------------------------------------


def _public(parameters: ReleaseMethod) -> dict[str, tuple[Any, Any]]:
    """ReleaseMethod besides the range by name: their values and defaults."""
    every = {field.name: (getattr(parameters, field.name), field.default) for field in fields(parameters)}  # type: ignore[arg-type]
    return {name: pair for name, pair in every.items() if name != "range" and pair[0] is not None}


def _command(parameters: ReleaseMethod) -> str:
    """The command that makes this release; its options have the parameters' names."""
    words = ["crowdveil release CLAIMS"]
    if parameters.name != Certified.name:
        words.append(f"--method {parameters.name}")
    assert parameters.range is not None
    words.append(f"--range {_exact(parameters.range.low)}:{_exact(parameters.range.high)}")
    for name, (value, default) in _public(parameters).items():
        option = "--" + name.replace("_", "-")
        if value != default:
            words.append(option if value is True else f"{option} {_exact(value)}")
    return " ".join([*words, "-o OUT"])


def _exact(value: float | str) -> str:
    """All digits: fewer could make another epsilon or range."""
    return str(value).removesuffix(".0")
