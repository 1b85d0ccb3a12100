"""Discrete Gaussian noise has its law. Every test passes a right sampler but for one chance in a million."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import exp, isqrt

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

from crowdveil.errors import ParameterError
from crowdveil.randomness import Words, chacha, gaussian, seeded
from crowdveil.randomness.samplers import INTEGER_LIMIT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ERROR = 1e-6
DRAWS = 400_000
LARGEST = INTEGER_LIMIT - 1
VARIANCES = [(1, 1), (1, 3), (7, 2), (25, 1), (10**6, 7)]
EXTREMES = [(LARGEST, 1), (LARGEST, LARGEST - 1), (LARGEST // 999, LARGEST), (1, 1000), (LARGEST, 1 << 20)]


def state(name: str) -> Words:
    words = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(20_200_604).streams([name], purpose="test gaussian")
    chacha.start(words, key, nonces[0])
    return words


def drawn(name: str, num: int, den: int, count: int = DRAWS) -> Ints:
    out = np.empty(count, dtype=np.int64)
    gaussian.fill_discrete_gaussian(state(name), num, den, out)
    return out


def edges_for(variance: float, reach: float = 4.0) -> Ints:
    """Where cells begin: every integer, or 41 steps over +-reach deviations."""
    return np.unique(np.rint(np.sqrt(variance) * np.linspace(-reach, reach, 41))).astype(np.int64)


def chances(edges: Ints, variance: float) -> Floats:
    """The law on paper, Pr[y] ~ exp(-y^2 / (2 variance)), summed over cells."""
    if variance > 1e6:  # the same as the continuous law's, but for far less than can be seen
        return np.diff([0.0, *norm.cdf((edges - 0.5) / np.sqrt(variance)), 1.0])
    reach = int(np.ceil(12 * np.sqrt(variance))) + 12
    y = np.arange(-reach, reach + 1)
    mass = np.exp(-np.square(y) / (2 * variance))
    cells = np.bincount(np.searchsorted(edges, y, side="right"), weights=mass, minlength=len(edges) + 1)
    shares: Floats = cells.astype(np.float64) / mass.sum()
    return shares


def counted(draws: Ints, edges: Ints) -> Ints:
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)


def follows(draws: Ints, variance: float, reach: float = 4.0) -> bool:
    """Pearson's test against the law on paper; cells too rare for it join their neighbours."""
    edges = edges_for(variance, reach)
    expected = chances(edges, variance) * len(draws)
    common = np.flatnonzero(expected >= 20)
    edges = edges[common[0] : common[-1]]
    expected = chances(edges, variance) * len(draws)
    assert expected.min() >= 20, "a cell is too rare for a chi-square test"
    statistic = float(((counted(draws, edges) - expected) ** 2 / expected).sum())
    return statistic <= float(chi2.isf(ERROR, len(edges)))


def exponent(y: int, num: int, den: int) -> Fraction:
    """-log of what the sampler gives y, but for a constant: the proposal's exponent and the rejection's."""
    t = isqrt(num // den) + 1
    a = abs(abs(y) * den * t - num)
    p, r = 2 * num, den * t * t
    q, s = divmod(a, r)
    u, v = divmod(a, p)
    pieces = Fraction(q * u) + Fraction(q * v, p) + Fraction(u * s, r) + Fraction(s * v, r * p)
    assert pieces == Fraction(a * a, p * r)
    return Fraction(abs(y), t) + pieces


@pytest.mark.parametrize(("num", "den"), [*VARIANCES, *EXTREMES])
def test_the_law_of_the_algorithm_is_the_law_on_paper_exactly(num: int, den: int) -> None:
    t = isqrt(num // den) + 1
    for y in [*range(-50, 51), *(sign * m * t + 1 for m in (3, 17, 100) for sign in (-1, 1))]:
        difference = exponent(y, num, den) - exponent(0, num, den)
        assert difference == Fraction(y * y * den, 2 * num)


@pytest.mark.parametrize(("num", "den"), [*VARIANCES, *EXTREMES, (1 << 20, 1000 << 20)])
def test_no_product_leaves_63_bits(num: int, den: int) -> None:
    gaussian.check_variance(num, den)
    t = isqrt(num // den) + 1
    farthest = gaussian.FARTHEST * t - 1
    a, p, r = abs(farthest * den * t - num), 2 * num, den * t * t
    q, u = a // r, a // p
    assert max(farthest * den * t, r, (q + 1) * p, (u + 1) * r, (q + 1) * (u + 1)) < 2**63


@pytest.mark.parametrize(("num", "den"), [*VARIANCES, *EXTREMES])
def test_what_is_refused_outright_would_never_have_been_taken(num: int, den: int) -> None:
    t = isqrt(num // den) + 1
    a = gaussian.FARTHEST * t * den * t - num
    assert Fraction(a * a, 2 * num * den * t * t) > 3e7


@pytest.mark.parametrize(
    ("a", "p", "r"), [(0, 5, 7), (3, 5, 7), (6, 5, 7), (8, 5, 7), (11, 9, 4), (2**40, 2**40 + 1, 2**41 - 1)]
)
def test_the_coin_of_a_square_has_its_chance(a: int, p: int, r: int) -> None:
    words, count = state(f"coin {a} {p} {r}"), 200_000
    heads = sum(gaussian.bernoulli_exp_square(words, a, p, r) for _ in range(count))
    chance = exp(-a * a / (p * r))
    assert binom.ppf(ERROR / 2, count, chance) <= heads <= binom.isf(ERROR / 2, count, chance)


@pytest.mark.parametrize(("num", "den"), VARIANCES)
def test_draws_follow_the_law(num: int, den: int) -> None:
    assert follows(drawn(f"law {num}/{den}", num, den), num / den)


@pytest.mark.parametrize(("num", "den"), EXTREMES)
def test_draws_follow_the_law_at_the_ends_of_what_is_allowed(num: int, den: int) -> None:
    draws = drawn(f"ends {num}/{den}", num, den, 200_000)
    if num < den / 100:  # one in e^50 is not zero
        assert not draws.any()
    else:
        assert follows(draws, num / den, reach=3.5)


def test_ten_million_draws_follow_the_law() -> None:
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda part: drawn(f"many {part}", 21, 2, 5_000_000), range(2)))
    assert follows(np.concatenate(parts), 10.5, reach=5)


@pytest.mark.parametrize(("num", "den"), VARIANCES)
@pytest.mark.parametrize("percent", [95, 105])
def test_a_scale_wrong_by_5_percent_is_caught(num: int, den: int, percent: int) -> None:
    draws = drawn(f"{percent} % {num}/{den}", num * percent**2, den * 100**2)
    assert not follows(draws, num / den)


def test_rounded_continuous_noise_is_caught() -> None:
    normals = seeded(1).stream("rounded", purpose="test gaussian").normals(4 * DRAWS)
    assert not follows(np.rint(normals).astype(np.int64), 1.0)


def test_draws_follow_the_law_in_the_low_digits() -> None:
    variance, modulus = 300.0, 16
    y = np.arange(-400, 401)
    mass = np.exp(-np.square(y) / (2 * variance))
    expected = np.bincount(y % modulus, weights=mass, minlength=modulus) / mass.sum() * DRAWS
    observed = np.bincount(drawn("digits", 300, 1) % modulus, minlength=modulus)
    assert float(((observed - expected) ** 2 / expected).sum()) <= float(chi2.isf(ERROR, modulus - 1))


def opendp_draws(scale: float, count: int) -> Ints:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return np.array(measurement([0] * count), dtype=np.int64)


def agree(ours: Ints, theirs: Ints, variance: float) -> bool:
    """The chi-square test that two rows of draws come from one law."""
    edges = edges_for(variance, reach=2.5)
    a, b = counted(ours, edges), counted(theirs, edges)
    assert (a + b).min() >= 20
    more = np.sqrt(b.sum() / a.sum())
    return float(((more * a - b / more) ** 2 / (a + b)).sum()) <= float(chi2.isf(ERROR, len(edges)))


@pytest.mark.parametrize("scale", [Fraction(3, 4), Fraction(1), Fraction(5, 2), Fraction(1000)])
def test_opendp_draws_the_same_law(scale: Fraction) -> None:
    variance = scale * scale
    ours = drawn(f"opendp {scale}", variance.numerator, variance.denominator)
    assert agree(ours, opendp_draws(float(scale), 20_000), float(variance))


def test_opendp_with_another_scale_is_told_apart() -> None:
    assert not agree(drawn("apart", 9, 1), opendp_draws(2.5, 20_000), 6.25)


@pytest.mark.parametrize(
    ("num", "den"), [(0, 1), (1, 0), (-1, 1), (2**40, 1), (1, 2**40), (1, 1001), (1.5, 1)]
)
def test_variances_out_of_bounds_are_refused(num: int, den: int) -> None:
    with pytest.raises(ParameterError, match="variance"):
        gaussian.check_variance(num, den)
