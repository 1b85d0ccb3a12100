"""Frequency oracles: the law of a report is the one printed, to the last bit, and is what is drawn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from sparse_answers import follows, largest_log_ratio

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels import oracles as loops
from crowdveil.local.bit_chance import WHOLE, BitChance, law_of_bits
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.randomness import Words, chacha, seeded

Any_ = KRR | OUE | OLH | Bloom
ENUMERATED: list[KRR | OUE | Bloom] = [
    *(KRR(epsilon, cells) for epsilon, cells in ((1.0, 2), (0.1, 5), (5.0, 10), (1e-6, 7), (20.0, 3))),
    *(OUE(epsilon, cells) for epsilon, cells in ((1.0, 2), (0.1, 5), (5.0, 8), (1e-6, 3), (20.0, 2))),
    Bloom(1.0, 40, bits=8),
    Bloom(4.0, 20, bits=8, seed=3),
    Bloom(0.3, 12, bits=8, hashes=1),
    Bloom(2.0, 60, bits=8, hashes=3, seed=5),
]
EPSILONS = (1e-9, 0.1, 0.5, 1.0, 1 / 3, 2.0, np.e, 5.0, 9.7, 20.0, 41.0)


@pytest.mark.parametrize("oracle", ENUMERATED, ids=str)
def test_the_largest_log_ratio_of_two_codes_is_the_epsilon_printed(oracle: KRR | OUE | Bloom) -> None:
    laws = oracle.exact_law()
    assert len(laws) == oracle.cells
    assert all(sum(row) == 1 for row in laws)
    assert largest_log_ratio(laws) == pytest.approx(oracle.promise().epsilon, abs=1e-9, rel=0)


@pytest.mark.parametrize("oracle", [OLH(1.0, 9), OLH(0.1, 9), OLH(3.0, 40), OLH(1e-6, 5)], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31, 2**32 - 1])
def test_given_its_seed_a_reports_largest_log_ratio_is_the_epsilon_printed(oracle: OLH, seed: int) -> None:
    laws = oracle.exact_law(seed)
    assert len(laws) == oracle.cells
    assert all(sum(row) == 1 for row in laws)
    assert len(set(map(tuple, laws))) > 1  # or else this seed tells nothing
    assert largest_log_ratio(laws) == pytest.approx(oracle.promise().epsilon, abs=1e-9, rel=0)


def test_a_seed_that_hashes_all_codes_alike_tells_nothing() -> None:
    oracle = OLH(0.1, 2)
    alike = next(s for s in range(99) if len({int(oracle.hashed(np.array([s]), c)[0]) for c in (0, 1)}) == 1)
    assert largest_log_ratio(oracle.exact_law(alike)) == 0.0


def test_codes_whose_bits_overlap_are_closer_than_what_is_printed() -> None:
    for seed in range(20):
        oracle = Bloom(1.0, 2, bits=8, seed=seed)
        apart = int((oracle.patterns[0] != oracle.patterns[1]).sum())
        found = largest_log_ratio(oracle.exact_law())
        assert found == pytest.approx(oracle.epsilon * apart / 4, abs=1e-9, rel=0)
        assert found <= oracle.promise().epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("made", [KRR, OUE, OLH, Bloom], ids=lambda made: made.__name__)
def test_epsilon_is_nearly_what_was_asked_for_and_never_above(made: type[Any_], epsilon: float) -> None:
    oracle = made(epsilon, 30)
    assert oracle.epsilon <= epsilon
    assert oracle.epsilon == pytest.approx(epsilon, abs=1e-12 if epsilon <= 10 else 0.1)
    again = made(oracle.epsilon, 30)
    assert again == oracle  # so that a copy draws the same
    assert again.promise() == oracle.promise()


@pytest.mark.parametrize("made", [KRR, OUE, OLH, Bloom], ids=lambda made: made.__name__)
def test_more_than_can_be_drawn_is_met_with_less(made: type[Any_]) -> None:
    assert 41 < made(1000.0, 4).epsilon <= 42 * (4 if made is Bloom else 1)


@pytest.mark.parametrize("differing", [1, 2, 4, 7])
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 2.5, 30.0])
def test_a_bits_chance_is_the_least_that_is_allowed(epsilon: float, differing: int) -> None:
    found = BitChance.of(epsilon, differing)
    assert found.epsilon(differing) <= epsilon
    if found.weight > 1 and epsilon > 1e-6:
        assert BitChance(found.weight - 1).epsilon(differing) >= epsilon


# --- bits --------------------------------------------------------------------------------------------------


def state_of(seed: int = 1) -> Words:
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = seeded(seed).streams(["bits"], purpose="test")
    chacha.start(state, key, nonces[0])
    return state


def state_with(words: list[int]) -> Words:
    """A state whose next words are these."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    state[16:272] = np.array(words + [0] * (256 - len(words)), dtype=np.uint32).reshape(16, 16).T.ravel()
    return state


def slow_bits(state: Words, wanted: int, weight: int) -> int:
    """The same from whole numbers: every lane compares what it has drawn with the weight's first bits."""
    drawn = [0] * 32
    for many in range(1, 65):
        word = int(chacha.next32(state))
        drawn = [2 * number + (word >> lane & 1) for lane, number in enumerate(drawn)]
        first = weight >> (64 - many)
        lanes = [lane for lane in range(32) if wanted >> lane & 1]
        if many == 64 or all(drawn[lane] != first for lane in lanes):
            break
    return sum(1 << lane for lane in lanes if drawn[lane] < first)


@pytest.mark.parametrize("weight", [1, 2**63, WHOLE // 3, WHOLE // 1000 + 7, 2**63 - 1])
def test_bits_are_those_of_a_slow_comparison(weight: int) -> None:
    fast, slow = state_of(), state_of()
    for wanted in (0xFFFFFFFF, 1, 0x0000FF00, 0x80000001) * 20:
        bits = loops.chance_bits(fast, np.uint32(wanted), np.uint64(weight))
        assert int(bits) == slow_bits(slow, wanted, weight)
        assert fast[-1] == slow[-1]


@pytest.mark.parametrize("weight", [1, 3 * 2**40 + 5, 2**63, 2**63 - 1, WHOLE // 7])
@pytest.mark.parametrize("place", [63, 40, 1, 0])
def test_all_64_bits_of_a_weight_count(weight: int, place: int) -> None:
    """Lanes that draw the weight's own bits down to some place, and there 0 or 1."""
    pattern = 0x12345678
    words = [0xFFFFFFFF if weight >> p & 1 else 0 for p in range(63, -1, -1)]
    words[63 - place] = pattern
    drawn = [sum((word >> lane & 1) << (63 - k) for k, word in enumerate(words)) for lane in range(32)]
    expected = sum(1 << lane for lane in range(32) if drawn[lane] < weight)
    assert int(loops.chance_bits(state_with(words), np.uint32(0xFFFFFFFF), np.uint64(weight))) == expected


def test_a_law_of_bits_is_a_product() -> None:
    a, b = Fraction(1, 3), Fraction(1, 5)
    assert law_of_bits([a, b]) == [(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b]
    with pytest.raises(ValueError, match="12 bits"):
        law_of_bits([a] * 13)


# --- samplers ----------------------------------------------------------------------------------------------

MANY = 80_000


def numbers(rows: NDArray[np.uint8]) -> Ints:
    """The number of each row's string of bits."""
    found: Ints = (rows.astype(np.int64) << (8 * np.arange(rows.shape[1]))).sum(axis=1)
    return found


def floats(row: list[Fraction]) -> Floats:
    return np.array([float(chance) for chance in row])


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("oracle", [KRR(1.0, 4), KRR(3.0, 7), KRR(0.2, 30)], ids=str)
def test_krr_follows_its_law(oracle: KRR, code: int) -> None:
    told = oracle.perturb(np.full(MANY, code), rng=seeded(1))
    assert told.dtype == np.int32
    assert follows(np.bincount(told, minlength=oracle.cells), floats(oracle.exact_law()[code]))


@pytest.mark.parametrize("code", [0, 2])
@pytest.mark.parametrize("oracle", [OUE(1.0, 3), OUE(0.5, 5), OUE(1.5, 4)], ids=str)
def test_oue_follows_its_law(oracle: OUE, code: int) -> None:
    told = oracle.perturb(np.full(MANY, code), rng=seeded(2))
    assert told.dtype == np.uint8
    law = floats(oracle.exact_law()[code])
    assert follows(np.bincount(numbers(told), minlength=law.size), law)


def test_bits_of_far_cells_are_drawn_alike() -> None:
    """Of 100 cells, in four words: each bit, and each pair of neighbours across words."""
    oracle = OUE(1.0, 100)
    told = np.unpackbits(oracle.perturb(np.full(MANY, 99), rng=seeded(3)), axis=1, bitorder="little")
    assert not told[:, 100:].any()
    q = oracle.other
    for cell in (0, 31, 32, 63, 64, 95, 98):
        p = 0.5 if cell == 98 else q  # its neighbour is the true cell
        pairs = np.bincount(2 * told[:, cell] + told[:, cell + 1], minlength=4)
        assert follows(pairs, np.outer([1 - q, q], [1 - p, p]).ravel())


@pytest.mark.parametrize("code", [0, 17])
@pytest.mark.parametrize("oracle", [OLH(1.0, 20), OLH(2.5, 100), OLH(0.2, 18)], ids=str)
def test_olh_follows_its_law(oracle: OLH, code: int) -> None:
    told = oracle.perturb(np.full(MANY, code), rng=seeded(4))
    assert told.dtype == np.uint32
    past = (told[:, 1].astype(np.int64) - oracle.hashed(told[:, 0], code)) % oracle.values
    response = oracle.response
    law = [response.keep_chance] + [response.other_chance] * (oracle.values - 1)
    assert follows(np.bincount(past, minlength=oracle.values), floats(law))
    for shift in (0, 8, 16, 24):
        assert follows(np.bincount(told[:, 0] >> shift & 255, minlength=256), np.full(256, 1 / 256))
    assert np.unique(told[:, 0]).size > MANY - 10


@pytest.mark.parametrize("oracle", [Bloom(1.0, 40, bits=8), Bloom(1.0, 9, bits=8, hashes=1)], ids=str)
def test_bloom_follows_its_law(oracle: Bloom) -> None:
    told = oracle.perturb(np.full(MANY, 7), rng=seeded(5))
    law = floats(oracle.exact_law()[7])
    assert follows(np.bincount(numbers(told), minlength=256), law)


def test_a_law_wrong_by_5_percent_would_be_noticed() -> None:
    for right, wrong in ((KRR(1.0, 4), KRR(1.05, 4)), (OUE(1.0, 3), OUE(1.05, 3))):
        told = wrong.perturb(np.zeros(2 * MANY, dtype=np.int64), rng=seeded(6))
        law = floats(right.exact_law()[0])
        assert not follows(np.bincount(told.ravel(), minlength=law.size), law)
