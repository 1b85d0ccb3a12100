"""Conversion of guarantees between units: from claims to users with several claims, and back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import expm1, isfinite, log, nextafter

from crowdveil.accounting.composition import composed_epsilon
from crowdveil.accounting.parameters import check_epsilon, check_unit, check_whole
from crowdveil.accounting.rounding import exp_up, up
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee


def user_level(guarantee: Guarantee, cap: int) -> Guarantee:
    """The user-level guarantee that follows from one for claims by group privacy.

    At most `cap` claims of each user are used. Changing c claims costs c epsilon and
    delta (1 + e^epsilon + ... + e^((c - 1) epsilon)), for any mechanism. Reference: Dwork and Roth, *The
    Algorithmic Foundations of Differential Privacy*, 2014, theorem 2.2 (delta = 0), doi:10.1561/0400000042;
    Vadhan, *The Complexity of Differential Privacy*, 2017, doi:10.1007/978-3-319-57048-8_7.
    """
    check_unit(guarantee, "claim")
    check_whole(cap, "the cap on claims per user")
    epsilon, delta = of_group(guarantee, cap)
    if delta >= 1:
        raise ParameterError(
            f"with up to {cap} claims a user the delta for users is 1 or more: nothing is promised to users; "
            "lower the cap, epsilon or delta"
        )
    return _for_users(guarantee, epsilon, delta, cap)


def user_level_by_parts(guarantee: Guarantee, cap: int, delta: float) -> Guarantee:
    """The user-level guarantee if each claim affects only one part of the release.

    It is assumed that the parts (one for each object, say) are drawn independently, that a user has at most
    one claim in each part and at most `cap` in total, and that `guarantee` holds for each part. Then the
    parts that depend on a user compose like `cap` releases: `composed_epsilon` at the total `delta`.
    """
    check_unit(guarantee, "claim")
    epsilon = composed_epsilon(guarantee.epsilon, guarantee.delta, cap, delta)
    if not isfinite(epsilon):
        raise ParameterError(
            f"{cap} claims a user, each with delta {guarantee.delta:g}, exceed the total delta {delta:g}"
        )
    return _for_users(guarantee, epsilon, delta, cap)


def claim_level(guarantee: Guarantee) -> Guarantee:
    """The claim-level guarantee that follows from one for users.

    Replacing a claim replaces a user's data, so epsilon and delta stay the same. Under add-remove, adding a
    claim means removing the user and adding them with one more claim, which is two steps.
    """
    check_unit(guarantee, "user")
    if guarantee.adjacency == "replace-one":
        return replace(guarantee, unit="claim")
    epsilon, delta = of_group(guarantee, 2)
    if delta >= 1:
        raise ParameterError("the delta for claims is 1 or more: nothing is promised to claims")
    return replace(guarantee, unit="claim", epsilon=epsilon, delta=delta)


def claim_epsilon(user_epsilon: float, cap: int) -> float:
    """Largest x with cap * x <= user_epsilon: the claim-level epsilon for users with at most `cap` claims."""
    check_epsilon(user_epsilon)
    check_whole(cap, "the cap on claims per user")
    quotient = user_epsilon / cap
    return quotient if Fraction(quotient) * cap <= Fraction(user_epsilon) else nextafter(quotient, 0.0)


def of_group(guarantee: Guarantee, size: int) -> tuple[float, float]:
    """Epsilon and delta of a group of `size` changes (group privacy)."""
    epsilon, delta = up(Fraction(guarantee.epsilon) * size), guarantee.delta
    if delta and size > 1:
        # The sum 1 + e^epsilon + ... is computed in logarithms, so that e^(size epsilon) cannot overflow.
        per_change, preceding = guarantee.epsilon, (size - 1) * guarantee.epsilon
        terms = (
            log(delta),
            preceding,
            log(expm1(-epsilon) / expm1(-per_change)) if per_change else log(size),
        )
        delta = exp_up(sum(terms), sum(map(abs, terms)))
    return epsilon, delta


def _for_users(guarantee: Guarantee, epsilon: float, delta: float, cap: int) -> Guarantee:
    capped = f"at most {cap} claims of each user were used, chosen without looking at values"
    assumptions = (*guarantee.assumptions, capped)
    return replace(guarantee, unit="user", epsilon=epsilon, delta=delta, assumptions=assumptions)
