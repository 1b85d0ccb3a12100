"""The exact samplers follow their laws. Every test passes a right sampler but for one chance in a million."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import cos, exp, expm1, log, pi
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

from crowdveil.randomness import Stream, Words, chacha, samplers, seeded

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ERROR = 1e-6
DRAWS = 1_000_000
SINGLE_DRAWS = 400_000  # of samplers without a compiled loop around them
LARGEST = samplers.INTEGER_LIMIT - 1
SCALES = [(1, 3), (1, 1), (10, 3), (20_000, 1)]


def stream(name: str) -> Stream:
    return seeded(20_190_810).stream(name, purpose="test samplers")


def fresh_state(name: str) -> Words:
    rng = seeded(20_190_810)
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = rng.streams([name], purpose="test samplers")
    chacha.start(state, key, nonces[0])
    return state


def repeated(sampler: Any, *arguments: int, draws: int = SINGLE_DRAWS) -> Ints:
    state = fresh_state(f"{sampler.__name__} {arguments}")
    return np.fromiter((sampler(state, *arguments) for _ in range(draws)), dtype=np.int64, count=draws)


def chi_square_accepts(observed: Ints, chances: Floats) -> bool:
    """Pearson's test of counts against the chances of all cells."""
    expected = chances * observed.sum()
    assert expected.min() >= 20, "a cell is too rare for a chi-square test"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return statistic <= float(chi2.isf(ERROR, len(observed) - 1))


def two_samples_agree(a: Ints, b: Ints) -> bool:
    """The chi-square test that two rows of counts come from one law."""
    assert (a + b).min() >= 20, "a cell is too rare for a chi-square test"
    more = np.sqrt(b.sum() / a.sum())
    statistic = float(((more * a - b / more) ** 2 / (a + b)).sum())
    return statistic <= float(chi2.isf(ERROR, len(a) - 1))


def binomial_accepts(successes: int, draws: int, chance: float) -> bool:
    low, high = binom.ppf(ERROR / 2, draws, chance), binom.isf(ERROR / 2, draws, chance)
    return bool(low <= successes <= high)


def edges_for(num: int, den: int, reach: float) -> Ints:
    """Where cells of discrete Laplace draws begin: every integer, or 41 steps over +-reach scales."""
    return np.unique(np.rint(num / den * np.linspace(-reach, reach, 41))).astype(np.int64)


def counted(draws: Ints, edges: Ints) -> Ints:
    """How many draws lie below the first edge, between edges, and from the last edge on."""
    return np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)


def laplace_chances(edges: Ints, num: int, den: int) -> Floats:
    """The law on paper: Pr[y] = (1 - q) / (1 + q) q^|y| with q = exp(-den/num), summed over cells."""

    def at_least(y: int) -> float:
        tail = exp(-max(y, 1 - y) * den / num) / (1 + exp(-den / num))
        return tail if y > 0 else 1 - tail

    return -np.diff([1.0, *(at_least(int(y)) for y in edges), 0.0])


def follows_discrete_laplace(draws: Ints, num: int, den: int, reach: float = 5.0) -> bool:
    edges = edges_for(num, den, reach)
    return chi_square_accepts(counted(draws, edges), laplace_chances(edges, num, den))


@pytest.mark.parametrize("limit", [2, 3, 7, 64, 100])
def test_below_is_uniform(limit: int) -> None:
    observed = np.bincount(repeated(samplers.below, limit), minlength=limit)
    assert len(observed) == limit
    assert chi_square_accepts(observed, np.full(limit, 1 / limit))


@pytest.mark.parametrize("limit", [2**32 - 1, 2**32, 2**32 + 1, 3 * 2**31, LARGEST])
@pytest.mark.parametrize("modulus", [None, 64])
def test_below_is_uniform_for_large_limits_in_high_and_low_bits(limit: int, modulus: int | None) -> None:
    draws = repeated(samplers.below, limit, draws=200_000)
    assert 0 <= draws.min() <= draws.max() < limit
    cells = draws % modulus if modulus else draws * 50 // limit
    # The residues' chances differ from 1/64 by less than 2^-32: far below what can be seen.
    count = modulus or 50
    assert chi_square_accepts(np.bincount(cells, minlength=count), np.full(count, 1 / count))


def test_below_one_is_zero() -> None:
    assert not repeated(samplers.below, 1, draws=1000).any()


def test_a_coin_is_fair() -> None:
    assert binomial_accepts(int(repeated(samplers.coin).sum()), SINGLE_DRAWS, 0.5)


def test_coins_do_not_remember_each_other() -> None:
    draws = repeated(samplers.coin)
    fours = draws[0::4] + 2 * draws[1::4] + 4 * draws[2::4] + 8 * draws[3::4]
    assert chi_square_accepts(np.bincount(fours, minlength=16), np.full(16, 1 / 16))


EXPONENTS = [(1, 1000), (1, 3), (2, 3), (1, 1), (4, 3), (10, 3), (5, 1), (LARGEST // 2, LARGEST)]


@pytest.mark.parametrize(("num", "den"), EXPONENTS)
def test_bernoulli_exp_has_chance_exp_of_minus_num_over_den(num: int, den: int) -> None:
    assert binomial_accepts(
        int(repeated(samplers.bernoulli_exp, num, den).sum()), SINGLE_DRAWS, exp(-num / den)
    )


@pytest.mark.parametrize("den", [1, 7, LARGEST])
def test_bernoulli_exp_of_zero_is_certain(den: int) -> None:
    assert repeated(samplers.bernoulli_exp, 0, den, draws=1000).all()


def test_the_coin_of_chance_exp_of_minus_one_uses_the_words_of_the_general_one() -> None:
    one, general = fresh_state("exp"), fresh_state("exp")
    for _ in range(20_000):
        assert samplers.bernoulli_exp_one(one) == samplers.bernoulli_exp_fraction(general, 1, 1)
    assert one.tolist() == general.tolist()


def test_bernoulli_exp_of_a_huge_exponent_ends_and_is_never_true() -> None:
    assert not repeated(samplers.bernoulli_exp, LARGEST, 1, draws=1000).any()


def test_a_bernoulli_exponent_wrong_by_5_percent_is_caught() -> None:
    assert not binomial_accepts(int(repeated(samplers.bernoulli_exp, 105, 100).sum()), SINGLE_DRAWS, exp(-1))


@pytest.mark.parametrize(
    ("num", "den"), [*SCALES, (7, 5), (999_999, 1_000_000), (LARGEST, 1), (LARGEST, LARGEST - 1)]
)
def test_discrete_laplace_follows_its_law(num: int, den: int) -> None:
    draws = stream(f"law {num}/{den}").discrete_laplace(DRAWS, num=num, den=den)
    assert follows_discrete_laplace(draws, num, den)


@pytest.mark.parametrize(("num", "den"), [(1, 1), (10, 3)])
def test_ten_million_discrete_laplace_draws_follow_the_law(num: int, den: int) -> None:
    def part(number: int) -> Ints:
        return stream(f"many {num}/{den} {number}").discrete_laplace(5_000_000, num=num, den=den)

    with ThreadPoolExecutor(2) as pool:
        draws = np.concatenate(list(pool.map(part, range(2))))
    assert follows_discrete_laplace(draws, num, den, reach=10)


def test_ten_million_draws_show_a_scale_wrong_by_half_a_percent() -> None:
    draws = stream("half a percent").discrete_laplace(10_000_000, num=201, den=200)
    assert not follows_discrete_laplace(draws, 1, 1, reach=10)


@pytest.mark.parametrize(("num", "den"), SCALES)
def test_a_scale_wrong_by_5_percent_is_caught(num: int, den: int) -> None:
    draws = stream(f"5 % {num}/{den}").discrete_laplace(DRAWS, num=21 * num, den=20 * den)
    assert not follows_discrete_laplace(draws, num, den)


def test_rounded_continuous_noise_is_caught() -> None:
    uniforms = stream("rounded").uniforms(DRAWS) - 0.5
    rounded = np.rint(-np.sign(uniforms) * np.log1p(-2 * np.abs(uniforms))).astype(np.int64)
    assert not follows_discrete_laplace(rounded, 1, 1)


def test_a_zero_counted_for_both_signs_is_caught() -> None:
    draws = stream("zeros").discrete_laplace(DRAWS, num=3, den=1)
    zeros = draws[draws == 0]
    assert not follows_discrete_laplace(np.concatenate([draws, zeros]), 3, 1)


def test_discrete_laplace_of_a_large_scale_follows_its_law_in_the_low_digits() -> None:
    num, modulus = 20_000, 60
    sizes = np.arange(60 * num)
    mass: Floats = np.exp(-sizes / num) * np.where(sizes == 0, 0.5, 1.0)
    chances: Floats = np.bincount(sizes % modulus, weights=mass).astype(np.float64) / mass.sum()
    draws = stream("digits").discrete_laplace(DRAWS, num=num, den=1)
    assert chi_square_accepts(np.bincount(np.abs(draws) % modulus, minlength=modulus), chances)


def test_discrete_laplace_draws_do_not_remember_each_other() -> None:
    draws = stream("pairs").discrete_laplace(DRAWS, num=1, den=1)
    edges = np.array([-1, 0, 1, 2])
    side = len(edges) + 1
    cells = np.searchsorted(edges, draws, side="right")
    chances = laplace_chances(edges, 1, 1)
    observed = np.bincount(side * cells[0::2] + cells[1::2], minlength=side**2)
    assert chi_square_accepts(observed, np.outer(chances, chances).ravel())


def opendp_draws(scale: float, count: int) -> Ints:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    measurement = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    return np.array(measurement([0] * count), dtype=np.int64)


@pytest.mark.parametrize(("num", "den"), SCALES)
def test_opendp_draws_the_same_law(num: int, den: int) -> None:
    edges = edges_for(num, den, reach=3)
    ours = stream(f"opendp {num}/{den}").discrete_laplace(DRAWS, num=num, den=den)
    theirs = opendp_draws(num / den, 20_000)
    assert two_samples_agree(counted(ours, edges), counted(theirs, edges))


def test_opendp_with_another_scale_is_told_apart() -> None:
    edges = edges_for(10, 3, reach=3)
    ours = stream("opendp apart").discrete_laplace(DRAWS, num=4, den=1)
    assert not two_samples_agree(counted(ours, edges), counted(opendp_draws(10 / 3, 20_000), edges))


def enumerated_law(num: int, den: int, reach: int) -> dict[int, float]:
    """The sampler's law without its randomness: every way to draw (fraction, whole) and a sign, weighed."""
    mass = dict.fromkeys(range(-reach, reach + 1), 0.0)
    for whole in range((reach + 1) * den // num + 2):
        for fraction in range(num):
            size = (fraction + num * whole) // den
            chance = exp(-fraction / num) / num * exp(-whole) * -expm1(-1)
            for drawn in {size, -size} & mass.keys():
                mass[drawn] += chance / 2
    accepted = sum(exp(-fraction / num) / num for fraction in range(num))
    refused_zeros = mass[0]
    return {y: share / (accepted - refused_zeros) for y, share in mass.items()}


LAWS = [(1, 3), (1, 1), (10, 3), (7, 5), (3, 7), (250, 1), (250, 3)]


@pytest.mark.parametrize(("num", "den"), LAWS)
def test_the_largest_log_ratio_of_neighbours_is_one_over_the_scale(num: int, den: int) -> None:
    reach = 20
    law = enumerated_law(num, den, reach)
    ratios = [log(law[y]) - log(law[y + 1]) for y in range(-reach, reach)]
    assert max(np.abs(ratios)) == pytest.approx(den / num, abs=1e-12, rel=0)
    assert min(np.abs(ratios)) == pytest.approx(den / num, abs=1e-12, rel=0)


@pytest.mark.parametrize(("num", "den"), LAWS)
def test_the_enumerated_law_is_the_law_on_paper(num: int, den: int) -> None:
    reach = 20
    edges = np.arange(-reach, reach + 2)
    law = enumerated_law(num, den, reach)
    on_paper = laplace_chances(edges, num, den)[1:-1]
    np.testing.assert_allclose([law[y] for y in range(-reach, reach + 1)], on_paper, rtol=0, atol=1e-14)


def reaching_chance(threshold: int, rate: float) -> float:
    return exp(-rate * threshold) / 2 if threshold > 0 else 1 - exp(rate * threshold) / 2


@pytest.mark.parametrize(("num", "den"), [(1, 3), (1, 1), (10, 3), (LARGEST, LARGEST - 1)])
@pytest.mark.parametrize("threshold", [-3, -1, 0, 1, 3])
def test_laplace_noise_reaches_a_threshold_as_often_as_it_should(threshold: int, num: int, den: int) -> None:
    drawn = stream(f"reach {threshold} {num}/{den}").laplace_at_least(DRAWS, threshold, num=num, den=den)
    assert binomial_accepts(int(drawn.sum()), DRAWS, reaching_chance(threshold, num / den))


@pytest.mark.parametrize("threshold", [-1, 1])
def test_a_laplace_rate_wrong_by_5_percent_is_caught(threshold: int) -> None:
    drawn = stream(f"reach 5 % {threshold}").laplace_at_least(DRAWS, threshold, num=21, den=20)
    assert not binomial_accepts(int(drawn.sum()), DRAWS, reaching_chance(threshold, 1.0))


def test_the_cosine_of_a_turn_is_within_1e_15() -> None:
    for u in [0.0, 0.25, 0.5, 0.75, 1.0, *np.random.default_rng(1).random(2000)]:
        assert samplers.cosine_of_turn(u) == pytest.approx(cos(2 * pi * u), abs=1e-15)


def test_uniforms_are_uniform_multiples_of_two_to_the_minus_53() -> None:
    draws = stream("uniforms").uniforms(DRAWS)
    whole = draws * 2.0**53
    assert np.array_equal(whole, np.rint(whole))
    assert 0 <= draws.min() <= draws.max() < 1
    observed = np.bincount((draws * 100).astype(np.int64), minlength=100)
    assert chi_square_accepts(observed, np.full(100, 0.01))


@pytest.mark.parametrize(
    "read", [lambda draws: draws, lambda draws: (draws[0::2] + draws[1::2]) / np.sqrt(2)]
)
def test_normals_are_normal_and_so_are_sums_of_them(read: Callable[[Floats], Floats]) -> None:
    draws = read(stream("normals").normals(DRAWS))
    edges = np.linspace(-3.5, 3.5, 71)
    chances = np.diff([0.0, *norm.cdf(edges), 1.0])
    observed = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(chances))
    assert chi_square_accepts(observed, chances)
