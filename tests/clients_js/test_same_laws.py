"""Python's devices and JavaScript's draw from the same laws: two samples, compared by a chi-square test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_side import SOURCES, broken, draws, needs_node
from numpy.typing import NDArray
from scipy.stats import chi2

from crowdveil.answers import Domain
from crowdveil.arrays import frozen
from crowdveil.audit.cells import same_users as same_answers
from crowdveil.audit.local import same_users as same_claims
from crowdveil.local import perturb
from crowdveil.local.bloom import Bloom
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.fresh_variances import FreshVariance
from crowdveil.local.gaussian_exponential import VariancePerUser
from crowdveil.local.krr import KRR
from crowdveil.local.laplace import Laplace
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import Oracle
from crowdveil.local.oue import OUE
from crowdveil.local.reports import CellMechanism, _rows
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.split_krr import SplitKRR
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.synthesis.questions import Question

pytestmark = needs_node
LEVEL = 1e-6
ALL, FEW = 1_000_000, 200_000
FEWEST = 20  # draws of both samples in a cell; rarer ones are put together

Rows = NDArray[Any]
Cells = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Case:
    """A mechanism on both sides, and the cell of a table that each draw falls into."""

    python: Callable[[int], Rows]
    call: dict[str, Any]
    cells: Cells
    usual: int = FEW


def p_value(first: Rows, second: Rows) -> float:
    """Of the chi-square test that two samples of the same size come from one law."""
    names, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = np.stack(
        [np.bincount(part, minlength=len(names)) for part in np.split(places.ravel(), [len(first)])]
    )
    rare = counts.sum(axis=0) < FEWEST
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    statistic = ((counts[0] - counts[1]) ** 2 / counts.sum(axis=0)).sum()
    return float(chi2.sf(statistic, counts.shape[1] - 1))


def row_number(rows: Rows) -> Rows:
    """A number for each row of small whole numbers."""
    whole = rows.astype(np.int64)
    numbers: Rows = whole @ (256 ** np.arange(whole.shape[1]))
    return numbers


# --- claims -------------------------------------------------------------------------------------------------


def _laplace(mechanism: Laplace | FreshVariance, value: float) -> Callable[[int], Rows]:
    def drawn(count: int) -> Rows:
        noise = np.empty(count, dtype=np.int64)
        key, nonces = seeded(18).streams(["laws"], purpose=mechanism.method)
        mechanism.fill_noise(key, nonces, frozen(np.array([0, count])), noise)
        places: Rows = noise + mechanism.grid.places(np.array([value]))
        return places[:, None]

    return drawn


def _per_user(mechanism: VariancePerUser, values: tuple[float, ...]) -> Callable[[int], Rows]:
    def drawn(count: int) -> Rows:
        noisy = perturb(same_claims(values, count), mechanism, rng=seeded(18)).claims
        out = np.empty((count, len(values)))
        out[noisy.user_codes, np.repeat(np.arange(len(noisy.objects)), noisy.counts())] = noisy.values
        return np.rint((out - mechanism.grid.low) / mechanism.grid.step)

    return drawn


def _steps(width: float) -> Cells:
    return lambda rows: np.floor(rows[:, 0] / width)


def _vectors(width: float) -> Cells:
    """Where the first claim lies, and how large all are together: the variance that they share shows."""

    def cells(rows: Rows) -> Rows:
        size = np.floor(2 * np.log2(1 + np.square(rows - 500).sum(axis=1)))
        found: Rows = 1000 * size + np.clip(np.floor((rows[:, 0] - 500) / width), -400, 400)
        return found

    return cells


PER_USER = VariancePerUser(0.5, Range(-1.0, 1.0))
FLOORED = VariancePerUser(0.5, Range(-1.0, 1.0), floor=3.0)
THREE = (0.0, 0.0, 0.0)

# --- cells and records --------------------------------------------------------------------------------------

FIVE, TEN = Domain(0, 4), Domain(0, 9)
ROW = (3, None, 0, 4, None, 1)


def _cells(mechanism: CellMechanism, row: tuple[int | None, ...], place: int) -> Callable[[int], Rows]:
    def drawn(count: int) -> Rows:
        places = np.full(count, place, dtype=np.int64)
        return _rows(same_answers(row, mechanism.domain, count), mechanism, places, seeded(18))

    return drawn


def _cell_call(mechanism: str, row: tuple[int | None, ...], place: int, **parameters: Any) -> dict[str, Any]:
    return {"draw": "cells", "mechanism": mechanism, "parameters": parameters, "values": row, "place": place}


def _record(oracle: Oracle, code: int) -> Callable[[int], Rows]:
    def drawn(count: int) -> Rows:
        rows: Rows = oracle.perturb(np.full(count, code, dtype=np.int64), rng=seeded(18))
        return rows.reshape(count, -1)

    return drawn


def record_call(oracle: Oracle, codes: list[int]) -> dict[str, Any]:
    sizes = oracle.sizes if isinstance(oracle, SplitKRR) else (oracle.cells,)
    question = Question(tuple(range(len(sizes))), tuple(sizes), oracle)
    return {"draw": "record", "question": question.to_dict(), "codes": codes}


def _hashed(oracle: OLH) -> Cells:
    """The value, whether it is the hash of two cells, and some bits of the seed."""

    def cells(rows: Rows) -> Rows:
        seeds, values = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        own = [oracle.hashed(seeds, code) == values for code in (0, 5)]
        found: Rows = ((values * 2 + own[0]) * 2 + own[1]) * 16 + (seeds >> 28)
        return found

    return cells


SLOTS = {"epsilon": 2.0, "range": [0, 4], "slots": 2, "listed": 2, "levels": 3}
UNNAMED = {"epsilon": 1.0, "range": [0, 9], "levels": 4, "unnamed": 2}
HASHES, SPLIT = OLH(1.5, 100), SplitKRR.of(2.0, (3, 4))
NOISE = {"epsilon": 1.0, "range": [0, 10], "resolution": 0.5}

CASES = {
    "laplace": Case(
        _laplace(Laplace(1.0, Range(0, 10), 0.5), 3.3),
        {"draw": "claims", "mechanism": "laplace", "parameters": NOISE, "values": [3.3]},
        _steps(1),
    ),
    "laplace, odd scale": Case(
        _laplace(Laplace(0.7, Range(-3, 8)), 99.0),
        {
            "draw": "claims",
            "mechanism": "laplace",
            "parameters": {"epsilon": 0.7, "range": [-3, 8]},
            "values": [99],
        },
        _steps(37),
    ),
    "gaussian-exponential": Case(
        _laplace(FreshVariance(Range(0, 1), 0.01, 3.0), 0.5),
        {
            "draw": "claims",
            "mechanism": "gaussian-exponential",
            "parameters": {"range": [0, 1], "resolution": 0.01, "rate": 3.0},
            "values": [0.5],
        },
        _steps(3),
    ),
    "gaussian-exponential-per-user": Case(
        _per_user(PER_USER, THREE),
        {
            "draw": "claims",
            "mechanism": "gaussian-exponential-per-user",
            "parameters": {"rate": 0.5, "range": [-1, 1]},
            "values": THREE,
        },
        _vectors(100),
        FEW // 2,
    ),
    "gaussian-exponential-per-user, floor": Case(
        _per_user(FLOORED, THREE),
        {
            "draw": "claims",
            "mechanism": "gaussian-exponential-per-user",
            "parameters": {"rate": 0.5, "range": [-1, 1], "floor": 3.0},
            "values": THREE,
        },
        _vectors(100),
        FEW // 2,
    ),
    "rr": Case(
        _cells(CellResponse(1.0, FIVE), ROW[:3], 0),
        _cell_call("cell-response", ROW[:3], 0, epsilon=1.0, range=[0, 4]),
        row_number,
    ),
    "three-symbols": Case(
        _cells(CellResponse(1.0, TEN, 2), ROW[:3], 0),
        _cell_call("cell-response", ROW[:3], 0, epsilon=1.0, range=[0, 9], levels=2),
        row_number,
    ),
    "slots": Case(
        _cells(SlotResponse(2.0, FIVE, 2, 2, 3), ROW, 1),
        _cell_call("slots", ROW, 1, **SLOTS),
        row_number,
    ),
    "slots, unnamed": Case(
        _cells(SlotResponse(1.0, TEN, levels=4, unnamed=2), ROW, 3),
        _cell_call("slots", ROW, 3, **UNNAMED),
        row_number,
    ),
    "krr": Case(_record(KRR(1.0, 7), 4), record_call(KRR(1.0, 7), [4]), row_number, ALL),
    "oue": Case(_record(OUE(1.0, 10), 8), record_call(OUE(1.0, 10), [8]), row_number, ALL),
    "olh": Case(_record(HASHES, 5), record_call(HASHES, [5]), _hashed(HASHES), ALL),
    "bloom": Case(
        _record(Bloom(2.0, 20, bits=16), 3), record_call(Bloom(2.0, 20, bits=16), [3]), row_number, ALL
    ),
    "split-krr": Case(_record(SPLIT, 7), record_call(SPLIT, [1, 3]), row_number, ALL),
}


def compared(case: Case, count: int, sources: Path = SOURCES) -> float:
    rows = draws(case.call, count, "laws", sources=sources)
    return p_value(case.cells(case.python(count)), case.cells(rows))


@pytest.mark.parametrize("name", CASES)
def test_both_sides_draw_from_one_law(name: str) -> None:
    assert compared(CASES[name], CASES[name].usual) > LEVEL


@pytest.mark.slow_audit
@pytest.mark.parametrize("name", CASES)
def test_both_sides_draw_from_one_law_a_million_times(name: str) -> None:
    assert compared(CASES[name], ALL) > LEVEL


OTHER_LAWS = {
    "laplace": (
        "discrete_laplace.js",
        "bernoulliExpFraction(words, fraction, num)",
        "bernoulliExpFraction(words, 0, num)",
    ),
    "gaussian-exponential-per-user": ("variance_per_user.js", "drawn + 1, CAP", "drawn + 200, CAP"),
    "three-symbols": ("scale.js", "below(words, steps) < rest", "false"),
    "slots": ("slot_response.js", "answered[below(words, answered.length)]", "answered[0]"),
    "krr": ("response.js", "place >= symbol ? place + 1 : place", "place"),
    "oue": (
        "bit_chance.js",
        "let less = 0",
        "let less = words.next32() & words.next32() & words.next32() & 1",
    ),
    "olh": ("olh.js", "const seed = words.next32()", "const seed = words.next32() >>> 1"),
}


@pytest.mark.parametrize("name", OTHER_LAWS)
def test_another_law_is_told_apart(name: str, tmp_path: Path) -> None:
    """The comparison can fail: a small mistake in the sampler shows."""
    assert compared(CASES[name], CASES[name].usual, broken(tmp_path, OTHER_LAWS[name])) < LEVEL
