"""The public law of the noise in perturbed claims, which estimators may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoiseLaw:
    """The noise that was added to raw claims in [low, high].

    `laplace_scale`: scale of Laplace noise, drawn independently for each claim. `user_variance`: mean over
    users of the variance of Gaussian noise; all claims of a user share one variance, which is not public.
    A parameter of 0 means that this noise was not added.
    """

    low: float
    high: float
    laplace_scale: float = 0.0
    user_variance: float = 0.0

    @property
    def variance(self) -> float:
        """Mean variance of the noise of a claim."""
        return 2.0 * self.laplace_scale**2 + self.user_variance
