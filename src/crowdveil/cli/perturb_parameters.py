"""From what `crowdveil perturb` was asked for to a mechanism; what does not go together is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.answers import Domain
    from crowdveil.local.described import Description
    from crowdveil.public_range import Range


class Noise(StrEnum):
    """Names of mechanisms."""

    laplace = "laplace"
    gaussian_exponential = "gaussian-exponential"
    auto = "auto"
    rr = "rr"
    three_symbols = "three-symbols"
    lp = "lp"
    two_layer = "two-layer"
    mf = "mf"
    mf_sound = "mf-sound"
    slots = "slots"


_FOR_CELLS = ("objects", "users")
TAKES: dict[Noise, tuple[str, ...]] = {
    Noise.laplace: ("resolution",),
    Noise.gaussian_exponential: ("resolution", "lambda2", "variance_per_user", "floor", "delta"),
    Noise.auto: (*_FOR_CELLS, "sparsity"),
    Noise.rr: _FOR_CELLS,
    Noise.three_symbols: _FOR_CELLS,
    Noise.lp: (*_FOR_CELLS, "null"),
    Noise.two_layer: _FOR_CELLS,
    Noise.mf: (*_FOR_CELLS, "dimensions", "ridge"),
    Noise.mf_sound: (*_FOR_CELLS, "dimensions", "ridge"),
    Noise.slots: (*_FOR_CELLS, "sparsity"),
}
"""The options that each mechanism takes besides epsilon and the range."""


def of_cells(mechanism: Noise) -> bool:
    """Whether it reports about every cell: answers on a scale, or none."""
    return "objects" in TAKES[mechanism]


def check_options(mechanism: Noise, given: dict[str, Any]) -> None:
    """Refuse options that belong to another mechanism, and a mechanism without its strength."""
    for name, value in given.items():
        if value is not None and value is not False and name not in TAKES[mechanism]:
            takers = " and ".join(other for other in Noise if name in TAKES[other])
            if name in _FOR_CELLS:
                takers = "mechanisms that report about every cell"
            raise ParameterError(f"--{name.replace('_', '-')} goes with --mechanism {takers}")


def of_claims(mechanism: Noise, epsilon: float | None, limits: Range, given: dict[str, Any]) -> Description:
    """Noise on each claim that was made."""
    from crowdveil.local.described import Description

    public: dict[str, Any] = {"range": [limits.low, limits.high]}
    if given["resolution"] is not None:
        public["resolution"] = given["resolution"]
    if mechanism is Noise.laplace:
        return Description("laplace", {"epsilon": strength(epsilon), **public})
    lambda2, per_user = given["lambda2"], given["variance_per_user"]
    if (epsilon is None) == (lambda2 is None) or (per_user and lambda2 is None):
        raise ParameterError(
            "--variance-per-user needs --lambda2 (crowdveil plan sensing finds it)"
            if per_user
            else "--mechanism gaussian-exponential takes either --epsilon or --lambda2"
        )
    rest = {name: given[name] for name in ("floor", "delta") if given[name] is not None}
    if not per_user:
        if rest:
            raise ParameterError("--floor and --delta go with --variance-per-user")
        rate = {"rate": lambda2} if epsilon is None else {"epsilon": epsilon}
        return Description("gaussian-exponential", {**rate, **public})
    if "delta" in rest and "floor" not in rest:
        raise ParameterError("--delta goes with --floor: without one the promise is told at epsilon = 1")
    return Description("gaussian-exponential-per-user", {"rate": lambda2, **public, **rest})


def for_cells(
    mechanism: Noise,
    epsilon: float | None,
    domain: Domain,
    given: dict[str, Any],
    *,
    users: int,
    objects: int,
) -> Description:
    """Reports about every cell; auto and slots choose what is best for so many users and objects."""
    from crowdveil.local.described import Description

    public: dict[str, Any] = {"epsilon": strength(epsilon), "range": [domain.low, domain.high]}
    rest = {name: given[name] for name in ("null", "dimensions", "ridge") if given[name] is not None}
    match mechanism:
        case Noise.rr:
            return Description("cell-response", {**public, "levels": domain.size})
        case Noise.three_symbols:
            return Description("cell-response", {**public, "levels": 2})
        case Noise.auto:
            from crowdveil.local.recommended import recommended_levels

            levels = recommended_levels(public["epsilon"], domain, _sparsity(given))
            return Description("cell-response", {**public, "levels": levels})
        case Noise.slots:
            from crowdveil.local.recommended_slots import recommended_slots

            best = recommended_slots(public["epsilon"], domain, users, objects, _sparsity(given))
            chosen = {name: getattr(best, name) for name in ("slots", "listed", "levels", "unnamed")}
            return Description("slots", public | {k: v for k, v in chosen.items() if v is not None})
        case Noise.two_layer:  # own epsilons reach twice their mean, and that is what can be promised
            return Description("two-layer", {"mean": public.pop("epsilon") / 2, **public})
        case _:
            return Description(str(mechanism), {**public, **rest})


def whole_domain(limits: Range) -> Domain:
    """LOW:HIGH as the whole numbers between."""
    from crowdveil.answers import Domain

    if not (limits.low.is_integer() and limits.high.is_integer()):
        raise ParameterError("answers lie on a scale of whole numbers: --range takes LOW:HIGH, like 0:4")
    return Domain(int(limits.low), int(limits.high))


def strength(epsilon: float | None) -> float:
    """Epsilon, which must be given."""
    if epsilon is None:
        raise ParameterError("how strong? Add --epsilon E")
    return epsilon


def _sparsity(given: dict[str, Any]) -> float:
    if given["sparsity"] is None:
        raise ParameterError(
            "how many answers do you expect? Add --sparsity S, the share of cells without one, as you know "
            "it beforehand and not from these data"
        )
    return float(given["sparsity"])
