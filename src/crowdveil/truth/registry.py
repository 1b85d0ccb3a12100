"""The truth methods: one line for each, with what it takes and where it is defined.

A new method is one new file and one new line of `METHODS`. Commands list their choices from here, and nothing
is imported until a method is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from crowdveil.errors import ParameterError
from crowdveil.registry import Registry, UnknownName

if TYPE_CHECKING:
    from crowdveil.claims import Claims
    from crowdveil.engines import Engine
    from crowdveil.labels import Labels
    from crowdveil.noise_law import NoiseLaw
    from crowdveil.truths import Truths, Voted

Discover = Callable[..., "Truths"]


class Input(StrEnum):
    """What truths can be inferred from. A method that takes plain claims takes noisy ones as plain, too."""

    CLAIMS = "numeric claims"
    NOISY_CLAIMS = "noisy claims as perturb writes them"
    LABELS = "labels (--labels)"
    CELL_REPORTS = "reports about every cell as perturb writes them"


METHODS: Mapping[str, Mapping[Input, str]] = {
    "noise-aware": {Input.NOISY_CLAIMS: "crowdveil.truth.noise_aware:discover"},
    "gtm": {Input.CLAIMS: "crowdveil.truth.gtm:discover"},
    "crh": {Input.CLAIMS: "crowdveil.truth.crh:discover", Input.LABELS: "crowdveil.truth.one_coin:weighted"},
    "catd": {Input.CLAIMS: "crowdveil.truth.catd:discover"},
    "inverse-deviation": {
        Input.CLAIMS: "crowdveil.truth.deviation:discover",
        Input.CELL_REPORTS: "crowdveil.local.inverse_deviation:on_symbols",
    },
    "mean": {Input.CLAIMS: "crowdveil.truth.mean:discover"},
    "median": {Input.CLAIMS: "crowdveil.truth.median:discover"},
    "one-coin": {Input.LABELS: "crowdveil.truth.one_coin:one_coin"},
    "majority": {Input.LABELS: "crowdveil.truth.one_coin:majority"},
    "randomized": {Input.CELL_REPORTS: "crowdveil.truth.randomized:discover"},
}
"""For each method its functions by what they take: `function(input, engine=...)`, or `function(claims, law,
engine=...)` for noisy claims."""

DEFAULTS: Mapping[Input, str] = {
    Input.CLAIMS: "gtm",
    Input.NOISY_CLAIMS: "noise-aware",
    Input.LABELS: "one-coin",
    Input.CELL_REPORTS: "randomized",
}


def methods_for(kind: Input) -> Registry[Callable[..., Any]]:
    """The methods that take this kind of input, the default one first."""
    names = [DEFAULTS[kind], *(name for name in METHODS if name != DEFAULTS[kind])]
    homes = {name: METHODS[name][kind] for name in names if kind in METHODS[name]}
    return Registry(f"truth method for {kind}", homes)


def method_for(kind: Input, name: str | None) -> Callable[..., Any]:
    """The function by which the named method, or the default one, takes this kind of input."""
    methods = methods_for(kind)
    name = name or DEFAULTS[kind]
    if name not in METHODS:
        raise UnknownName(f"there is no truth method {name!r}; there are {', '.join(METHODS)}")
    if name not in methods:
        raise ParameterError(
            f"the method {name} is for {' or '.join(METHODS[name])}; {kind} take {', '.join(methods)}"
        )
    return methods[name]


def discover(
    claims: Claims,
    method: str | None = None,
    *,
    law: NoiseLaw | None = None,
    engine: Engine | None = None,
) -> Truths:
    """Truths from numeric claims; if the law of their noise is known, the default method makes use of it.

    Parameters
    ----------
    claims:
        The claims, plain or noisy.
    method:
        A name in `METHODS`.
    law:
        The law of the noise in the claims, if there is noise.
    engine:
        Runs the loops.

    >>> from crowdveil import Claims
    >>> claims = Claims.from_columns(["a", "a", "a"], ["u", "v", "w"], [1.0, 2.0, 9.0])
    >>> discover(claims, "median").estimates.tolist()
    [2.0]

    """
    if law is not None and (method is None or Input.NOISY_CLAIMS in METHODS.get(method, ())):
        return cast("Truths", method_for(Input.NOISY_CLAIMS, method)(claims, law, engine=engine))
    return cast("Truths", method_for(Input.CLAIMS, method)(claims, engine=engine))


def vote(labels: Labels, method: str | None = None, *, engine: Engine | None = None) -> Voted:
    """The label of each object by a method of `METHODS` that takes labels."""
    return cast("Voted", method_for(Input.LABELS, method)(labels, engine=engine))
