"""Frequency oracles: what reports tell is unbiased, as precise as is said, and the same on any machine."""

from __future__ import annotations

from itertools import product
from math import exp, inf, nan, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from sparse_answers import ERROR

from crowdveil.arrays import Flags
from crowdveil.errors import InputError, ParameterError
from crowdveil.local import record_reports
from crowdveil.local.best_oracle import best_oracle
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import PureOracle
from crowdveil.local.oue import OUE
from crowdveil.randomness import secure, seeded

PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "records.md"
PURE: list[PureOracle] = [
    *(KRR(1.0, 10), KRR(3.0, 4), KRR(0.5, 2)),
    *(OUE(1.0, 12), OUE(0.5, 40), OUE(3.0, 70)),
    *(OLH(1.0, 12), OLH(2.5, 50), OLH(0.3, 8)),
]
EACH: list[Any] = [KRR(1.0, 9), OUE(1.0, 9), OLH(1.0, 9), Bloom(1.0, 9)]


def supports(oracle: PureOracle, reports: NDArray[Any], cell: int) -> Flags:
    """Whether each report supports a cell: the slow and obvious way."""
    if isinstance(oracle, OUE):
        return np.asarray(np.unpackbits(reports, axis=1, bitorder="little")[:, cell] == 1)
    if isinstance(oracle, OLH):
        return np.asarray(oracle.hashed(reports[:, 0], cell) == reports[:, 1])
    found: Flags = reports == cell
    return found


# --- what reports tell -------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", PURE, ids=str)
def test_frequencies_are_unbiased(oracle: PureOracle) -> None:
    many = 100_000
    shares = np.zeros(oracle.cells)
    shares[:2] = 0.7, 0.3
    codes = np.repeat([0, 1], (70_000, 30_000))
    support = oracle.support(oracle.perturb(codes, rng=seeded(1)))
    assert support.dtype == np.int64
    assert support.shape == (oracle.cells,)
    expected = many * (oracle.other + (oracle.keep - oracle.other) * shares)
    assert np.abs(support - expected).max() <= norm.isf(ERROR) * sqrt(many) / 2
    away = oracle.frequencies(support, many) - shares
    assert (np.abs(away) <= norm.isf(ERROR) * np.sqrt(oracle.variance(shares, many))).all()


@pytest.mark.parametrize("oracle", PURE, ids=str)
def test_support_counts_the_reports_that_support_a_cell(oracle: PureOracle) -> None:
    reports = oracle.perturb(np.arange(9_001) % oracle.cells, rng=seeded(2))
    support = oracle.support(reports)
    assert support.tolist() == [int(supports(oracle, reports, c).sum()) for c in range(oracle.cells)]


@pytest.mark.parametrize("oracle", PURE, ids=str)
def test_variances_are_those_of_many_repeats(oracle: PureOracle) -> None:
    """200,000 times five people, of whom none, two or all hold the cell."""
    repeats, n = 200_000, 5
    last = oracle.cells - 1
    for codes in ([0, 0, last, 1, 1], [last, last, 0, 0, 1], [last] * 5):
        share = codes.count(last) / n
        reports = oracle.perturb(np.tile(codes, repeats), rng=seeded(3))
        support = supports(oracle, reports, last).reshape(repeats, n).sum(axis=1)
        found = np.var(oracle.frequencies(support, n), ddof=1)
        assert found == pytest.approx(float(oracle.variance(share, n)), rel=0.02)


def test_variances_take_one_share_or_many() -> None:
    for oracle in PURE:
        many = oracle.variance(np.array([0.0, 0.5, 1.0]), 100)
        assert many.shape == (3,)
        assert many[1] == pytest.approx(float(oracle.variance(0.5, 100)))
        assert many[0] == pytest.approx(100 * float(oracle.variance(0.0, 10_000)))


@pytest.mark.parametrize("oracle", EACH[:3], ids=str)
def test_without_a_report_there_is_no_frequency(oracle: PureOracle) -> None:
    assert oracle.perturb(np.empty(0, dtype=np.int64)).shape[0] == 0
    assert oracle.support(oracle.perturb(np.array([], dtype=np.int64))).tolist() == [0] * 9
    with pytest.raises(ParameterError, match="at least one report"):
        oracle.frequencies(np.zeros(9, dtype=np.int64), 0)
    with pytest.raises(ParameterError, match="at least one report"):
        oracle.variance(0.1, 0)


# --- which is best -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("cells", [2, 4, 10, 25, 64, 65, 100, 656, 20_000])
def test_the_best_oracle_has_the_least_variance_for_a_rare_cell(epsilon: float, cells: int) -> None:
    best = best_oracle(epsilon, cells)
    least = min(float(made(epsilon, cells).variance(0.0, 1)) for made in (KRR, OUE, OLH))
    assert float(best.variance(0.0, 1)) <= 1.042 * least
    assert (best.name == "krr") == (cells < 3 * exp(epsilon) + 2)
    assert best.name == "krr" or (best.name == "oue") == (cells <= 64)


def test_variances_of_rare_cells_have_the_known_forms() -> None:
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        e = exp(epsilon)
        assert float(KRR(epsilon, 25).variance(0.0, 1)) == pytest.approx((23 + e) / (e - 1) ** 2)
        assert float(OUE(epsilon, 25).variance(0.0, 1)) == pytest.approx(4 * e / (e - 1) ** 2)
        g = OLH(epsilon, 25).values
        assert float(OLH(epsilon, 25).variance(0.0, 1)) == pytest.approx(
            (e - 1 + g) ** 2 / ((g - 1) * (e - 1) ** 2)
        )


def split(epsilon: float, k1: int, k2: int) -> float:
    """Twice kRR at half of epsilon, for a pair of values that are both rare: n times the variance."""
    return prod(float(KRR(epsilon / 2, k).variance(0.0, 1)) for k in (k1, k2))


@pytest.mark.parametrize(("k1", "k2"), list(product((2, 3, 5, 16, 41), repeat=2)))
def test_half_of_epsilon_twice_is_never_better_than_one_krr_on_the_pair(k1: int, k2: int) -> None:
    for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 10.0):
        assert split(epsilon, k1, k2) > float(KRR(epsilon, k1 * k2).variance(0.0, 1))


def test_figures_of_the_split_are_the_known_ones() -> None:
    g = exp(0.5)
    assert split(1.0, 5, 5) == pytest.approx((3 + g) ** 2 / (g - 1) ** 4)
    assert split(1.0, 5, 5) == pytest.approx(122, abs=0.5)
    assert float(KRR(1.0, 25).variance(0.0, 1)) == pytest.approx(8.7, abs=0.05)
    assert float(OUE(1.0, 25).variance(0.0, 1)) == pytest.approx(3.7, abs=0.05)


def test_the_page_holds_these_figures() -> None:
    text = PAGE.read_text()
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for cells, (k1, k2) in ((4, (2, 2)), (25, (5, 5)), (100, (10, 10)), (656, (16, 41))):
            found = [split(epsilon, k1, k2)]
            found += [float(made(epsilon, cells).variance(0.0, 1)) for made in (KRR, OUE, OLH)]
            figures = " | ".join(f"{x:.3g}" if x < 100 else f"{x:,.0f}" for x in found)
            row = f"| {epsilon:g} | {cells} | {figures} | {best_oracle(epsilon, cells).name} |"
            assert row in text, row


# --- streams -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", EACH, ids=str)
def test_reports_do_not_depend_on_the_number_of_threads(oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reports, "RECORDS_IN_A_BLOCK", 100)
    codes = np.arange(1_234) % 9
    runs = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(record_reports, "cores", lambda many=threads: many)
        reports = oracle.perturb(codes, rng=seeded(1))
        runs.append((reports.tolist(), oracle.support(reports).tolist()))
    assert runs[0] == runs[1] == runs[2]
    first = oracle.perturb(codes[:100], rng=seeded(1))
    assert first.tolist() == runs[0][0][:100]
    assert runs[0][0][:99] != runs[0][0][900:999]  # the same codes, in another block


@pytest.mark.parametrize("oracle", EACH, ids=str)
def test_a_seed_repeats_and_no_seed_does_not(oracle: Any) -> None:
    codes = np.arange(300) % 9
    first = oracle.perturb(codes, rng=seeded(8))
    assert (first == oracle.perturb(codes.astype(np.uint8), rng=seeded(8))).all()
    assert (first != oracle.perturb(codes, rng=seeded(9))).any()
    assert (first != oracle.perturb(codes, rng=seeded(8).part("another question"))).any()
    assert (oracle.perturb(codes) != oracle.perturb(codes)).any()
    assert (oracle.perturb(codes, rng=secure()) != oracle.perturb(codes, rng=secure())).any()


@pytest.mark.parametrize("oracle", [OUE(1.0, 100), Bloom(1.0, 100)], ids=str)
def test_how_much_is_drawn_does_not_depend_on_the_codes(oracle: Any) -> None:
    """All bits but those that the code sets are the same under one seed, to the last record."""
    low, high = (oracle.perturb(np.full(500, code), rng=seeded(1)) for code in (0, 99))
    apart = np.unpackbits(low ^ high, axis=1).sum(axis=1)
    assert apart.max() <= 4


# --- promises and refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", EACH, ids=str)
def test_the_promise_is_pure_and_local_for_a_record(oracle: Any) -> None:
    promise = oracle.promise()
    assert (promise.unit, promise.delta, promise.adjacency) == ("record", 0.0, "replace-one")
    assert (promise.trust, promise.epsilon) == ("local", oracle.epsilon)
    assert len(promise.assumptions) == 3
    assert oracle.name == type(oracle).__name__.lower()


@pytest.mark.parametrize("codes", [[0, 77], [-77, 1], [0.0, 77.0], [[0, 1]], [True, False], [2**63 + 77]])
@pytest.mark.parametrize("oracle", EACH, ids=str)
def test_codes_outside_the_table_are_refused_without_a_word_about_them(oracle: Any, codes: Any) -> None:
    with pytest.raises(InputError) as refused:
        oracle.perturb(np.array(codes), rng=seeded(1))
    assert "77" not in str(refused.value)


BAD_REPORTS: list[tuple[Any, Any, str]] = [
    (KRR(1.0, 9), np.array([0, 9]), "no cell"),
    (KRR(1.0, 9), np.array([-1]), "no cell"),
    (KRR(1.0, 9), np.array([0.5]), "whole numbers"),
    (KRR(1.0, 9), np.array([[1]]), "one row"),
    (OUE(1.0, 9), np.array([[0, 2]], dtype=np.uint8), "bit beyond"),
    (OUE(1.0, 9), np.array([[0, 1, 0]], dtype=np.uint8), "2 bytes"),
    (OUE(1.0, 9), np.array([[0, 1]]), "2 bytes"),
    (OUE(1.0, 9), np.array([0, 1], dtype=np.uint8), "2 bytes"),
    (OLH(1.0, 9), np.array([[5, 4]]), "value is none"),
    (OLH(1.0, 9), np.array([[5, -1]]), "value is none"),
    (OLH(1.0, 9), np.array([[2**32, 0]]), "32 bits"),
    (OLH(1.0, 9), np.array([[5.0, 1.0]]), "whole numbers"),
    (OLH(1.0, 9), np.array([5, 1]), "a seed and a value"),
    (Bloom(1.0, 9), np.zeros((3, 7), dtype=np.uint8), "8 bytes"),
]


@pytest.mark.parametrize(("oracle", "reports", "words"), BAD_REPORTS, ids=lambda given: str(given)[:30])
def test_reports_that_no_device_sends_are_refused(oracle: Any, reports: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        oracle.support(reports)


@pytest.mark.parametrize("made", [KRR, OUE, OLH, Bloom, best_oracle], ids=lambda made: made.__name__)
def test_bad_parameters_are_refused(made: Any) -> None:
    for cells in (1, 0, -3, 10**6 + 1, 4.0, True):
        with pytest.raises(ParameterError, match="cells must be"):
            made(1.0, cells)
    for epsilon in (0.0, -1.0, nan, inf):
        with pytest.raises(ParameterError, match="epsilon must be"):
            made(epsilon, 1000)
    with pytest.raises(ParameterError, match="too small"):
        made(1e-30, 1000)
    assert made(1.0, 10**6).cells == 10**6


def test_a_large_table_is_counted() -> None:
    for oracle in (OUE(1.0, 10_000), OLH(1.0, 10_000)):
        reports = oracle.perturb(np.full(400, 9_999), rng=seeded(1))
        support = oracle.support(reports)
        for cell in (0, 2_047, 2_048, 5_000, 9_999):
            assert support[cell] == supports(oracle, reports, cell).sum()


def test_wider_tables_take_the_same_draws_of_olh() -> None:
    """The report tells nothing of the table's size."""
    few, many = (OLH(1.0, cells).perturb(np.arange(50) % 9, rng=seeded(1)) for cells in (9, 900))
    assert few.tolist() == many.tolist()
