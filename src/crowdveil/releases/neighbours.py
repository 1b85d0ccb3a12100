"""Neighbouring datasets: the change of data that differential privacy hides."""

from __future__ import annotations

from dataclasses import dataclass

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Unit


@dataclass(frozen=True)
class Neighbours:
    """Two datasets are neighbours if they differ in one claim, or in all claims of one user.

    Parameters
    ----------
    unit:
        What is protected: a claim, or a user.
    adjacency:
        "replace-one": values are replaced; which user made claims about which object is public.
        "add-remove": the unit is added or removed, and no exact count of claims may be used.
    cap:
        For unit "user": the number of claims of each user that are used, at most one per object.

    """

    unit: Unit = "claim"
    adjacency: Adjacency = "replace-one"
    cap: int | None = None

    def __post_init__(self) -> None:
        if self.unit not in ("claim", "user"):
            raise ParameterError(f"unit must be claim or user, not {self.unit!r}")
        if self.adjacency not in ("replace-one", "add-remove"):
            raise ParameterError(f"adjacency must be replace-one or add-remove, not {self.adjacency!r}")
        if (self.cap is not None) != (self.unit == "user"):
            raise ParameterError(
                "unit user needs a cap on claims for each user, and only unit user takes one"
            )
        if self.cap is not None and (not isinstance(self.cap, int) or self.cap < 1):
            raise ParameterError(f"cap must be at least 1, not {self.cap}")

    @property
    def claims(self) -> int:
        """The largest number of claims of one protected unit."""
        return 1 if self.cap is None else self.cap

    @property
    def replaced(self) -> bool:
        """Whether values are replaced; then which user made claims about which object is public."""
        return self.adjacency == "replace-one"
