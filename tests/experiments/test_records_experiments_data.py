"""Data of the records experiments: simulated with known marginals, and the paper's real ones."""

from __future__ import annotations

from math import log2, prod
from pathlib import Path

import numpy as np
import pytest

from crowdveil.evaluation.association import cramers_v
from crowdveil.experiments import records_data
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.simulation.records import SimulatedRecords


@pytest.mark.parametrize("simulated", [SimulatedRecords(40_000), SimulatedRecords(40_000, 3, 3, 0.9, 7)])
def test_simulated_records_follow_their_law(simulated: SimulatedRecords) -> None:
    records = simulated.records(rng=seeded(1))
    for a, b in ((0, 1), (2, 0)):
        joint = simulated.population().marginal((a, b))
        assert joint.sum() == pytest.approx(1.0)
        spread = np.sqrt(joint * (1 - joint) / len(records))
        assert (np.abs(records.pair(a, b) / len(records) - joint) < 5 * spread + 1e-12).all()


def test_dependence_goes_from_none_to_all() -> None:
    none = SimulatedRecords(dependence=0.0).population().marginal((0, 1))
    assert none == pytest.approx(np.outer(none.sum(axis=1), none.sum(axis=0)))
    full = SimulatedRecords(20_000, 2, 5, 1.0, 5).records(rng=seeded(1))
    assert cramers_v(full.pair(0, 1)) == pytest.approx(1.0)


def test_the_papers_variants_of_a_table() -> None:
    codes = np.zeros((3, 9), dtype=np.int32)
    codes[:, 1] = [4, 5, 6]
    adult = Records(records_data.ADULT, codes)
    assert (len(records_data.syn1(adult)), len(records_data.syn2(adult))) == (6, 12)
    assert records_data.syn2(adult).counts("education")[4:7].tolist() == [4, 4, 4]
    wide = records_data.syn3(adult)
    assert len(wide.schema.columns) == 15
    assert np.array_equal(wide.column("education"), wide.column("education-again"))
    # Table 2: 2^26 and 2^44.
    assert round(log2(prod(records_data.ADULT.sizes))) == 26
    assert round(log2(prod(wide.schema.sizes))) == 44
    assert records_data.ADULT.declared


def test_real_records_fit_their_declared_domains(datasets: Path) -> None:
    adult, bank = records_data.adult(datasets), records_data.bank(datasets)
    assert adult.codes.shape == (30_162, 9)
    assert bank.codes.shape == (45_211, 17)
    assert adult.counts("workclass")[-1] == 0
    assert (adult.counts("income") / len(adult)).tolist() == pytest.approx([0.7511, 0.2489], abs=1e-4)
    assert bank.counts("y").tolist() == [39_922, 5_289]
    for place, size in enumerate(bank.schema.sizes):
        assert size <= 12
        assert bank.counts(place).min() > 0
    train, held_out = records_data.split(adult, rng=seeded(1))
    assert (len(train), len(held_out)) == (24_130, 6_032)
