"""GTM: users have error variances and truths have a normal prior at the median, fitted by EM.

Reference: Zhao and Han, *A Probabilistic Model for Estimating Real-valued Truth from Conflicting Sources*,
QDB 2012. The default prior of variances is weak (alpha 2, beta 1): with the literature's alpha = beta = 10,
users with few claims all get nearly the same weight, which is less accurate on long-tailed data.

Notation: o = (x - median) / sd of an object's claims, mu its truth in these units, s0^2 the prior variance of
mu, v a user's variance and N their number of claims:
mu = sum o/v / (1/s0^2 + sum 1/v), v = (2 beta + sum (o - mu)^2) / (2 (alpha + 1) + N).
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.truth import sweeps
from crowdveil.truths import Truths


@dataclass(frozen=True)
class GTM:
    """Parameters of GTM: the inverse gamma prior of users' variances, and the prior variance of truths.

    `truth_variance` is in units of the squared spread of the object's claims.
    """

    alpha: float = 2.0
    beta: float = 1.0
    truth_variance: float = 1.0

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and self.beta > 0 and self.truth_variance > 0):
            raise ParameterError("alpha, beta and truth_variance must be positive")


def discover(
    claims: Claims,
    parameters: GTM | None = None,
    *,
    start: Truths | None = None,
    engine: Engine | None = None,
) -> Truths:
    """Truths by GTM."""
    chosen = parameters or GTM()

    def weigh(losses: Floats, counts: Ints) -> Floats:
        return (2.0 * (chosen.alpha + 1.0) + counts) / (2.0 * chosen.beta + losses)

    prior = 1.0 / chosen.truth_variance
    return sweeps.discover(claims, weigh, method="gtm", prior=prior, start=start, engine=engine)
