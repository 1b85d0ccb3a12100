"""The sensing paper's theory of utility and privacy, beside what holds.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018,
theorems 4.3 (utility), 4.8 (privacy) and 4.9 (both).
Notation: S `users`; users' error variances are exponential with rate lambda1, variances of noise with rate
lambda2; c = lambda1/lambda2 the noise ratio; (alpha, beta)-utility: the aggregates before and after the noise
differ by alpha or more, on average over objects, with a probability of at most beta. epsilon, delta, b, eta
as in the paper's privacy theorem.

What is wrong in theorem 4.3, all of it checked by simulation (docs/guarantees/sensing.md has the privacy):
- The threshold of alpha has a square root of 2 where its own derivation gives 2, and lambda1 upside down at
  c = 1. As printed it is negative for c between 0.756 and 1, so that it forbids nothing there.
- The bound on c takes the S^2 pairs of users for independent. There are S users, and S^2 should be S.
- It replaces (E Y)^2 by something larger on the side where that weakens the condition, and it adds up numbers
  of different units: a campaign in centimetres gets another c than the same one in metres.
As printed the theorem is false: with c = 0.9, lambda1 = 1 and 600 users it says that a change of 0.01 has a
probability of at most 0.1; the change is about 0.03. With the threshold mended it asks for an alpha above
twice the users' own error, which the noise hardly ever reaches: true for crowds, and of little use.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log1p, pi, sqrt
from typing import Any

from crowdveil.accounting.parameters import check_delta, check_positive, check_whole
from crowdveil.errors import ParameterError
from crowdveil.local import paper_bound

GAMMA_IS_B = 1.0 - exp(-0.5)  # the eta at which gamma_s = b
BETA = 0.05


# --- utility ------------------------------------------------------------------------------------------------


def paper_largest_noise_ratio(lambda1: float, alpha: float, beta: float, users: int) -> float:
    """The largest c with (alpha, beta)-utility as the paper has it (refuted); below 0 there is none."""
    _check_utility(lambda1, alpha, beta, users)
    of_pairs = alpha * alpha * beta * users * users / (4.0 * sqrt(2.0))
    return lambda1 * sqrt(pi) * (of_pairs + alpha * alpha * sqrt(pi) / 8.0 + alpha + 2.0 / sqrt(pi)) - 2.0


def mean_largest_noise_ratio(lambda1: float, alpha: float, beta: float, users: int) -> float:
    """The largest c at which the plain mean is proved to have (alpha, beta)-utility: lambda1 S alpha^2 beta.

    The mean of an object's S noises has the variance 1/(lambda2 S), whatever the claims are. The squared
    average change over objects is at most the average of squares, and Markov's inequality does the rest.
    Any noise of that variance will do; claims are taken to lie in the range.
    """
    _check_utility(lambda1, alpha, beta, users)
    return lambda1 * users * alpha * alpha * beta


def paper_smallest_alpha(lambda1: float, c: float) -> float:
    """The alpha above which the paper's theorem speaks, with its slip mended; at c = 1 by continuity.

    2 sqrt(2/pi) E[Y], Y^2 = the error variances of two users + the noise variance of one. The paper's
    expression with 2 for its square root of 2 is 2 sqrt 2 / (sqrt(lambda1) (1 - c)) times
    3/4 - c (c + sqrt c + 1) / (2 (1 + sqrt c)); both have the factor 1 - sqrt c, which is cancelled here.
    """
    _check_ratio(lambda1, c)
    r = sqrt(c)
    return (3.0 + r * (6.0 + r * (4.0 + r * 2.0))) / (sqrt(2.0 * lambda1) * (1.0 + r) ** 2)


def printed_smallest_alpha(lambda1: float, c: float) -> float:
    """The same as printed in the paper: it tends to -infinity below c = 1 and to infinity above."""
    _check_ratio(lambda1, c)
    if c == 1.0:
        raise ParameterError("the printed threshold of alpha has no value at c = 1, and no limit")
    r = sqrt(c)
    inner = 0.75 - c * (c + r + 1.0) / (sqrt(2.0) * (1.0 + r))
    return 2.0 * sqrt(2.0) / (sqrt(lambda1) * (1.0 - c)) * inner


def _check_utility(lambda1: float, alpha: float, beta: float, users: int) -> None:
    check_positive(lambda1, "lambda1")
    check_positive(alpha, "alpha")
    check_whole(users, "the number of users")
    if not 0 <= beta <= 1:
        raise ParameterError(f"beta must lie between 0 and 1, not {beta:g}")


def _check_ratio(lambda1: float, c: float) -> None:
    check_positive(lambda1, "lambda1")
    if c:
        check_positive(c, "the noise ratio")


# --- privacy ------------------------------------------------------------------------------------------------


def paper_smallest_noise_ratio(lambda1: float, epsilon: float, delta: float, b: float, eta: float) -> float:
    """The smallest c with (epsilon, delta)-privacy as the paper has it: refuted for users of several claims.

    Its width gamma_s / lambda1 comes from an inequality that holds for lambda1 <= 1 only, where the paper
    takes lambda1 > 1; gamma_s / sqrt(lambda1) is what its argument gives.
    """
    return paper_bound(lambda1, epsilon, delta, b=b, eta=eta, claims=1).noise_ratio


def smallest_noise_ratio(
    lambda1: float, epsilon: float, delta: float, *, width: float, claims: int = 1
) -> float:
    """The smallest c with (epsilon, delta) for so many claims together, one variance per user and no floor.

    The exact delta solved for lambda2: 2 L (epsilon + L) / (claims width^2), with L = ln(1/(1 - delta)).
    """
    for number, what in ((lambda1, "lambda1"), (epsilon, "epsilon"), (width, "the width")):
        check_positive(number, what)
    check_delta(delta, least=0.0)
    check_whole(claims, "the number of claims")
    loss = -log1p(-delta)
    return lambda1 * claims * width * width / (2.0 * loss * (epsilon + loss))


def laplace_noise_ratio(lambda1: float, epsilon: float, *, width: float) -> float:
    """The noise ratio of a fresh variance for each claim, which is Laplace noise, at a pure epsilon."""
    for number, what in ((lambda1, "lambda1"), (epsilon, "epsilon"), (width, "the width")):
        check_positive(number, what)
    return 2.0 * lambda1 * (width / epsilon) ** 2


# --- both ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TradeOff:
    """A campaign as the theory sees it: claims in a public range, users' errors, and the utility wanted."""

    users: int  # who make claims about an object
    claims: int  # of a user
    width: float  # of the range, which is also the paper's
    lambda1: float
    alpha: float
    beta: float = BETA

    def __post_init__(self) -> None:
        check_positive(self.width, "the width")
        check_whole(self.claims, "the number of claims")
        _check_utility(self.lambda1, self.alpha, self.beta, self.users)

    def privacy(self, epsilon: float, delta: float) -> dict[str, float]:
        """The smallest noise ratios: as the paper has it, what holds for a claim, for a user, of Laplace."""
        asked = (self.lambda1, epsilon)
        return {
            "paper": paper_smallest_noise_ratio(*asked, delta, self.lambda1 * self.width, GAMMA_IS_B),
            "claim": smallest_noise_ratio(*asked, delta, width=self.width),
            "user": smallest_noise_ratio(*asked, delta, width=self.width, claims=self.claims),
            "laplace_claim": laplace_noise_ratio(*asked, width=self.width),
        }

    def utility(self) -> dict[str, float]:
        """The largest noise ratios: as the paper has it, and what is proved for the plain mean."""
        asked = (self.lambda1, self.alpha, self.beta, self.users)
        return {"paper": paper_largest_noise_ratio(*asked), "mean": mean_largest_noise_ratio(*asked)}

    def paper_region(self, epsilon: float, delta: float) -> tuple[float, float] | None:
        """The noise ratios that the paper allows (its theorem 4.9 without the threshold), or None."""
        return _between(self.privacy(epsilon, delta)["paper"], self.utility()["paper"])

    def region(self, epsilon: float, delta: float, *, unit: str = "claim") -> tuple[float, float] | None:
        """The noise ratios that are proved to give both, for a claim or a user; None where there are none."""
        return _between(self.privacy(epsilon, delta)[unit], self.utility()["mean"])

    def to_dict(self, epsilon: float, delta: float) -> dict[str, Any]:
        """All of it at one epsilon and delta."""
        return {
            "lambda1": self.lambda1,
            "alpha": self.alpha,
            "beta": self.beta,
            "delta": delta,
            "smallest_noise_ratio": self.privacy(epsilon, delta),
            "largest_noise_ratio": self.utility(),
            "paper_region": _listed(self.paper_region(epsilon, delta)),
            "region_claim": _listed(self.region(epsilon, delta)),
            "region_user": _listed(self.region(epsilon, delta, unit="user")),
        }


def _between(low: float, high: float) -> tuple[float, float] | None:
    return (low, high) if low <= high else None


def _listed(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else list(pair)
