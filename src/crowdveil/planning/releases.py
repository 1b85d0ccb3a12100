"""The expected quality of a release, from a simulation of the expected claims, before data are used.

Objects are simulated with normal claims of the expected spread at random points of the range, and released by
the actual methods. If the epsilon of a method follows from other parameters, these are searched for on a
small grid: of those that meet the requested epsilon, the best in a separate simulation is taken. Nothing is
charged, because no private data are used.

Errors: the integrated squared error of the density of an object's released claims, relative to the integral
of the squared true density; and the error of their median. An object with fewer than two released claims has
no density, which scores 1; without any, its median is the middle of the range. A pooled release is judged by
the distribution of all claims, simulated as one wide object at a random point of the range.

Both errors are compared with those of publishing nothing. A method is recommended only if both are clearly
smaller, or that of the median by far (a density that is narrower than any bin is never met), and if the
command would not refuse it.
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
from crowdveil.releases.certified import Certified
from crowdveil.releases.expected_error import Expectation, candidate_caps
from crowdveil.releases.method import ReleaseMethod, release
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import Smoothed

MOST_OBJECTS = 60
MOST_CLAIMS = 10_000  # simulated claims of an object; more improve every method and cost no more
MOST_IN_ALL = 300_000
MOST_READ = 500  # released claims of an object that its density is computed from
REPETITIONS = 3
FEWEST_SIMULATED = 24  # objects, in all repetitions together
SEARCH_SEED = 1000
MOST_EVIDENCE = 1e5  # claims times epsilon: more shrink no error
POOLED_WIDTH = 0.125  # of the range: the spread of all claims together, at least
WORTHLESS = 0.6  # the largest density error
CLEARLY, BY_FAR = 0.8, 0.25  # shares of the errors of publishing nothing
LARGEST_DELTA = 1e-3  # a guarantee that may fail more often is no protection

# The grid of the search.
NUMBERS = (1, 2, 5, 10, 30, 100, 300)  # draws or attempts for each object
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # bandwidths, in spreads
PUBLIC_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # lam of smoothed releases
RATE_SHARE = 0.7  # share of an attempt's epsilon that goes to the noise of its test
STRICTER = (1.0, 1.1, 1.2, 1.35, 1.5, 2.0)  # factors of the least k at which a lone claim rarely passes


@dataclass(frozen=True)
class ReleasePlan:
    """The expected claims, and the requested release."""

    objects: int
    claims_per_object: int
    range: Range
    epsilon: float
    spread: float | None = None  # of an object's claims; default: a tenth of the range
    per_object: int = 30  # released claims of an object, at most
    delta: float = 1e-6  # for methods that need one
    unit: Unit = "user"
    cap: int | None = None  # largest number of claims used of each user; default: with the least error
    claims_per_user: int | None = None  # expected of each user; default: the cap, or 1

    def __post_init__(self) -> None:
        if self.objects < 1 or self.claims_per_object < 1:
            raise ParameterError("a plan needs at least one object and one claim for each")
        if self.claims_per_user is not None and not 1 <= self.claims_per_user <= self.objects:
            raise ParameterError("a user makes at least one claim, and at most one about each object")
        if self.unit == "claim" and self.claims_per_user is not None:
            raise ParameterError("claims of each user matter for unit user only")
        if not 0 < self.width <= self.range.length / 4:
            raise ParameterError(
                f"a spread of {self.width:g} does not fit the range: at most a quarter of it"
            )
        if not 0 <= self.delta <= LARGEST_DELTA:
            raise ParameterError(f"delta must be from 0 to {LARGEST_DELTA:g}, not {self.delta:g}")
        self.certified(pooled=False)  # raises an error for parameters that no release supports

    @property
    def width(self) -> float:
        """The expected spread."""
        return self.range.length / 10 if self.spread is None else self.spread

    @property
    def of_each_user(self) -> int:
        """The expected number of claims of each user."""
        return self.claims_per_user or self.cap or 1

    def kept(self, cap: int | None) -> float:
        """The expected number of claims of an object that a cap leaves."""
        return self.claims_per_object * min(1.0, (cap or self.of_each_user) / self.of_each_user)

    def chosen(self, *, pooled: bool) -> int | None:
        """The cap: the given one, or that with the least expected error."""
        if self.unit == "claim" or self.cap is not None:
            return self.cap
        caps = candidate_caps(self.of_each_user)
        return caps[int(np.argmin([self._expected(cap, pooled=pooled).error for cap in caps]))]

    def _expected(self, cap: int | None, *, pooled: bool) -> Expectation:
        claims = self.kept(cap) * (self.objects if pooled else 1)
        return self._parameters(cap, pooled=pooled).expected_error().over([claims])

    @property
    def claims(self) -> int:
        """Number of simulated claims of an object."""
        return min(max(1, round(self.kept(self.chosen(pooled=False)))), MOST_CLAIMS)

    @property
    def numbers(self) -> list[int]:
        """Numbers of released claims of an object to try, at most `per_object`."""
        return sorted({min(number, self.per_object) for number in NUMBERS})

    @property
    def bandwidths(self) -> list[float]:
        """Bandwidths to try: multiples of the spread with three digits, at most a quarter of the range."""
        return sorted({_digits(min(w * self.width, self.range.length / 4)) for w in WIDTHS})

    def certified(self, *, pooled: bool) -> Certified:
        """The parameters of a certified release under this plan."""
        return self._parameters(self.chosen(pooled=pooled), pooled=pooled)

    def _parameters(self, cap: int | None, *, pooled: bool) -> Certified:
        return Certified(*(self.epsilon, self.range, self.per_object), unit=self.unit, cap=cap, pooled=pooled)


def plan_release(plan: ReleasePlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Expected errors, cost, parameters and command of every method, and the recommended method."""
    engine = engine or LocalEngine()
    methods = [_row(name, choice, plan, engine) for name, choice in _choices(plan, engine).items()]
    better = [row for row in methods if row["possible"] and _better_than_nothing(row)]
    single = [row for row in better if row["method"] != "pooled"]
    best = min(single or better, key=lambda row: float(row["relative_ise"]), default=None)
    return {
        "advice": best["method"] if best else "none",
        "command": best["command"] if best else None,
        "claims_per_user": plan.of_each_user if plan.unit == "user" else None,
        "spread": plan.width,
        "without_release": _without(_world(plan)),
        "methods": methods,
    }


def _better_than_nothing(row: dict[str, Any]) -> bool:
    """Whether both errors are clearly smaller than those of publishing nothing, or the centre's by far."""
    nothing = row["without_release"]
    density = row["relative_ise"] / nothing["relative_ise"]
    centre = row["centre_error"] / max(nothing["centre_error"], 1e-300)
    both = density < CLEARLY and row["relative_ise"] < WORTHLESS and centre < CLEARLY
    return bool(both or (density < 1 and centre < BY_FAR))


def _choices(plan: ReleasePlan, engine: LocalEngine) -> dict[str, ReleaseMethod | str]:
    """The parameters of each method under this plan, or the reason why there are none."""
    choices: dict[str, ReleaseMethod | str] = {
        "certified": _certified(plan, pooled=False),
        "pooled": _certified(plan, pooled=True),
    }
    if plan.unit != "claim":
        return choices | dict.fromkeys(("smoothed", "attempts", "basic"), "protects claims, not users")
    unreachable = "cannot reach this epsilon with so few claims"
    choices["smoothed"] = _least_error(_smoothed(plan), plan, engine) or unreachable
    choices["attempts"] = (
        (_least_error(_attempts(plan), plan, engine) or unreachable)
        if plan.delta
        else "needs a delta above 0"
    )
    choices["basic"] = Basic(plan.epsilon, plan.range)
    return choices


def _certified(plan: ReleasePlan, *, pooled: bool) -> Certified | str:
    if pooled and plan.objects == 1:
        return "there is one object only"
    parameters = plan.certified(pooled=pooled)
    claims = plan.kept(parameters.cap) * (plan.objects if pooled else 1)
    useful = parameters.expected_error(plan.spread).over([claims]).useful
    return parameters if useful else "too few claims for this epsilon: little but noise"


# --- searching ----------------------------------------------------------------------------------------------


def _smoothed(plan: ReleasePlan) -> Iterator[Smoothed]:
    """For each number of draws and bandwidth, the smallest public share that meets the epsilon."""
    for draws in plan.numbers:
        for bandwidth in plan.bandwidths:
            candidates = [Smoothed(plan.range, bandwidth, draws, lam, plan.delta) for lam in PUBLIC_SHARES]
            first = bisect_left(candidates, True, key=lambda one: one.epsilon(plan.claims) <= plan.epsilon)
            yield from candidates[first : first + 1]


def _attempts(plan: ReleasePlan) -> Iterator[Attempts]:
    """For each number of attempts, the smallest k that meets the epsilon, with each bandwidth."""
    for times in plan.numbers:
        rate = _digits(min(max(RATE_SHARE * plan.epsilon / times, 1e-6), LARGEST_RATE))
        # With k >= least, a lone claim passes with probability at most delta.
        least = 1 + max(0.0, log(times / (2 * plan.claims * plan.delta))) / rate
        candidates = [
            Attempts(plan.range, plan.bandwidths[0], times, k, epsilon0=rate, delta=plan.delta)
            for k in (ceil(least * factor) for factor in STRICTER)
            if k <= plan.claims
        ]
        first = bisect_left(
            candidates, True, key=lambda candidate: candidate.epsilon([plan.claims]) <= plan.epsilon
        )
        for candidate in candidates[first : first + 1]:
            yield from (replace(candidate, bandwidth=bandwidth) for bandwidth in plan.bandwidths)


def _least_error(
    candidates: Iterable[ReleaseMethod], plan: ReleasePlan, engine: LocalEngine
) -> ReleaseMethod | None:
    """The candidate with the smallest error, in a simulation that is used for nothing else."""
    world = _world(plan)
    return min(candidates, key=lambda one: _trial(one, world, SEARCH_SEED, engine), default=None)


def _digits(number: float) -> float:
    return float(f"{number:.3g}")


# --- judging ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _World:
    """What is simulated: objects with so many claims each, at random points of the range."""

    limits: Range
    width: float
    objects: int
    claims: int

    @property
    def seeds(self) -> range:
        """A seed for each repetition: few objects are simulated more often."""
        return range(max(REPETITIONS, ceil(FEWEST_SIMULATED / self.objects)))


def _world(plan: ReleasePlan, *, pooled: bool = False) -> _World:
    if not pooled:
        objects = min(plan.objects, MOST_OBJECTS, MOST_IN_ALL // plan.claims)
        return _World(plan.range, plan.width, objects, plan.claims)
    claims = round(plan.kept(plan.chosen(pooled=True)) * plan.objects)
    width = max(plan.width, plan.range.length * POOLED_WIDTH)
    return _World(plan.range, width, 1, min(max(1, claims), MOST_CLAIMS))


def _row(method: str, choice: ReleaseMethod | str, plan: ReleasePlan, engine: LocalEngine) -> dict[str, Any]:
    if isinstance(choice, str):
        empty = (
            *("relative_ise", "centre_error", "without_release"),
            *("epsilon", "delta", "parameters", "command"),
        )
        return {"method": method, "possible": False, "why": choice, **dict.fromkeys(empty)}
    world = _world(plan, pooled=method == "pooled")
    simulated = _as_much_evidence(choice, plan, world) if isinstance(choice, Certified) else choice
    scores = [_trial(simulated, world, seed, engine) for seed in world.seeds]
    cost = choice.promise(Pattern.even(1, plan.claims))
    assert isinstance(cost, Guarantee)
    return {
        "method": method,
        "possible": True,
        "why": None,
        **_named(np.mean(scores, axis=0)),
        "without_release": _without(world),
        "epsilon": cost.epsilon,
        "delta": cost.delta,
        "parameters": {name: value for name, (value, _) in _public(choice).items()},
        "command": _command(choice, plan),
    }


def _as_much_evidence(choice: Certified, plan: ReleasePlan, world: _World) -> Certified:
    """The release of fewer, simulated claims with as much evidence: claims times epsilon."""
    claims = plan.kept(choice.cap) * (plan.objects if choice.pooled else 1)
    if claims <= MOST_CLAIMS:
        return choice
    enough = choice.neighbours.claims * MOST_EVIDENCE / world.claims
    epsilon = min(choice.epsilon * claims / world.claims, max(choice.epsilon, enough))
    return replace(choice, epsilon=_digits(epsilon))


def _trial(parameters: ReleaseMethod, world: _World, seed: int, engine: LocalEngine) -> tuple[float, float]:
    """The errors of one simulated release."""
    claims, centres = _simulated(world, seed)
    drawn = release(claims, parameters, rng=seeded(seed), engine=engine)
    return _errors(drawn.of, centres, world)


def _without(world: _World) -> dict[str, float]:
    """The errors of the uniform density on the range, which needs no release."""
    uniform = np.linspace(world.limits.low, world.limits.high, MOST_READ)
    scores = [_errors(lambda _: uniform, _simulated(world, seed)[1], world) for seed in world.seeds]
    return _named(np.mean(scores, axis=0))


def _named(errors: Floats) -> dict[str, float]:
    return {"relative_ise": float(errors[0]), "centre_error": float(errors[1])}


@lru_cache(maxsize=FEWEST_SIMULATED + 1)
def _simulated(world: _World, seed: int) -> tuple[Claims, Floats]:
    """Simulated claims, each of a different user (users do not matter here), and the objects' centres."""
    n, objects = world.claims, world.objects
    rng = seeded(seed)
    room = max(0.0, world.limits.length - 4 * world.width)
    places = rng.stream("centres", purpose="plan").uniforms(objects)
    centres: Floats = world.limits.low + (world.limits.length - room) / 2 + room * places
    noise = rng.stream("claims", purpose="plan").normals(objects * n).reshape(objects, n)
    values = np.clip(centres[:, None] + world.width * noise, world.limits.low, world.limits.high)
    names = np.repeat(np.arange(objects), n)
    return Claims.from_columns(names, np.arange(objects * n), values.ravel()), centres


def _errors(released: Callable[[int], Floats], centres: Floats, world: _World) -> tuple[float, float]:
    """Mean errors of the density and of the median; `released(i)` are the claims of object i, ascending."""
    energy = 1.0 / (2.0 * np.sqrt(np.pi) * world.width)
    ises, distances = [], []
    for i, centre in enumerate(centres.tolist()):
        x = released(i)
        bandwidth = silverman(x, 0.1 * world.width)
        step = max(1, x.size // MOST_READ)
        sample = x[step // 2 :: step] if x.size > 1 else x[:0]
        ises.append(error_to_normal(sample, bandwidth, centre, world.width) / energy)
        middle = float(np.median(x)) if x.size else 0.5 * (world.limits.low + world.limits.high)
        distances.append(abs(middle - centre))
    return float(np.mean(ises)), float(np.mean(distances))


# --- releasing ----------------------------------------------------------------------------------------------


def _public(parameters: ReleaseMethod) -> dict[str, tuple[Any, Any]]:
    """Values and defaults of the parameters by name, except the range and those that are None."""
    defaults = {field.name: field.default for field in fields(parameters)}  # type: ignore[arg-type]
    pairs = {name: (getattr(parameters, name), default) for name, default in defaults.items()}
    return {name: pair for name, pair in pairs.items() if name != "range" and pair[0] is not None}


def _command(parameters: ReleaseMethod, plan: ReleasePlan) -> str:
    """The command for this release; its options have the names of the parameters."""
    words = ["crowdveil release CLAIMS"]
    if parameters.name != Certified.name:
        words.append(f"--method {parameters.name}")
    assert parameters.range is not None
    words.append(f"--range {_exact(parameters.range.low)}:{_exact(parameters.range.high)}")
    for name, (value, default) in _public(parameters).items():
        option = "--" + name.replace("_", "-")
        if value != default or name == "unit":
            words.append(option if value is True else f"{option} {_exact(value)}")
    if isinstance(parameters, Certified) and plan.spread is not None:
        words.append(f"--spread {_exact(plan.spread)}")  # without it the command could refuse
    return " ".join([*words, "-o OUT"])


def _exact(value: float | str) -> str:
    """A number with all its digits: with fewer, epsilon or the range could differ."""
    return str(value).removesuffix(".0")
