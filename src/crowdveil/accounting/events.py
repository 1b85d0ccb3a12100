"""Noisy events: what happened to private data, apart from what it costs.

An operation is a list of events. The accountant (`accountant.py`) computes what they cost together, and can
do so again later, with a better bound, from events that were kept. An event holds public numbers only:
scales, sensitivities and how often noise was added, never a count of claims or users.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from crowdveil.accounting.parameters import check_delta, check_epsilon, check_positive, check_whole
from crowdveil.errors import ParameterError

NoiseKind = Literal["laplace", "gaussian", "discrete_laplace", "discrete_gaussian"]
_NOISE_KINDS = ("laplace", "gaussian", "discrete_laplace", "discrete_gaussian")


@dataclass(frozen=True)
class NoiseEvent:
    """Noise was added to `times` statistics of the same sensitivity.

    Parameters
    ----------
    kind:
        The law of the noise.
    scale:
        Laplace's b, or Gauss's sigma.
    sensitivity:
        How far one protected unit moves one statistic: of a vector L1 for Laplace noise, L2 for continuous
        Gaussian noise. Discrete noise takes whole sensitivities.
    times:
        How many statistics one protected unit moves.

    """

    kind: NoiseKind
    scale: Fraction | float
    sensitivity: float = 1.0
    times: int = 1

    def __post_init__(self) -> None:
        if self.kind not in _NOISE_KINDS:
            raise ParameterError(f"there is no noise called {self.kind!r}")
        check_positive(float(self.scale), "the scale")
        check_positive(self.sensitivity, "the sensitivity")
        check_whole(self.times, "times")
        if self.kind.startswith("discrete") and self.sensitivity != int(self.sensitivity):
            raise ParameterError(f"discrete noise takes a whole sensitivity, not {self.sensitivity:g}")

    @property
    def gaussian(self) -> bool:
        """Whether the noise has no pure epsilon."""
        return self.kind.endswith("gaussian")

    @property
    def ratio(self) -> Fraction:
        """Sensitivity over scale: the pure epsilon of Laplace noise, the mu of Gaussian noise, added once."""
        return Fraction(self.sensitivity) / Fraction(self.scale)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        numbers = {"scale": _plain(self.scale), "sensitivity": self.sensitivity, "times": self.times}
        return {"kind": self.kind, **numbers}


@dataclass(frozen=True)
class PrivateEvent:
    """An (epsilon, delta)-private mechanism ran of which nothing more is known."""

    epsilon: Fraction | float
    delta: float = 0.0

    kind = "private"

    def __post_init__(self) -> None:
        check_epsilon(float(self.epsilon))
        check_delta(self.delta)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {"kind": self.kind, "epsilon": _plain(self.epsilon), "delta": self.delta}


Event = NoiseEvent | PrivateEvent


def event_of(stored: Mapping[str, Any]) -> Event:
    """The event that `to_dict` wrote down; anything else is refused."""
    try:
        fields = dict(stored)
        kind = fields.pop("kind", None)
        for name in ("scale", "epsilon"):
            if isinstance(fields.get(name), str):
                fields[name] = _fraction(fields[name])
        return PrivateEvent(**fields) if kind == PrivateEvent.kind else NoiseEvent(kind, **fields)
    except (TypeError, ValueError, ArithmeticError):
        raise ParameterError("this is no event that was written down") from None


def _fraction(text: str) -> Fraction:
    """A fraction as `_plain` writes it; other notations could have more digits than fit in memory."""
    if not re.fullmatch(r"[0-9]{1,60}(/[0-9]{1,60})?", text):
        raise ValueError
    return Fraction(text)


def _plain(number: Fraction | float) -> str | float:
    """As JSON has it; a fraction is text, so that no digit is lost."""
    return str(number) if isinstance(number, Fraction) else number
