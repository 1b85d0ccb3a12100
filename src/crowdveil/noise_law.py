"""What is publicly known about the noise in perturbed claims: whoever estimates from them may use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoiseLaw:
    """Raw claims lay in [low, high]; to each, noise was added.

    Laplace noise of that scale, drawn afresh for each claim, or Gaussian noise of one variance for all claims
    of a user, of which only the mean over users is known. What is 0 was not added.
    """

    low: float
    high: float
    laplace_scale: float = 0.0
    user_variance: float = 0.0

    @property
    def variance(self) -> float:
        """The mean variance of the noise of a claim."""
        return 2.0 * self.laplace_scale**2 + self.user_variance
