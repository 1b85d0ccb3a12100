"""The noise that a sensing campaign needs and the expected errors of its truths, before data are collected.

A plan (people, range, epsilon, perhaps an error) is turned into the parameters of each mechanism that runs on
people's devices. The expected claims are simulated, perturbed by these mechanisms and combined by truth
discovery. Nothing is charged, because no private data are used.

Of all laws floor + Exp(rate) of a user's variance that meet an epsilon and delta, the constant one (almost no
exponential part) is the best, both in mean variance and in the information that optimal weights could extract
from the claims. At epsilon 1 and delta 1e-6 an exponential part of a fifth of the floor costs 8 % in variance
and 5 % of the information, one as large as the floor 57 % and 24 %. So it is set to a hundredth of the floor,
which costs 0.1 % at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, inf, log10, nextafter, sqrt
from typing import Any

from crowdveil.accounting.parameters import check_whole
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Promise, Unit
from crowdveil.local import Laplace, VariancePerUser
from crowdveil.local.gaussian_exponential import LEAST_DELTA, SMALLEST_DELTA
from crowdveil.planning.releases import LARGEST_DELTA, WORTHLESS
from crowdveil.planning.sensing_errors import METHODS, MOST_CLAIMS, Errors, ExpectedSensing, Mechanism
from crowdveil.planning.sensing_theory import TradeOff
from crowdveil.public_range import Range

MOST_OF_A_USER = 10_000  # accounting for more claims takes minutes
EXTRA = 0.01  # mean of the exponential part of a floored variance, relative to the floor
DEFAULT_DELTA = 1e-6
LARGEST_EPSILON = 1000.0
TINY = 1e-6  # smallest spread and error of a plan, relative to the range
ROUNDS = 10  # of the search for the number of people that are needed


@dataclass(frozen=True)
class SensingPlan:
    """The expected campaign, and the requested privacy and error."""

    users: int
    range: Range
    epsilon: float
    objects: int = 30
    claims_per_user: int | None = None  # default: one about each object
    spread: float | None = None  # of users' errors; default: a tenth of the range
    delta: float = DEFAULT_DELTA  # 0 excludes mechanisms that need a delta
    unit: Unit = "claim"
    error: float | None = None  # the requested error

    def __post_init__(self) -> None:
        check_whole(self.users, "the number of users")
        check_whole(self.objects, "the number of objects")
        most = min(self.objects, MOST_OF_A_USER)
        if not 1 <= self.claims <= most:
            raise ParameterError(f"a user makes from 1 to {most} claims here, not {self.claims}")
        if self.users * self.claims < self.objects:
            raise ParameterError("so few claims leave objects without any: plan for more people")
        if not TINY * self.range.length <= self.width <= self.range.length / 4:
            raise ParameterError(
                f"a spread of {self.width:g} does not fit the range: from a millionth to a quarter of it"
            )
        if not (self.delta == 0 or SMALLEST_DELTA <= self.delta <= LARGEST_DELTA):
            raise ParameterError(
                f"delta must be 0 or from {SMALLEST_DELTA:g} to {LARGEST_DELTA:g}, not {self.delta:g}"
            )
        if self.unit not in ("claim", "user"):
            raise ParameterError(f"a sensing campaign protects claims or users, not {self.unit!r}")
        if self.error is not None and not TINY * self.range.length <= self.error <= self.range.length:
            raise ParameterError(
                f"the error that is wanted must lie between a millionth of the range and all of it, not "
                f"{self.error:g}"
            )
        if self.epsilon > LARGEST_EPSILON:
            raise ParameterError(f"an epsilon above {LARGEST_EPSILON:g} protects nobody: {self.epsilon:g}")
        Laplace(self.epsilon, self.range)  # this and the next line raise errors for unsupported parameters
        self.theory.privacy(self.epsilon, self.delta or LARGEST_DELTA)

    @property
    def claims(self) -> int:
        """Number of claims of a user."""
        return self.objects if self.claims_per_user is None else self.claims_per_user

    @property
    def width(self) -> float:
        """The expected spread of errors: the root of the users' mean error variance."""
        return self.range.length / 10 if self.spread is None else self.spread

    @property
    def protected(self) -> int:
        """Number of claims that are protected together."""
        return self.claims if self.unit == "user" else 1

    @property
    def campaign(self) -> ExpectedSensing:
        """The expected campaign alone."""
        return ExpectedSensing(self.users, self.objects, self.claims, self.range, self.width)

    @property
    def theory(self) -> TradeOff:
        """The campaign in the paper's terms; alpha is the requested error or, without one, the spread."""
        alpha = self.width if self.error is None else self.error
        users = max(1, round(self.campaign.claims_per_object))
        return TradeOff(users, self.claims, self.range.length, self.width**-2, alpha)


def plan_sensing(plan: SensingPlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Parameters, guarantees and expected errors of every mechanism, and the recommended one."""
    engine = engine or LocalEngine()
    choices = _choices(plan)
    rows = {name: _row(name, choice, plan, engine) for name, choice in choices.items()}
    range_only = plan.campaign.error_of_the_middle()
    return {
        **_advice(choices, rows, range_only, plan, engine),
        "error_wanted": plan.error,
        "claims_per_object": plan.campaign.claims_per_object,
        "extrapolated": plan.campaign.claims_per_object > MOST_CLAIMS,
        "spread": plan.width,
        "without_noise": plan.campaign.errors_without_noise(engine=engine),
        "range_only": {"error": range_only},
        "mechanisms": list(rows.values()),
        "one_claim_each": _one_claim_each(plan, engine),
        "theory": plan.theory.to_dict(plan.epsilon, plan.delta) if plan.delta else None,
    }


# --- parameters ---------------------------------------------------------------------------------------------


def _choices(plan: SensingPlan) -> dict[str, Mechanism | str]:
    """Each mechanism with parameters for this plan, or the reason why there is none."""
    choices: dict[str, Mechanism | str] = {}
    for name, candidate in CANDIDATES.items():
        try:
            choices[name] = candidate.choose(plan)
        except ParameterError as refusal:
            choices[name] = str(refusal)
    return choices


@lru_cache(maxsize=8)
def _laplace(plan: SensingPlan) -> Laplace:
    """Laplace noise with the largest epsilon per claim at which the protected unit meets the plan."""
    if plan.protected == 1:
        return Laplace(plan.epsilon, plan.range)

    def meets(epsilon: float) -> bool:
        together = Laplace(epsilon, plan.range).promise("user", plan.claims, delta=plan.delta)
        return together.epsilon <= plan.epsilon

    low, high = (
        _digits_down(plan.epsilon / plan.claims),
        plan.epsilon,
    )  # `low` meets the plan, `high` does not
    while high > 1.005 * low and plan.delta:
        middle = sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return Laplace(_digits_down(low), plan.range)


def _shared_variance(plan: SensingPlan) -> VariancePerUser:
    """The paper's mechanism with as much noise as `_laplace`: the same rate, one variance per user."""
    rate = 0.5 * (_laplace(plan).epsilon / plan.range.length) ** 2
    return VariancePerUser(_digits_down(rate), plan.range, delta=plan.delta or DEFAULT_DELTA)


@lru_cache(maxsize=8)
def _floored_variance(plan: SensingPlan) -> VariancePerUser:
    """The smallest floor that meets the plan, with a negligible exponential part above it."""
    if not plan.delta:
        raise ParameterError("needs a delta above 0")

    def floored(variance: float) -> VariancePerUser:
        rate = _digits_down(1 / (EXTRA * variance))
        return VariancePerUser(rate, plan.range, floor=variance, delta=plan.delta)

    def meets(variance: float) -> bool:
        return floored(variance).delta_at(plan.epsilon, plan.protected) <= plan.delta

    low = high = plan.protected * plan.range.length**2 / (2 * plan.epsilon + plan.epsilon**2)
    least = _laplace(plan).grid.step ** 2  # floors are rounded up to multiples of the squared step
    while not meets(high):
        low, high = high, 4 * high
    while low > least and meets(low):
        low, high = low / 4, low
    while high > 1.002 * low:
        middle = sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return floored(-_digits_down(-high))


def _digits_down(number: float) -> float:
    """A number rounded down to three digits."""
    unit = 10.0 ** (floor(log10(abs(number))) - 2)
    rounded = float(f"{number:.3g}")
    return rounded if rounded <= number else float(f"{number - unit:.3g}")


# --- a row for each mechanism -------------------------------------------------------------------------------


def _row(name: str, choice: Mechanism | str, plan: SensingPlan, engine: LocalEngine) -> dict[str, Any]:
    if isinstance(choice, str):
        empty = ("parameters", "average_noise", "noise_ratio", "claim", "user", "errors", "command")
        return {"mechanism": name, "possible": False, "why": choice, "meets": False, **dict.fromkeys(empty)}
    candidate = CANDIDATES[name]
    claim, user = choice.promise(), candidate.user_promise(choice, plan)
    requested = user if plan.unit == "user" else claim
    most = nextafter(plan.epsilon, inf)  # the float 0.3, say, is slightly below three tenths
    return {
        "mechanism": name,
        "possible": True,
        "why": None,
        "meets": isinstance(requested, Guarantee)
        and requested.epsilon <= most
        and requested.delta <= plan.delta,
        "parameters": candidate.parameters(choice, plan),
        "average_noise": choice.average_noise,
        "noise_ratio": choice.noise_variance / plan.width**2,
        "claim": claim.to_dict(),
        "user": user.to_dict(),
        "errors": plan.campaign.errors(choice, engine=engine),
        "command": _command(name, choice),
    }


@dataclass(frozen=True)
class Candidate:
    """One way to perturb claims on devices, as a plan looks at it.

    Parameters
    ----------
    choose:
        The mechanism with the parameters that a plan needs.
    user_promise:
        What it promises to a user with all claims of the plan.
    parameters:
        What devices and readers of the plan need to know.
    options:
        The options of `crowdveil perturb` for it.

    """

    choose: Callable[[SensingPlan], Any]
    user_promise: Callable[[Any, SensingPlan], Promise]
    parameters: Callable[[Any, SensingPlan], dict[str, float]]
    options: Callable[[Any], list[str]]


def _laplace_parameters(mechanism: Laplace, _: SensingPlan) -> dict[str, float]:
    """Epsilon, the scale of the noise and the rate of variances (lambda2) that gives the same noise."""
    scale = mechanism.average_noise
    return {"epsilon": mechanism.epsilon, "scale": scale, "lambda2": 0.5 / scale**2}


def _shared_parameters(mechanism: VariancePerUser, plan: SensingPlan) -> dict[str, float]:
    """The rate of variances, and the delta at the epsilon of the plan."""
    delta = max(LEAST_DELTA, mechanism.delta_at(plan.epsilon, plan.protected))
    return {"lambda2": mechanism.rate, "delta_at_the_epsilon_wished": delta}


def _floored_parameters(mechanism: VariancePerUser, _: SensingPlan) -> dict[str, float]:
    """The rate of variances, their floor, and the delta of the guarantee."""
    return {"lambda2": mechanism.rate, "floor": mechanism.floor, "delta": mechanism.delta}


def _shared_options(mechanism: VariancePerUser) -> list[str]:
    return [f"--mechanism gaussian-exponential --variance-per-user --lambda2 {_exact(mechanism.rate)}"]


def _floored_options(mechanism: VariancePerUser) -> list[str]:
    options = [*_shared_options(mechanism), f"--floor {_exact(mechanism.floor)}"]
    return options if mechanism.delta == DEFAULT_DELTA else [*options, f"--delta {_exact(mechanism.delta)}"]


CANDIDATES = {
    "laplace": Candidate(
        _laplace,
        lambda mechanism, plan: mechanism.promise("user", plan.claims, delta=plan.delta),
        _laplace_parameters,
        lambda mechanism: [f"--mechanism laplace --epsilon {_exact(mechanism.epsilon)}"],
    ),
    "variance-per-user": Candidate(
        _shared_variance,
        lambda mechanism, plan: mechanism.promise("user", plan.claims),
        _shared_parameters,
        _shared_options,
    ),
    "variance-per-user-floor": Candidate(
        _floored_variance,
        lambda mechanism, plan: mechanism.promise("user", plan.claims),
        _floored_parameters,
        _floored_options,
    ),
}


def _command(name: str, mechanism: Mechanism) -> str:
    """The command for this mechanism, with all digits: with fewer, the guarantee could be weaker."""
    low, high = _exact(mechanism.range.low), _exact(mechanism.range.high)
    options = CANDIDATES[name].options(mechanism)
    return " ".join(["crowdveil perturb claims.csv -o noisy.parquet", *options, f"--range {low}:{high}"])


def _exact(value: float) -> str:
    return str(value).removesuffix(".0")


# --- advice -------------------------------------------------------------------------------------------------


def _advice(
    choices: dict[str, Mechanism | str],
    rows: dict[str, dict[str, Any]],
    range_only: float,
    plan: SensingPlan,
    engine: LocalEngine,
) -> dict[str, Any]:
    """The mechanism with the smallest error among those that meet the plan, and the claims that it needs.

    No mechanism is recommended if the middle of the range is nearly as good.
    """
    names = ("method", "error", "command", "then", "reached", "claims_per_object_needed", "people_needed")
    advice: dict[str, Any] = {"advice": "none", **dict.fromkeys(names)}
    suitable = {
        name: choice
        for name, choice in choices.items()
        if rows[name]["meets"] and not isinstance(choice, str)
    }
    if not suitable:
        return advice
    best = min(suitable, key=lambda name: _least(rows[name]["errors"])[1])
    method, error = _least(rows[best]["errors"])
    worth = WORTHLESS * range_only
    if error < worth:
        then = "crowdveil discover noisy.parquet -o truths.csv"
        then += "" if method == METHODS[0] else f" --method {method}"  # the first is the default
        advice |= {"advice": best, "method": method, "error": error}
        advice |= {"command": rows[best]["command"], "then": then}
    if plan.error is not None:
        advice["reached"] = error <= plan.error
    target = worth if plan.error is None else min(worth, plan.error)
    if error > target:
        advice |= _needed(suitable[best], method, rows[best]["errors"], target, plan, engine)
    return advice


def _least(errors: Errors) -> tuple[str, float]:
    """The method of truth discovery with the smallest error, and that error."""
    return min(((name, figures["error"]) for name, figures in errors.items()), key=lambda pair: pair[1])


def _needed(
    mechanism: Mechanism, method: str, errors: Errors, wanted: float, plan: SensingPlan, engine: LocalEngine
) -> dict[str, int | None]:
    """About how many claims per object, and so people, reach the error `wanted`; None if no number does.

    Errors decrease at most like one over the square root of claims, so the search approaches the number from
    below. Under strong noise they hardly decrease at first; the mean's error bounds how far off the target is
    (no method is three times as good). The bias by clamping remains.
    """
    claims, claims_per_person = plan.campaign.claims_per_object, plan.claims / plan.objects
    rounds = ROUNDS if plan.campaign.lasting < wanted else 0
    for _ in range(rounds):
        ratio = max(errors[method]["error"], errors["mean"]["error"] / 3) / wanted
        claims *= ratio**2
        errors = replace(plan.campaign, users=ceil(claims / claims_per_person)).errors(
            mechanism, engine=engine
        )
        if errors[method]["error"] <= 1.05 * wanted:
            rounded = _two_digits_up(claims)
            return {"claims_per_object_needed": rounded, "people_needed": ceil(rounded / claims_per_person)}
    return {"claims_per_object_needed": None, "people_needed": None}


def _two_digits_up(number: float) -> int:
    unit = int(10 ** max(0, floor(log10(number)) - 1))
    return ceil(number / unit) * unit


def _one_claim_each(plan: SensingPlan, engine: LocalEngine) -> dict[str, Any] | None:
    """Expected error if each user makes one claim only, with the full epsilon for it.

    Fewer claims with far less noise are often better. None unless users with several claims are protected.
    """
    if plan.protected == 1 or plan.users < plan.objects:
        return None
    single = replace(plan, claims_per_user=1)
    mechanism = _laplace(single)
    method, error = _least(single.campaign.errors(mechanism, engine=engine))
    return {"method": method, "error": error, "command": _command("laplace", mechanism)}
