"""What `crowdveil release` can be asked for: its choices, and the parameters that go with each method."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crowdveil.cli.options import parse_range
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.releases.attempts import Attempts
    from crowdveil.releases.basic import Basic
    from crowdveil.releases.certified import Certified
    from crowdveil.releases.priscrowd import PrisCrowd
    from crowdveil.releases.smoothed import Smoothed

    Parameters = Attempts | Basic | Certified | PrisCrowd | Smoothed


class Method(StrEnum):
    """How claims are released."""

    certified = "certified"
    smoothed = "smoothed"
    attempts = "attempts"
    priscrowd = "priscrowd"
    uniform = "uniform"
    basic = "basic"


class Unit(StrEnum):
    """Who is protected."""

    claim = "claim"
    user = "user"


class Adjacency(StrEnum):
    """What may differ between two worlds that must look alike."""

    replace_one = "replace-one"
    add_remove = "add-remove"


class Estimator(StrEnum):
    """What a certified release makes of its noisy histograms."""

    bayes = "bayes"
    histogram = "histogram"


class Loss(StrEnum):
    """How a user's distances are put together."""

    mean = "mean"
    sum = "sum"


class Normaliser(StrEnum):
    """What users' losses are divided by."""

    sum = "sum"
    max = "max"


_TESTED = ("per_object", "k", "gamma", "epsilon0", "require_k")
_TAKES = {
    Method.certified: (
        *("epsilon", "delta", "unit", "cap", "adjacency", "per_object"),
        *("pooled", "objects", "estimator", "background", "reliability"),
    ),
    Method.smoothed: ("bandwidth", "delta", "lam", "per_object"),
    Method.attempts: ("bandwidth", "delta", "attempts", "eta", "k", "gamma", "epsilon0"),
    Method.priscrowd: (*_TESTED, "loss", "normaliser"),
    Method.uniform: _TESTED,
    Method.basic: ("epsilon",),
}


def parameters_for(
    method: Method | None, given: dict[str, Any], range_text: str | None, resolution: float | None
) -> Parameters:
    """The parameters that the options ask for; options of other methods are refused."""
    from crowdveil.releases.attempts import Attempts
    from crowdveil.releases.basic import Basic
    from crowdveil.releases.certified import Certified
    from crowdveil.releases.deniability import PrivacyTest
    from crowdveil.releases.priscrowd import PrisCrowd
    from crowdveil.releases.smoothed import Smoothed

    public_range = parse_range(range_text)
    if method is None and "epsilon" not in given:
        raise ParameterError(
            "choose what is promised: --epsilon E (differential privacy), "
            "or --method priscrowd (no differential privacy guarantee)"
        )
    method = method or Method.certified
    for name in given:
        if name not in _TAKES[method]:
            raise ParameterError(f"--{name.replace('_', '-')} does not apply to --method {method}")
    if method in (Method.certified, Method.basic):
        if public_range is None or "epsilon" not in given:
            raise ParameterError(f"--method {method} needs --epsilon E and --range LOW:HIGH")
        make: Any = Certified if method is Method.certified else Basic
        return make(range=public_range, resolution=resolution, **given)  # type: ignore[no-any-return]
    if method in (Method.smoothed, Method.attempts):
        if public_range is None or "bandwidth" not in given:
            raise ParameterError(f"--method {method} needs --bandwidth H and --range LOW:HIGH")
        make = Smoothed if method is Method.smoothed else Attempts
        return make(range=public_range, resolution=resolution, **given)  # type: ignore[no-any-return]
    test = {name: given[name] for name in ("k", "gamma", "epsilon0", "require_k") if name in given}
    rest = {name: given[name] for name in ("per_object", "loss", "normaliser") if name in given}
    weighting: Any = "reliability" if method is Method.priscrowd else "uniform"
    return PrisCrowd(
        test=PrivacyTest(**test), range=public_range, resolution=resolution, weighting=weighting, **rest
    )
