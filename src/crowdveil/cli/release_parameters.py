"""From the options of `crowdveil release` to the parameters of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdveil.errors import ParameterError
from crowdveil.releases.registry import RELEASES

if TYPE_CHECKING:
    from crowdveil.releases.method import ReleaseMethod

DEFAULT = "certified"
_SHOWN = {"epsilon": "--epsilon E", "bandwidth": "--bandwidth H", "range": "--range LOW:HIGH"}


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
