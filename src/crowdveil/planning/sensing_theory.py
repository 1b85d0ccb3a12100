"""The sensing paper's theorems on utility and privacy, next to corrected bounds.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018,
theorems 4.3 (utility), 4.8 (privacy) and 4.9 (both).
Notation: S is the number of `users`; users' error variances are exponential with rate lambda1, variances of
the noise with rate lambda2; c = lambda1/lambda2 is the noise ratio. (alpha, beta)-utility: the probability
that the aggregates before and after the noise differ by alpha or more, on average over objects, is at most
beta. epsilon, delta, b and eta are those of the paper's privacy theorem.

Errors in theorem 4.3, all checked by simulation (docs/guarantees/sensing.md treats privacy):
- The threshold of alpha has a square root of 2 where its own derivation gives 2, and lambda1 inverted at
  c = 1. As printed it is negative for c between 0.756 and 1, so it excludes nothing there.
- The bound on c treats the S^2 pairs of users as independent. There are S users, and S^2 should be S.
- It replaces (E Y)^2 by something larger on the side where that weakens the condition, and it adds numbers of
  different units: a campaign in centimetres gets a different c than the same one in metres.
As printed the theorem is false: with c = 0.9, lambda1 = 1 and 600 users it states that a change of 0.01 has
probability at most 0.1; the actual change is about 0.03. With the corrected threshold it requires an alpha
above twice the users' own error, which the noise hardly ever reaches: true for crowds, but of little use.
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
    """The largest c with (alpha, beta)-utility according to the paper (refuted); below 0 there is none."""
    _check_utility(lambda1, alpha, beta, users)
    of_pairs = alpha * alpha * beta * users * users / (4.0 * sqrt(2.0))
    return lambda1 * sqrt(pi) * (of_pairs + alpha * alpha * sqrt(pi) / 8.0 + alpha + 2.0 / sqrt(pi)) - 2.0


def mean_largest_noise_ratio(lambda1: float, alpha: float, beta: float, users: int) -> float:
    """The largest c at which the plain mean provably has (alpha, beta)-utility: lambda1 S alpha^2 beta.

    The mean of an object's S noises has variance 1/(lambda2 S) for any claims. The squared mean change over
    objects is at most the mean of squares, and Markov's inequality gives the bound. It holds for any noise of
    that variance; claims are assumed to lie in the range.
    """
    _check_utility(lambda1, alpha, beta, users)
    return lambda1 * users * alpha * alpha * beta


def paper_smallest_alpha(lambda1: float, c: float) -> float:
    """The alpha above which the paper's theorem applies, with its error corrected; at c = 1 by continuity.

    It is 2 sqrt(2/pi) E[Y], where Y^2 is the sum of the error variances of two users and the noise variance
    of one. The paper's expression, with 2 in place of its square root of 2, is
    2 sqrt 2 / (sqrt(lambda1) (1 - c)) times 3/4 - c (c + sqrt c + 1) / (2 (1 + sqrt c)); both have the factor
    1 - sqrt c, which is cancelled here.
    """
    _check_ratio(lambda1, c)
    r = sqrt(c)
    return (3.0 + r * (6.0 + r * (4.0 + r * 2.0))) / (sqrt(2.0 * lambda1) * (1.0 + r) ** 2)


def printed_smallest_alpha(lambda1: float, c: float) -> float:
    """The threshold of alpha as printed in the paper; its limit is -infinity below c = 1, infinity above."""
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
    """The smallest c with (epsilon, delta)-privacy according to the paper (refuted for several claims).

    Its width gamma_s / lambda1 comes from an inequality that holds only for lambda1 <= 1, while the paper
    assumes lambda1 > 1; its argument gives gamma_s / sqrt(lambda1).
    """
    return paper_bound(lambda1, epsilon, delta, b=b, eta=eta, claims=1).noise_ratio


def smallest_noise_ratio(
    lambda1: float, epsilon: float, delta: float, *, width: float, claims: int = 1
) -> float:
    """The smallest c with (epsilon, delta) for `claims` claims together, one variance per user and no floor.

    The exact delta solved for lambda2 is 2 L (epsilon + L) / (claims width^2), with L = ln(1/(1 - delta)).
    """
    for number, what in ((lambda1, "lambda1"), (epsilon, "epsilon"), (width, "the width")):
        check_positive(number, what)
    check_delta(delta, least=0.0)
    check_whole(claims, "the number of claims")
    loss = -log1p(-delta)
    return lambda1 * claims * width * width / (2.0 * loss * (epsilon + loss))


def laplace_noise_ratio(lambda1: float, epsilon: float, *, width: float) -> float:
    """The noise ratio at a pure epsilon with a fresh variance for each claim, which is Laplace noise."""
    for number, what in ((lambda1, "lambda1"), (epsilon, "epsilon"), (width, "the width")):
        check_positive(number, what)
    return 2.0 * lambda1 * (width / epsilon) ** 2


# --- both ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TradeOff:
    """A campaign in the terms of the theory: claims in a public range, users' errors, requested utility."""

    users: int  # number of users with a claim about an object
    claims: int  # number of claims of a user
    width: float  # of the range, also used for the paper's bound
    lambda1: float
    alpha: float
    beta: float = BETA

    def __post_init__(self) -> None:
        check_positive(self.width, "the width")
        check_whole(self.claims, "the number of claims")
        _check_utility(self.lambda1, self.alpha, self.beta, self.users)

    def privacy(self, epsilon: float, delta: float) -> dict[str, float]:
        """The smallest noise ratios: of the paper, for a claim, for a user, and of Laplace noise."""
        arguments = (self.lambda1, epsilon)
        return {
            "paper": paper_smallest_noise_ratio(*arguments, delta, self.lambda1 * self.width, GAMMA_IS_B),
            "claim": smallest_noise_ratio(*arguments, delta, width=self.width),
            "user": smallest_noise_ratio(*arguments, delta, width=self.width, claims=self.claims),
            "laplace_claim": laplace_noise_ratio(*arguments, width=self.width),
        }

    def utility(self) -> dict[str, float]:
        """The largest noise ratios: of the paper, and proved for the plain mean."""
        arguments = (self.lambda1, self.alpha, self.beta, self.users)
        return {"paper": paper_largest_noise_ratio(*arguments), "mean": mean_largest_noise_ratio(*arguments)}

    def paper_region(self, epsilon: float, delta: float) -> tuple[float, float] | None:
        """The noise ratios that the paper allows (its theorem 4.9 without the threshold); None if empty."""
        return _between(self.privacy(epsilon, delta)["paper"], self.utility()["paper"])

    def region(self, epsilon: float, delta: float, *, unit: str = "claim") -> tuple[float, float] | None:
        """The noise ratios that provably give both, for a claim or a user; None if there are none."""
        return _between(self.privacy(epsilon, delta)[unit], self.utility()["mean"])

    def to_dict(self, epsilon: float, delta: float) -> dict[str, Any]:
        """All bounds at one epsilon and delta."""
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
