"""Distances of marginals, answers to questions and associations, by hand on tiny tables."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats.contingency import association

from crowdveil.errors import ParameterError
from crowdveil.evaluation import marginals
from crowdveil.evaluation.association import associations, cramers_v, mean_difference
from crowdveil.evaluation.comparison import compare
from crowdveil.evaluation.queries import Queries, answered, query_errors
from crowdveil.randomness import seeded
from crowdveil.records import Column, Records, Schema

AB = Schema((Column("x", ("a", "b")), Column("y", ("c", "d", "e"))))
REAL = Records(AB, np.array([[0, 0], [0, 0], [1, 1], [1, 2]]))
MADE = Records(AB, np.array([[0, 0], [1, 0]]))


def _random(rows: int, sizes: tuple[int, ...], seed: int) -> Records:
    rng = np.random.default_rng(seed)
    columns = tuple(
        Column(f"c{place}", tuple(f"v{value}" for value in range(size))) for place, size in enumerate(sizes)
    )
    first = rng.integers(0, min(sizes), rows)
    codes = [np.where(rng.random(rows) < 0.5, first, rng.integers(0, size, rows)) for size in sizes]
    return Records(Schema(columns), np.column_stack(codes))


def _slow_tvd(real: Records, made: Records, columns: tuple[int, ...]) -> float:
    p, q = (Counter(map(tuple, table.codes[:, columns].tolist())) for table in (real, made))
    return sum(abs(p[cell] / len(real) - q[cell] / len(made)) for cell in {*p, *q}) / 2


def test_distances_by_hand() -> None:
    one = marginals.distances(REAL, MADE, 1)
    assert one.columns == ((0,), (1,))
    assert one.tvd == (0.0, 0.5)
    assert (one.mean, one.largest, one.sampled) == (0.25, 0.5, False)
    two = marginals.distances(REAL, MADE, 2)
    assert two.tvd == (0.5,)
    # Cells of real rows: (a, c) has 1/2 and 1/2, (b, d) and (b, e) 1/4 and nothing.
    assert marginals.relative_error(REAL, MADE) == pytest.approx((0 + 1 + 1) / 3)
    assert marginals.independent(REAL, 1) == 0.0
    # P - pa pb is 1/4 in (a, c), -1/4 in (b, c), -+1/8 in the four others.
    assert marginals.independent(REAL, 2) == pytest.approx(0.5)


@pytest.mark.parametrize("dense", [True, False])
def test_distances_equal_those_of_a_slow_twin(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not dense:
        monkeypatch.setattr(marginals, "_DENSE", 1)
    real, made = _random(500, (3, 2, 4, 5), 1), _random(300, (3, 2, 4, 5), 2)
    for ways in (1, 2, 3, 4):
        found = marginals.distances(real, made, ways)
        assert found.columns == tuple(combinations(range(4), ways))
        assert found.tvd == pytest.approx([_slow_tvd(real, made, columns) for columns in found.columns])
    alone = [real.counts(place) / len(real) for place in (0, 2, 3)]
    p = Counter(map(tuple, real.codes[:, (0, 2, 3)].tolist()))
    cells = product(range(3), range(4), range(5))
    slow = sum(abs(p[a, b, c] / 500 - alone[0][a] * alone[1][b] * alone[2][c]) for a, b, c in cells) / 2
    assert marginals.independent(real.select([0, 2, 3]), 3) == pytest.approx(slow)


def test_relative_errors_of_domains_past_64_bits() -> None:
    wide = Schema(tuple(Column(f"c{place}", tuple(map(str, range(1000)))) for place in range(12)))
    codes = np.random.default_rng(1).integers(0, 1000, (50, 12), dtype=np.int32)
    assert marginals.relative_error(Records(wide, codes), Records(wide, codes[::-1])) == 0.0
    assert marginals.relative_error(Records(wide, codes), Records(wide, (codes + 1) % 1000)) == 1.0


def test_of_many_tables_some_are_drawn_repeatably() -> None:
    real, made = _random(50, (2,) * 12, 1), _random(50, (2,) * 12, 2)
    some = marginals.distances(real, made, 3, most=20, rng=seeded(1))
    assert some.sampled
    assert len(set(some.columns)) == 20
    assert some == marginals.distances(real, made, 3, most=20, rng=seeded(1))
    assert some.columns != marginals.distances(real, made, 3, most=20, rng=seeded(2)).columns
    assert len(marginals.distances(real, made, 2, most=20).columns) == 66


def test_tables_of_other_schemas_or_too_many_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="same schema"):
        marginals.distances(REAL, _random(5, (2, 3), 1), 1)
    with pytest.raises(ParameterError, match="no tables of 3"):
        marginals.distances(REAL, MADE, 3)


def test_questions_by_hand() -> None:
    asked = [{0: np.array([True, False])}, {0: np.array([True, True]), 1: np.array([False, True, True])}]
    assert answered(REAL, asked).tolist() == [0.5, 0.5]
    assert answered(MADE, asked).tolist() == [0.5, 0.0]


def test_questions_have_intervals_and_sets_that_are_neither_empty_nor_full() -> None:
    schema = Schema((Column("n", None, tuple(range(9))), *AB.columns))
    asked = Queries(300, 2).draw(schema, rng=seeded(1))
    lengths = set()
    for question in asked:
        assert len(question) == 2
        for place, codes in question.items():
            assert 0 < codes.sum() < codes.size
            if place == 0:
                assert np.abs(np.diff(np.pad(codes, 1).astype(int))).sum() == 2
                lengths.add(int(codes.sum()))
    assert lengths == set(range(1, 8))
    assert len(Queries(1, 9).draw(schema, rng=seeded(1))[0]) == 3


def test_errors_of_questions() -> None:
    assert query_errors(REAL, REAL).mean_absolute == 0.0
    queries = Queries(200, 2, 0.3)
    asked = queries.draw(AB, rng=seeded(4))
    p, q = answered(REAL, asked), answered(MADE, asked)
    errors = query_errors(REAL, MADE, queries, rng=seeded(4))
    assert errors.mean_absolute == pytest.approx(np.mean(np.abs(p - q)))
    assert errors.mean_relative == pytest.approx(
        np.mean([abs(a - b) / max(a, 0.3) for a, b in zip(p, q, strict=True)])
    )
    for wrong in ((0, 1, 0.1), (1, 0, 0.1), (1, 1, 0.0)):
        with pytest.raises(ParameterError):
            Queries(*wrong)


def test_cramers_v() -> None:
    assert cramers_v(np.array([[5, 0], [0, 7]])) == pytest.approx(1.0)
    assert cramers_v(np.array([[2, 4], [3, 6]])) == pytest.approx(0.0)
    assert cramers_v(np.array([[2, 4], [0, 0]])) == 0.0
    table = np.array([[5, 1, 3], [2, 8, 1]])
    assert cramers_v(table) == pytest.approx(association(table, method="cramer"))
    assert cramers_v(np.pad(table, ((0, 1), (2, 0)))) == pytest.approx(cramers_v(table))
    found = associations(REAL)
    assert found.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert mean_difference(found, associations(MADE)) == 1.0


def test_a_comparison_holds_all_of_it() -> None:
    real, made = _random(400, (3, 2, 4, 2), 1), _random(300, (3, 2, 4, 2), 2)
    found = compare(real, made, label="c1")
    told = found.to_dict()
    assert told["secret"] is True
    assert told["rows"] == {"real": 400, "synthetic": 300}
    assert set(told["marginals"]) == {"1", "2", "3"}
    assert len(told["pairs"]) == 6
    matrix = found.pair_distances()
    assert matrix[1, 2] == matrix[2, 1] == pytest.approx(_slow_tvd(real, made, (1, 2)))
    assert matrix[3, 3] == pytest.approx(_slow_tvd(real, made, (3,)))
    assert set(told["learning"]["models"]) == {"logistic regression", "boosting"}
    assert told["learning"]["tested"] == 80
    assert told == compare(real, made, label="c1").to_dict()
    same = compare(real, real).to_dict()
    assert same["marginals"]["3"]["mean_tvd"] == same["relative_error"] == 0.0
    assert same["marginals"]["2"]["mean_tvd_if_resampled"] > 0
    assert "learning" not in same
    with pytest.raises(ParameterError, match="label"):
        compare(real, made, held_out=real)


def test_a_single_column_is_compared_too() -> None:
    one = REAL.select(["y"])
    told = compare(one, MADE.select(["y"])).to_dict()
    assert set(told["marginals"]) == {"1"}
    assert told["pairs"] == []
    assert told["association"]["mean_absolute_difference"] == 0.0
