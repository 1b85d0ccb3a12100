"""The methods by name, and the one to use when none is named."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.noise_law import NoiseLaw
from crowdveil.truth import catd, crh, deviation, gtm, mean, median, noise_aware
from crowdveil.truths import Truths

Discover = Callable[..., Truths]

METHODS: dict[str, Discover] = {
    "gtm": gtm.discover,
    "crh": crh.discover,
    "catd": catd.discover,
    "inverse-deviation": deviation.discover,
    "mean": mean.discover,
    "median": median.discover,
}

NOISE_AWARE = "noise-aware"


def discover(
    claims: Claims,
    method: str | None = None,
    *,
    law: NoiseLaw | None = None,
    engine: LocalEngine | None = None,
) -> Truths:
    """Truths by a method; by default GTM, or noise-aware where the law of noise in the claims is known."""
    method = method or ("gtm" if law is None else NOISE_AWARE)
    if method == NOISE_AWARE:
        if law is None:
            raise ParameterError(
                "noise-aware inference needs claims whose noise is known, as perturb makes them"
            )
        return noise_aware.discover(claims, law, engine=engine)
    if method not in METHODS:
        raise ParameterError(f"there is no method {method!r}; there are {NOISE_AWARE}, {', '.join(METHODS)}")
    return METHODS[method](claims, engine=engine)
