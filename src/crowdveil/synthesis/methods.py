"""The ways to synthesize records, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crowdveil.errors import ParameterError
from crowdveil.synthesis import calm, independent, krr, lopub, samprivsyn
from crowdveil.synthesis import latent_class_synthesis as latent
from crowdveil.synthesis.result import Synthetic


@dataclass(frozen=True)
class Method:
    """The dataclass of a method's parameters (all take `epsilon`), and its function."""

    parameters: Callable[..., Any]
    synthesize: Callable[..., Synthetic]


METHODS: dict[str, Method] = {
    latent.METHOD: Method(latent.LatentClassSynthesis, latent.synthesize),
    calm.METHOD: Method(calm.Calm, calm.synthesize),
    samprivsyn.METHOD: Method(samprivsyn.SamPrivSyn, samprivsyn.synthesize),
    lopub.METHOD: Method(lopub.LoPub, lopub.synthesize),
    krr.METHOD: Method(krr.AllColumns, krr.synthesize),
    independent.METHOD: Method(independent.Independent, independent.synthesize),
}


def method_of(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise ParameterError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
