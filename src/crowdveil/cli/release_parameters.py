"""What `crowdveil release` can be asked for: its choices, and the parameters that go with each method."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crowdveil.errors import ParameterError
from crowdveil.releases.registry import RELEASES

if TYPE_CHECKING:
    from crowdveil.releases.method import ReleaseMethod

DEFAULT = "certified"
_SHOWN = {"epsilon": "--epsilon E", "bandwidth": "--bandwidth H", "range": "--range LOW:HIGH"}


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


def parameters_for(method: str | None, options: dict[str, Any]) -> ReleaseMethod:
    """The parameters that the given options ask for; options of other methods are refused."""
    if method is None and "epsilon" not in options:
        raise ParameterError(
            "choose what is promised: --epsilon E (differential privacy), "
            "or --method priscrowd (no differential privacy guarantee)"
        )
    name = method or DEFAULT
    parameters = RELEASES[name]
    for option in options:
        if option not in parameters.options():
            raise ParameterError(f"--{option.replace('_', '-')} does not apply to --method {name}")
    if set(parameters.required()) - options.keys():
        needed = " and ".join(text for option, text in _SHOWN.items() if option in parameters.required())
        raise ParameterError(f"--method {name} needs {needed}")
    return parameters(**options)
