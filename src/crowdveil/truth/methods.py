"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.truth import catd, crh, deviation, gtm, mean, median
from crowdveil.truth.result import Truths

Discover = Callable[..., Truths]

METHODS: dict[str, Discover] = {
    "gtm": gtm.discover,
    "crh": crh.discover,
    "catd": catd.discover,
    "inverse-deviation": deviation.discover,
    "mean": mean.discover,
    "median": median.discover,
}
