"""The hash of OLH and Bloom: what a browser computes, and close to uniform for every pair of codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm
from sparse_answers import ERROR, follows

from crowdveil.errors import ParameterError
from crowdveil.local.bloom import Bloom
from crowdveil.local.olh import MOST_VALUES, OLH
from crowdveil.randomness import seeded

VECTORS = [
    # seed, code, hash, and its value of 2, of 4 and of 65,536; from a browser's engine
    (0, 0, 146975875, 0, 0, 2242),
    (0, 1, 2255095836, 1, 2, 34410),
    (1, 0, 3088977911, 1, 2, 47134),
    (123456789, 42, 4278906980, 1, 3, 65290),
    (4294967295, 999999, 3437449368, 1, 3, 52451),
    (2718281828, 7, 833714563, 0, 0, 12721),
]


def mix(x: int) -> int:
    for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB)):
        x = (x ^ x >> shift) * factor % 2**32
    return x ^ x >> 14


def hashed(seed: int, code: int) -> int:
    return mix(seed ^ mix((code + 0x9E3779B9) % 2**32))


def seeds(many: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return (2**32 * seeded(seed).stream("seeds", purpose="test").uniforms(many)).astype(np.uint32)


@pytest.mark.parametrize(("seed", "code", "expected", "two", "four", "most"), VECTORS)
def test_vectors(seed: int, code: int, expected: int, two: int, four: int, most: int) -> None:
    assert hashed(seed, code) == expected
    for epsilon, values, value in ((0.1, 2, two), (1.0, 4, four), (15.0, MOST_VALUES, most)):
        oracle = OLH(epsilon, 10**6)
        assert oracle.values == values
        assert oracle.hashed(np.array([seed]), code).tolist() == [value]
        assert int(np.floor(expected * float(values) / 2**32)) == value  # as a browser divides


def test_the_hash_is_that_of_whole_numbers() -> None:
    oracle = OLH(3.0, 500)
    for code in (0, 1, 255, 256, 499):
        for seed, value in zip(drawn := seeds(200), oracle.hashed(drawn, code), strict=True):
            assert value == hashed(int(seed), code) * oracle.values >> 32


def test_values_are_as_many_as_is_best_and_no_more_than_a_report_holds() -> None:
    assert [OLH(epsilon, 5).values for epsilon in (0.01, 0.4, 0.41, 1.0, 2.0, 4.0, 11.0, 12.0, 40.0)] == [
        *(2, 2, 3, 4, 8, 56, 59875),
        *(MOST_VALUES, MOST_VALUES),
    ]


@pytest.mark.parametrize("values", [(0.1, 2), (1.0, 4), (2.0, 8), (3.0, 21)])
def test_two_codes_share_a_value_as_rarely_as_random_functions_do(values: tuple[float, int]) -> None:
    """Collisions of 300 pairs over 30,000 seeds: each pair's rate, and all together by chi-square."""
    epsilon, g = values
    oracle, drawn = OLH(epsilon, 10**6), seeds(30_000, g)
    first = [0, 1, 2, 3, 7, 100, 999_998]
    pairs = [(a, a + step) for a in first for step in (1, 2, 4, 8, 16, 1024, 65_536) if a + step < 10**6]
    pairs += [(a, 999_999 - a) for a in range(250)]
    shared = np.array([(oracle.hashed(drawn, a) == oracle.hashed(drawn, b)).sum() for a, b in pairs])
    expected, spread = drawn.size / g, drawn.size * (1 / g) * (1 - 1 / g)
    statistic = float(((shared - expected) ** 2 / spread).sum())
    assert chi2.isf(1 - ERROR, shared.size) <= statistic <= chi2.isf(ERROR, shared.size)
    assert abs(shared.sum() - expected * shared.size) <= norm.isf(ERROR) * np.sqrt(spread * shared.size)


def test_values_of_two_codes_are_independent() -> None:
    oracle, drawn = OLH(1.0, 1_000), seeds(100_000)
    for a, b in ((0, 1), (2, 3), (0, 512), (998, 999)):
        joint = np.bincount(4 * oracle.hashed(drawn, a) + oracle.hashed(drawn, b), minlength=16)
        assert follows(joint, np.full(16, 1 / 16))


def test_under_one_seed_codes_spread_over_all_values() -> None:
    oracle = OLH(1.0, 20_000)
    for seed in (0, 1, 2**32 - 1):
        spread = [int(oracle.hashed(np.array([seed]), code)[0]) for code in range(oracle.cells)]
        assert follows(np.bincount(spread, minlength=4), np.full(4, 1 / 4))


# --- Bloom -------------------------------------------------------------------------------------------------


def test_a_code_sets_the_bits_of_its_hashes() -> None:
    oracle = Bloom(1.0, 300, bits=64, hashes=3, seed=9)
    for code in range(300):
        places = {hashed(hashed(9, number), code) * 64 >> 32 for number in range(3)}
        assert set(np.flatnonzero(oracle.patterns[code]).tolist()) == places
    assert (Bloom(1.0, 300, seed=1).patterns != Bloom(1.0, 300, seed=2).patterns).any()


def test_two_codes_differ_in_at_most_twice_as_many_bits_as_hashes() -> None:
    patterns = Bloom(1.0, 200).patterns.astype(np.int64)
    apart = np.abs(patterns[:, None] - patterns[None]).sum(axis=2)
    assert apart.max() == 4


def test_counts_of_bits_are_as_expected_and_shares_unbiased() -> None:
    oracle, many = Bloom(4.0, 20), 100_000
    shares = np.zeros(20)
    shares[[0, 3, 19]] = 0.5, 0.3, 0.2
    codes = np.repeat([0, 3, 19], (50_000, 30_000, 20_000))
    counts = oracle.support(oracle.perturb(codes, rng=seeded(1)))
    expected = oracle.expected_bits @ shares
    assert oracle.expected_bits.shape == (64, 20)
    assert (np.abs(counts / many - expected) <= norm.isf(ERROR) * np.sqrt(0.25 / many)).all()
    assert np.linalg.matrix_rank(oracle.patterns.T.astype(float)) == 20
    exact = oracle.frequencies(expected * many, many)  # type: ignore[arg-type]
    assert exact == pytest.approx(shares, abs=1e-9)
    away = np.abs(oracle.frequencies(counts, many) - shares)
    assert (away <= norm.isf(ERROR) * np.sqrt(oracle.variance(many))).all()


def test_variances_of_shares_are_those_of_many_repeats() -> None:
    """50,000 times five people; the spread of a variance over so many is .6 %, and 20 cells are averaged."""
    oracle, repeats, n = Bloom(4.0, 20), 50_000, 5
    rows = oracle.perturb(np.tile([0, 0, 3, 19, 19], repeats), rng=seeded(3))
    bits = np.unpackbits(rows, axis=1, bitorder="little").reshape(repeats, n, 64).sum(axis=1)
    found = np.var([oracle.frequencies(each, n) for each in bits], axis=0, ddof=1)
    assert (found / oracle.variance(n)).mean() == pytest.approx(1.0, abs=0.02)
    assert found == pytest.approx(oracle.variance(n), rel=0.05)
    with pytest.raises(ParameterError, match="at least one report"):
        oracle.variance(0)


def test_more_cells_than_bits_still_have_shares_that_sum_to_about_one() -> None:
    oracle = Bloom(4.0, 500)
    counts = oracle.support(oracle.perturb(np.arange(50_000) % 500, rng=seeded(2)))
    assert oracle.frequencies(counts, 50_000).sum() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"bits": 12}, "multiple of 8"),
        ({"bits": 0}, "multiple of 8"),
        ({"bits": 4104}, "multiple of 8"),
        ({"bits": 64.0}, "multiple of 8"),
        ({"hashes": 0}, "hashes"),
        ({"hashes": 33}, "hashes"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"),
    ],
    ids=str,
)
def test_bad_bloom_parameters_are_refused(bad: dict[str, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Bloom(1.0, 9, **bad)
