"""Audits of reports about records: they attack all values of a report, and come close to what is claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import log, prod

import numpy as np
import pytest
from few_draws import ALPHA, seeds

from crowdveil.audit import records
from crowdveil.audit.case import Audit, Draws
from crowdveil.audit.planted import PLANTED
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.local.krr import KRR
from crowdveil.randomness import seeded
from crowdveil.synthesis import krr, lopub

LEAST = {
    "samprivsyn": 0.66,
    "krr-all-columns": 0.59,
    "lopub": 0.67,
}  # with 50,000 tested draws: see few_draws
OURS: list[tuple[Audit, Callable[[float], Draws]]] = [
    (records.SAMPRIVSYN_AUDIT, records.pairs),
    (records.ALL_COLUMNS_AUDIT, records.all_columns),
    (records.LOPUB_AUDIT, records.filters),
]
NAMES = [audit.name for audit, _ in OURS]
SPLIT: list[tuple[Audit, list[KRR]]] = [
    (records.SAMPRIVSYN_AUDIT, records.SAMPRIVSYN.responses(records.PAIR)),
    (records.ALL_COLUMNS_AUDIT, records.ALL_COLUMNS.responses(records.TRIPLE)),
]


@pytest.mark.parametrize(("audit", "made"), OURS, ids=NAMES)
def test_ours_are_not_refuted_and_nearly_reached(audit: Audit, made: Callable[[float], Draws]) -> None:
    assert AUDITS[audit.name] is audit
    assert audit.epsilon == pytest.approx(1.0, abs=1e-9)
    assert audit.epsilon <= 1.0
    found = run_audit(replace(audit, draws=made(1.0)), draws=100_000, alpha=ALPHA, seed=1)
    assert found.verdict == "not refuted"
    assert found.bounds.epsilon is not None
    assert LEAST[audit.name] < found.bounds.epsilon < audit.epsilon


@pytest.mark.parametrize(("audit", "made"), OURS, ids=NAMES)
@pytest.mark.parametrize("seed", seeds(2))
def test_a_larger_epsilon_than_claimed_is_refuted(
    audit: Audit, made: Callable[[float], Draws], seed: int
) -> None:
    assert run_audit(replace(audit, draws=made(1.3)), draws=100_000, seed=seed).refuted


@pytest.mark.parametrize(("audit", "responses"), SPLIT, ids=[audit.name for audit, _ in SPLIT])
def test_over_all_records_and_reports_the_largest_log_ratio_is_what_is_claimed(
    audit: Audit, responses: list[KRR]
) -> None:
    laws = [response.exact_law() for response in responses]
    cells = list(product(*(range(response.cells) for response in responses)))

    def chances(told: tuple[int, ...]) -> list[float]:
        return [float(prod(law[a][b] for law, a, b in zip(laws, held, told, strict=True))) for held in cells]

    assert len(audit.events) == len(cells)
    assert max(log(max(found) / min(found)) for found in map(chances, cells)) == pytest.approx(
        audit.epsilon, abs=1e-9
    )


@pytest.mark.parametrize("world", [0, 1])
def test_reports_of_pairs_are_those_of_both_responses(world: int) -> None:
    """All of them, and no others: under the names of the first round and the only question."""
    rng = seeded(1).part("round 0").part("question 0")
    first, second = (
        response.perturb(np.full(500, world), rng=rng.part(f"column {column}"))
        for column, response in enumerate(records.SAMPRIVSYN.responses(records.PAIR))
    )
    assert records.SAMPRIVSYN_AUDIT.draws(world, 500, seeded(1)).tolist() == sorted(5 * first + second)


@pytest.mark.parametrize("world", [0, 1])
def test_reports_of_all_columns_are_what_devices_send(world: int) -> None:
    people = records.alike(records.TRIPLE, world, 50)
    told = krr.reported(people, records.ALL_COLUMNS, rng=seeded(1))
    joint = [int("".join(map(str, values)), base=3) for values in told.tolist()]
    assert records.ALL_COLUMNS_AUDIT.draws(world, 50, seeded(1)).tolist() == joint
    people = records.alike(records.PAIR, world, 50)
    first, second = lopub.reported(people, records.LOPUB, rng=seeded(1))
    sent = records.LOPUB_AUDIT.draws(world, 50, seeded(1))
    assert sent[:, :8].tolist() == first.tolist()
    assert sent[:, 8:].tolist() == second.tolist()


def test_the_values_of_a_report_are_drawn_apart() -> None:
    """One key for both values would tell more than the sum: both are kept, or neither is."""
    told = records.SAMPRIVSYN_AUDIT.draws(0, 20_000, seeded(1))
    keep = records.SAMPRIVSYN.responses(records.PAIR)[0].keep
    assert np.mean(told == 0) == pytest.approx(keep**2, abs=0.01)


def test_all_of_epsilon_for_each_value_is_given_away_by_both_together() -> None:
    found = run_audit(PLANTED["all of epsilon for each of two values"], draws=40_000, seed=1)
    assert found.event.name in ("values = 0, 0", "values = 1, 1")


def test_the_values_of_lopub_have_no_bit_in_common() -> None:
    assert [int((each[0] != each[1]).sum()) for each in records.FILTERS] == [2, 2]
