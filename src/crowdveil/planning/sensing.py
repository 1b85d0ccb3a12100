"""Before anybody is asked anything: which noise a sensing campaign needs, and what its truths will be worth.

A wish (people, range, epsilon, perhaps an error) becomes the parameters of each mechanism that runs on
people's devices. Claims are simulated as expected, perturbed with these very mechanisms and combined by truth
discovery. Nothing is charged, because nothing private is looked at.

Of all laws floor + Exp(rate) of a user's variance that meet an epsilon and delta, the constant one (hardly
any exponential part) is the best, for the mean variance as for the information that ideal weights could draw
from the claims: at epsilon 1 and delta 1e-6 an exponential part of a fifth of the floor costs 8 % in variance
and 5 % of the information, one as large as the floor 57 % and 24 %. So it is kept at a hundredth, which costs
0.1 % at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, inf, log10, nextafter, pi, sqrt
from typing import Any

from scipy.special import erfcx

from crowdveil.accounting.parameters import check_whole
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Promise, Unit
from crowdveil.local import Laplace, VariancePerUser
from crowdveil.local.gaussian_exponential import LEAST_DELTA, SMALLEST_DELTA
from crowdveil.planning.expected_sensing import METHODS, MOST_CLAIMS, Errors, ExpectedSensing, Mechanism
from crowdveil.planning.releases import LARGEST_DELTA, WORTHLESS
from crowdveil.planning.sensing_theory import TradeOff
from crowdveil.public_range import Range

MOST_OF_A_USER = 10_000  # accounting for more takes minutes
EXTRA = 0.01  # the exponential part of a floored variance, in floors
DEFAULT_DELTA = 1e-6
LARGEST_EPSILON = 1000.0
TINY = 1e-6  # smallest spread and error that a plan is made for, in ranges
ROUNDS = 10  # of asking how many people are needed


@dataclass(frozen=True)
class SensingPlan:
    """What the operator expects, and what she wishes."""

    users: int
    range: Range
    epsilon: float
    objects: int = 30
    claims_per_user: int | None = None  # default: one about each object
    spread: float | None = None  # of users' errors; default a tenth of the range
    delta: float = DEFAULT_DELTA  # 0: no mechanism that needs one
    unit: Unit = "claim"
    error: float | None = None  # that is wanted

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
        Laplace(self.epsilon, self.range)  # both refuse what cannot be computed with
        self.theory.privacy(self.epsilon, self.delta or LARGEST_DELTA)

    @property
    def claims(self) -> int:
        """Claims of a user."""
        return self.objects if self.claims_per_user is None else self.claims_per_user

    @property
    def width(self) -> float:
        """The expected spread of errors: the root of the users' mean error variance."""
        return self.range.length / 10 if self.spread is None else self.spread

    @property
    def protected(self) -> int:
        """How many claims are protected together."""
        return self.claims if self.unit == "user" else 1

    @property
    def campaign(self) -> ExpectedSensing:
        """What is expected, without what is wished."""
        return ExpectedSensing(self.users, self.objects, self.claims, self.range, self.width)

    @property
    def theory(self) -> TradeOff:
        """The campaign as the paper's theory sees it; alpha is the error wanted or else the spread."""
        alpha = self.width if self.error is None else self.error
        users = max(1, round(self.campaign.claims_per_object))
        return TradeOff(users, self.claims, self.range.length, self.width**-2, alpha)


def plan_sensing(wish: SensingPlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Parameters, promises and expected errors of every mechanism, and which one to use."""
    engine = engine or LocalEngine()
    found = _choices(wish)
    rows = {name: _row(name, made, wish, engine) for name, made in found.items()}
    range_only = wish.campaign.error_of_the_middle()
    return {
        **_advice(found, rows, range_only, wish, engine),
        "error_wanted": wish.error,
        "claims_per_object": wish.campaign.claims_per_object,
        "extrapolated": wish.campaign.claims_per_object > MOST_CLAIMS,
        "spread": wish.width,
        "without_noise": wish.campaign.errors_without_noise(engine=engine),
        "range_only": {"error": range_only},
        "mechanisms": list(rows.values()),
        "one_claim_each": _one_claim_each(wish, engine),
        "theory": wish.theory.to_dict(wish.epsilon, wish.delta) if wish.delta else None,
    }


# --- parameters ---------------------------------------------------------------------------------------------


def _choices(wish: SensingPlan) -> dict[str, Mechanism | str]:
    """Each mechanism for this wish, or why there is none."""
    found: dict[str, Mechanism | str] = {}
    for name, choose in (
        ("laplace", _laplace),
        ("variance-per-user", _shared_variance),
        ("variance-per-user-floor", _floored_variance),
    ):
        try:
            found[name] = choose(wish)
        except ParameterError as refusal:
            found[name] = str(refusal)
    return found


@lru_cache(maxsize=8)
def _laplace(wish: SensingPlan) -> Laplace:
    """Laplace noise; for users with the largest epsilon of a claim at which all of theirs meet the wish."""
    if wish.protected == 1:
        return Laplace(wish.epsilon, wish.range)

    def meets(epsilon: float) -> bool:
        whole = Laplace(epsilon, wish.range).promise("user", wish.claims, delta=wish.delta)
        return whole.epsilon <= wish.epsilon

    low, high = _digits_down(wish.epsilon / wish.claims), wish.epsilon  # the sum meets it, one claim does not
    while high > 1.005 * low and wish.delta:
        middle = sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return Laplace(_digits_down(low), wish.range)


def _shared_variance(wish: SensingPlan) -> VariancePerUser:
    """The paper's mechanism at the noise of the Laplace one: the same rate, drawn once for a user."""
    rate = 0.5 * (_laplace(wish).epsilon / wish.range.length) ** 2
    return VariancePerUser(_digits_down(rate), wish.range, delta=wish.delta or DEFAULT_DELTA)


@lru_cache(maxsize=8)
def _floored_variance(wish: SensingPlan) -> VariancePerUser:
    """The smallest floor that meets the wish, with hardly any exponential part above it."""
    if not wish.delta:
        raise ParameterError("needs a delta above 0")

    def floored(variance: float) -> VariancePerUser:
        rate = _digits_down(1 / (EXTRA * variance))
        return VariancePerUser(rate, wish.range, floor=variance, delta=wish.delta)

    def meets(variance: float) -> bool:
        return floored(variance).delta_at(wish.epsilon, wish.protected) <= wish.delta

    low = high = wish.protected * wish.range.length**2 / (2 * wish.epsilon + wish.epsilon**2)
    least = _laplace(wish).grid.step ** 2  # a floor is rounded up to squared steps
    while not meets(high):
        low, high = high, 4 * high
    while low > least and meets(low):
        low, high = low / 4, low
    while high > 1.002 * low:
        middle = sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return floored(-_digits_down(-high))


def _digits_down(number: float) -> float:
    """A number in three digits, never above itself."""
    unit = 10.0 ** (floor(log10(abs(number))) - 2)
    short = float(f"{number:.3g}")
    return short if short <= number else float(f"{number - unit:.3g}")


# --- a row for each mechanism -------------------------------------------------------------------------------


def _row(name: str, made: Mechanism | str, wish: SensingPlan, engine: LocalEngine) -> dict[str, Any]:
    if isinstance(made, str):
        empty = ("parameters", "average_noise", "noise_ratio", "claim", "user", "errors", "command")
        return {"mechanism": name, "possible": False, "why": made, "meets": False, **dict.fromkeys(empty)}
    claim, user = _promises(made, wish)
    asked = user if wish.unit == "user" else claim
    most = nextafter(wish.epsilon, inf)  # 0.3 is a little less than the three tenths that it means
    return {
        "mechanism": name,
        "possible": True,
        "why": None,
        "meets": isinstance(asked, Guarantee) and asked.epsilon <= most and asked.delta <= wish.delta,
        "parameters": _parameters(made, wish),
        "average_noise": _average_noise(made),
        "noise_ratio": made.noise_variance / wish.width**2,
        "claim": claim.to_dict(),
        "user": user.to_dict(),
        "errors": wish.campaign.errors(made, engine=engine),
        "command": _command(made),
    }


def _promises(made: Mechanism, wish: SensingPlan) -> tuple[Promise, Promise]:
    """What is promised about a claim, and to a user about all of them."""
    if isinstance(made, Laplace):
        return made.promise(), made.promise("user", wish.claims, delta=wish.delta)
    return made.promise(), made.promise("user", wish.claims)


def _parameters(made: Mechanism, wish: SensingPlan) -> dict[str, float]:
    """The numbers to hand to devices: lambda2 is the rate of variances, the scale that of Laplace noise."""
    if isinstance(made, Laplace):
        scale = _average_noise(made)
        return {"epsilon": made.epsilon, "scale": scale, "lambda2": 0.5 / scale**2}
    if made.floor:
        return {"lambda2": made.rate, "floor": made.floor, "delta": made.delta}
    delta = max(LEAST_DELTA, made.delta_at(wish.epsilon, wish.protected))
    return {"lambda2": made.rate, "delta_at_the_epsilon_wished": delta}


def _average_noise(made: Mechanism) -> float:
    """The mean absolute noise of a claim: sqrt(2/pi) times the mean deviation, for Laplace its scale."""
    if isinstance(made, Laplace):
        return float(made.scale) * made.grid.step
    beyond = 0.5 * sqrt(pi / made.rate) * float(erfcx(sqrt(made.rate * made.floor)))
    return sqrt(2 / pi) * (sqrt(made.floor) + beyond)


def _command(made: Mechanism) -> str:
    """The command that perturbs claims like this; all digits, as fewer could promise less."""
    low, high = _exact(made.range.low), _exact(made.range.high)
    words = ["crowdveil perturb claims.csv -o noisy.parquet"]
    if isinstance(made, Laplace):
        words.append(f"--mechanism laplace --epsilon {_exact(made.epsilon)}")
    else:
        words.append(f"--mechanism gaussian-exponential --variance-per-user --lambda2 {_exact(made.rate)}")
        if made.floor:
            words.append(f"--floor {_exact(made.floor)}")
            words += [f"--delta {_exact(made.delta)}"] if made.delta != DEFAULT_DELTA else []
    return " ".join([*words, f"--range {low}:{high}"])


def _exact(value: float) -> str:
    return str(value).removesuffix(".0")


# --- advice -------------------------------------------------------------------------------------------------


def _advice(
    found: dict[str, Mechanism | str],
    rows: dict[str, dict[str, Any]],
    range_only: float,
    wish: SensingPlan,
    engine: LocalEngine,
) -> dict[str, Any]:
    """The mechanism with the smallest error of those that keep the promise, and how many claims it takes.

    None is advised where the middle of the range would be hardly worse.
    """
    names = ("method", "error", "command", "then", "reached", "claims_per_object_needed", "people_needed")
    told: dict[str, Any] = {"advice": "none", **dict.fromkeys(names)}
    made = {name: one for name, one in found.items() if rows[name]["meets"] and not isinstance(one, str)}
    if not made:
        return told
    best = min(made, key=lambda name: _least(rows[name]["errors"])[1])
    method, error = _least(rows[best]["errors"])
    worth = WORTHLESS * range_only
    if error < worth:
        then = "crowdveil discover noisy.parquet -o truths.csv"
        then += "" if method == METHODS[0] else f" --method {method}"  # the first is the default
        told |= {"advice": best, "method": method, "error": error}
        told |= {"command": rows[best]["command"], "then": then}
    if wish.error is not None:
        told["reached"] = error <= wish.error
    target = worth if wish.error is None else min(worth, wish.error)
    if error > target:
        told |= _needed(made[best], method, rows[best]["errors"], target, wish, engine)
    return told


def _least(errors: Errors) -> tuple[str, float]:
    """The method with the smallest error, and that error."""
    return min(((name, told["error"]) for name, told in errors.items()), key=lambda pair: pair[1])


def _needed(
    made: Mechanism, method: str, errors: Errors, wanted: float, wish: SensingPlan, engine: LocalEngine
) -> dict[str, int | None]:
    """About how many claims an object needs for that error, and so how many people; None if no number helps.

    Errors fall no faster than one over the square root of claims, so that the number is approached from
    below. Where there is little but noise they hardly fall; the mean's say how far off that is (no method is
    three times as good). What clamping does to them stays.
    """
    claims, each = wish.campaign.claims_per_object, wish.claims / wish.objects
    rounds = ROUNDS if wish.campaign.lasting < wanted else 0
    for _ in range(rounds):
        behind = max(errors[method]["error"], errors["mean"]["error"] / 3) / wanted
        claims *= behind**2
        errors = replace(wish.campaign, users=ceil(claims / each)).errors(made, engine=engine)
        if errors[method]["error"] <= 1.05 * wanted:
            about = _two_digits_up(claims)
            return {"claims_per_object_needed": about, "people_needed": ceil(about / each)}
    return {"claims_per_object_needed": None, "people_needed": None}


def _two_digits_up(number: float) -> int:
    unit = int(10 ** max(0, floor(log10(number)) - 1))
    return ceil(number / unit) * unit


def _one_claim_each(wish: SensingPlan, engine: LocalEngine) -> dict[str, Any] | None:
    """What to expect of users who make one claim only, with all of their epsilon for it.

    Fewer claims with far less noise often tell more. Only where users are protected and have several claims.
    """
    if wish.protected == 1 or wish.users < wish.objects:
        return None
    single = replace(wish, claims_per_user=1)
    made = _laplace(single)
    method, error = _least(single.campaign.errors(made, engine=engine))
    return {"method": method, "error": error, "command": _command(made)}
