"""The law of an answer: normal around the truth, rounded and clamped to the domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.answers import Domain
from crowdveil.arrays import Floats


def answer_law(truths: ArrayLike, sigmas: ArrayLike, domain: Domain) -> Floats:
    """Probability of each answer, shape (..., answers); `truths` and users' `sigmas` broadcast together."""
    from scipy.special import ndtr

    centres, spreads = np.asarray(truths)[..., None], np.asarray(sigmas)[..., None]
    below = ndtr((domain.values()[:-1] + 0.5 - centres) / spreads)
    return np.diff(below, prepend=0.0, append=1.0)
