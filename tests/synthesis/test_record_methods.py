"""All ways to synthesize records: one table of checks over methods, and what is particular to each."""

from __future__ import annotations

from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from small_tables import SIZES, dependent, pair_distance, pairs_of, schema_of

from crowdveil.errors import InputError, ParameterError
from crowdveil.evaluation import marginals
from crowdveil.guarantee import SEEDED, Guarantee, NoGuarantee
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.randomness import secure, seeded
from crowdveil.records import Records
from crowdveil.synthesis import calm, independent, krr, lopub, samprivsyn
from crowdveil.synthesis import latent_class_synthesis as latent
from crowdveil.synthesis.choices import choices, in_random_order
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.marginals import Marginal, mutual_information
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.simulated import collected, synthesize

RECORDS = dependent(4000)
EVEN = {
    (a, b): np.full((SIZES[a], SIZES[b]), 1.0 / (SIZES[a] * SIZES[b])) for a, b in combinations(range(4), 2)
}
NAMES = ["samprivsyn", "calm", "lopub", "krr", "independent", "crowdveil"]
each_method = pytest.mark.parametrize("name", NAMES)


def _made(name: str, epsilon: float = 6.0, *, seed: int | None = 0, rows: int | None = None) -> Any:
    method, rng = METHODS[name], secure() if seed is None else seeded(seed)
    return method.synthesize(RECORDS, method.parameters(epsilon), rows=rows, rng=rng)


def test_the_methods_have_names() -> None:
    assert sorted(METHODS) == sorted(NAMES)
    assert all(METHODS[name].parameters(1.0).name == name for name in NAMES)
    with pytest.raises(ParameterError, match="there is no synthesis method 'other'"):
        METHODS["other"]
    assert [name for name in NAMES if METHODS[name].takes("label")] == ["crowdveil"]
    designs = [name for name in NAMES if isinstance(METHODS[name].parameters(1.0), Design)]
    assert designs == ["samprivsyn", "calm", "independent", "crowdveil"]


@each_method
def test_pairs_are_nearer_than_even_ones(name: str) -> None:
    made = _made(name)
    assert made.method == name
    assert len(made.records) == len(RECORDS)
    assert made.records.schema == RECORDS.schema
    assert pair_distance(made.records, pairs_of(RECORDS)) < pair_distance(RECORDS, EVEN)


@pytest.mark.parametrize("name", ["samprivsyn", "calm", "krr", "crowdveil"])
def test_pairs_are_nearer_than_independent_ones(name: str) -> None:
    """Than columns put side by side without any noise: what columns tell of each other is learned."""
    far = pair_distance(_made(name, 8.0).records, pairs_of(RECORDS))
    assert far < marginals.independent(RECORDS, 2)


@each_method
def test_a_seed_repeats_a_run(name: str) -> None:
    one, again, other = _made(name), _made(name), _made(name, seed=1)
    np.testing.assert_array_equal(one.records.codes, again.records.codes)
    assert (one.records.codes != other.records.codes).any()


@each_method
def test_rows_can_be_any_number(name: str) -> None:
    for rows in (1, 37):
        assert len(_made(name, rows=rows).records) == rows


@each_method
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 7.0])
def test_the_promise_is_epsilon_for_a_record(name: str, epsilon: float) -> None:
    promise = METHODS[name].parameters(epsilon).promise(RECORDS.schema)
    assert isinstance(promise, Guarantee)
    assert promise.epsilon <= epsilon
    assert promise.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert (promise.delta, promise.unit, promise.adjacency, promise.trust) == (
        *(0.0, "record"),
        *("replace-one", "local"),
    )


@each_method
def test_what_is_promised_depends_on_the_draws_and_on_domains(name: str) -> None:
    method = METHODS[name]
    made = _made(name, seed=None)
    assert made.promise == method.parameters(6.0).promise(RECORDS.schema)
    assert not made.seeded
    assert made.parameters["epsilon"] == 6.0
    repeatable = _made(name)
    assert repeatable.seeded
    assert repeatable.promise == SEEDED
    looked = method.synthesize(dependent(300, declared=False), method.parameters(6.0))
    assert isinstance(looked.promise, NoGuarantee)
    assert "read off the data" in looked.promise.reason


@each_method
def test_without_randomness_given_it_is_the_operating_systems(name: str) -> None:
    method = METHODS[name]
    made = method.synthesize(dependent(200), method.parameters(2.0))
    assert not made.seeded
    assert isinstance(made.promise, Guarantee)


def test_everybody_sends_one_report() -> None:
    people = len(RECORDS)
    designs: list[Design] = [
        *(independent.Independent(2.0), calm.Calm(2.0, 2), calm.Calm(2.0, 3)),
        *(samprivsyn.SamPrivSyn(2.0, 900), latent.LatentClassSynthesis(2.0)),
    ]
    for design in designs:
        collection = collected(RECORDS, design, rng=seeded(0))
        assert collection.reports == sum(table.asked for table in collection.tables) == people
    assert len(krr.reported(RECORDS, krr.AllColumns(2.0), rng=seeded(0))) == people
    told = lopub.reported(RECORDS, lopub.LoPub(2.0), rng=seeded(0))
    assert [len(each) for each in told] == [people] * len(SIZES)


@each_method
@pytest.mark.parametrize("epsilon", [0, -1.0, nan, inf])
def test_a_bad_epsilon_is_refused(name: str, epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        METHODS[name].parameters(epsilon)


@each_method
def test_bad_rows_and_no_records_are_refused(name: str) -> None:
    method = METHODS[name]
    for rows in (0, -3, 2.5, True):
        with pytest.raises(ParameterError, match="rows"):
            method.synthesize(RECORDS, method.parameters(1.0), rows=rows)
    with pytest.raises(InputError, match="no records"):
        method.synthesize(Records(RECORDS.schema, np.zeros((0, 4), dtype=np.int32)), method.parameters(1.0))


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        (samprivsyn.SamPrivSyn, {"batch": 0}),
        (samprivsyn.SamPrivSyn, {"batch": 2.0}),
        (calm.Calm, {"columns": 1}),
        (calm.Calm, {"columns": 6}),
        (lopub.LoPub, {"bits": 7}),
        (lopub.LoPub, {"hashes": 0}),
        (lopub.LoPub, {"dependence": 1.5}),
        (latent.LatentClassSynthesis, {"rounds": 0}),
    ],
)
def test_bad_parameters_are_refused(parameters: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        parameters(1.0, **options)


def test_an_unknown_label_is_refused() -> None:
    with pytest.raises(ParameterError, match="no column"):
        synthesize(RECORDS, latent.LatentClassSynthesis(1.0, "none"), rng=seeded(0))


@pytest.mark.parametrize("name", ["lopub", "krr", "independent", "crowdveil"])
def test_one_column_is_enough(name: str) -> None:
    alone, method = RECORDS.select(["c3"]), METHODS[name]
    made = method.synthesize(alone, method.parameters(6.0), rng=seeded(0)).records
    assert np.abs(made.counts(0) - alone.counts(0)).sum() / 2 / len(alone) < 0.05


@pytest.mark.parametrize("name", ["samprivsyn", "calm"])
def test_pairs_need_two_columns(name: str) -> None:
    method = METHODS[name]
    with pytest.raises(ParameterError, match="columns"):
        method.synthesize(RECORDS.select(["c3"]), method.parameters(6.0))


@each_method
def test_few_people_and_little_epsilon_still_make_a_table(name: str) -> None:
    method, few = METHODS[name], RECORDS.take(np.arange(3))
    assert len(method.synthesize(few, method.parameters(0.1), rng=seeded(0)).records) == 3


# --- particular to a method --------------------------------------------------------------------------------


def test_samprivsyn_asks_more_about_pairs_that_depend() -> None:
    """At a large epsilon and small batches most people are asked about the one pair that depends."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 6000)
    codes = np.column_stack([first, first, rng.integers(0, 3, 6000), rng.integers(0, 3, 6000)])
    records = Records(schema_of((3, 3, 3, 3)), codes.astype(np.int32))
    design = samprivsyn.SamPrivSyn(12.0, 1000)
    collection = collected(records, design, rng=seeded(0))
    asked = {table.question.columns: table.asked for table in collection.tables}
    assert asked[0, 1] > 0.7 * 6000
    information = design.estimates(records.schema, collection.halves).information
    assert information[0, 1] == pytest.approx(np.log(3), abs=0.1)
    uniform = collected(records, samprivsyn.SamPrivSyn(12.0, 6000), rng=seeded(0))
    assert max(table.asked for table in uniform.tables) < 1.2 * 1000


def test_samprivsyn_single_columns_are_weighted_means() -> None:
    pairs = pairs_of(RECORDS)
    information = {pair: mutual_information(table) for pair, table in pairs.items()}
    for column, shares in enumerate(samprivsyn.Estimates(pairs, information).single_columns(SIZES)):
        np.testing.assert_allclose(shares, RECORDS.counts(column) / len(RECORDS), atol=1e-12)
    tilted = dict(pairs) | {(0, 1): np.full((3, 4), 1 / 12)}
    weights = dict.fromkeys(pairs, 0.0) | {(0, 1): 1.0, (0, 2): 3.0}
    expected = 0.25 / 3 + 0.75 * RECORDS.counts(0) / len(RECORDS)
    np.testing.assert_allclose(
        samprivsyn.Estimates(tilted, weights).single_columns(SIZES)[0], expected, atol=1e-9
    )


def test_calm_with_more_columns_is_near_too() -> None:
    made = synthesize(RECORDS, calm.Calm(8.0, 3), rng=seeded(0))
    assert pair_distance(made.records, pairs_of(RECORDS)) < 0.05


def test_calm_makes_tables_that_agree() -> None:
    tables = collected(RECORDS, calm.Calm(1.0), rng=seeded(0)).tables
    told = [Marginal(table.question.columns, table.frequencies(), table.variance()) for table in tables]
    alone, pairs = calm.agreed(told, SIZES)
    for shares in (*alone, *pairs.values()):
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1.0)
    for (a, b), table in pairs.items():
        np.testing.assert_allclose(table.sum(axis=1), alone[a], atol=1e-6)
        np.testing.assert_allclose(table.sum(axis=0), alone[b], atol=1e-6)


def test_lopub_likelihoods_are_those_of_the_exact_law() -> None:
    bloom = Bloom(1.0, 3, bits=8, hashes=1)
    law = np.array([[float(chance) for chance in row] for row in bloom.exact_law()])
    reports = np.arange(256, dtype=np.uint8)[:, None]
    found = lopub.likelihoods(reports, bloom)
    expected = law.T / law.max(axis=0)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_lopub_em_finds_the_pair() -> None:
    """With likelihoods that leave little doubt."""
    parameters = lopub.LoPub(60.0)
    filters = parameters.filters(RECORDS.schema)
    told = lopub.reported(RECORDS, parameters, rng=seeded(0))
    likely = [lopub.likelihoods(each, bloom) for each, bloom in zip(told, filters, strict=True)]
    found = lopub.joint(likely[0], likely[1])
    np.testing.assert_allclose(found, pairs_of(RECORDS)[0, 1], atol=0.01)


def test_each_step_of_lopubs_em_makes_the_reports_likelier(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = lopub.LoPub(8.0)
    filters = parameters.filters(RECORDS.schema)
    told = lopub.reported(RECORDS, parameters, rng=seeded(0))
    first, second = (lopub.likelihoods(told[place], filters[place]) for place in (0, 1))
    monkeypatch.setattr(lopub, "CLOSE", 0.0)
    likely = []
    for steps in (1, 2, 3, 5, 10, 30):
        monkeypatch.setattr(lopub, "MOST_STEPS", steps)
        shares = lopub.joint(first, second)
        likely.append(float(np.log(np.einsum("ik,kl,il->i", first, shares, second)).sum()))
    assert likely == sorted(likely)
    assert likely[-1] > likely[0] + 1


def test_lopub_forest_follows_what_depends() -> None:
    """A chain 2 - 0 - 1, and a column that depends on none."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 4000)
    near = [np.where(rng.random(4000) < 0.1, 1 - first, first) for _ in range(2)]
    records = Records(schema_of((2, 2, 2, 2)), np.column_stack([first, *near, rng.integers(0, 2, 4000)]))
    order = lopub.forest(pairs_of(records), 4, 0.2)
    assert order[0] == (0, None)
    assert sorted(order[1:3]) == [(1, 0), (2, 0)]
    assert order[3] == (3, None)
    shares = [records.counts(column) / 4000 for column in range(4)]
    made = Records(records.schema, lopub.drawn(order, shares, pairs_of(records), 4000, rng=seeded(0)))
    assert pair_distance(made, pairs_of(records)) < 0.02


def test_more_people_are_asked_about_the_label() -> None:
    asked = {}
    for label in (None, "c2"):
        tables = collected(RECORDS, latent.LatentClassSynthesis(1.0, label), rng=seeded(0)).tables
        joint = [table for table in tables if len(table.question.columns) > 1]
        held = sum(table.asked for table in joint if 2 in table.question.columns)
        asked[label] = held / sum(table.asked for table in joint)
    assert asked["c2"] > 0.7 > asked[None]


def test_bits_of_reports() -> None:
    assert KRR(1.0, 12).report_bits == 4
    assert OUE(1.0, 12).report_bits == 12
    assert OLH(1.0, 100).report_bits == 32 + 2
    assert _made("krr").report_bits == 2 + 2 + 1 + 3
    assert _made("lopub").report_bits == 4 * 64
    assert 3 <= _made("samprivsyn").report_bits <= 5


def test_choices_follow_chances_and_order_is_a_permutation() -> None:
    asked = choices(np.array([0.2, 0.0, 0.8]), seeded(0).stream("coins", purpose="test").uniforms(10_000))
    np.testing.assert_allclose(np.bincount(asked, minlength=3) / 10_000, [0.2, 0.0, 0.8], atol=0.02)
    mixed = in_random_order(RECORDS, rng=seeded(0))
    assert (mixed.codes != RECORDS.codes).any()
    for column in range(4):
        np.testing.assert_array_equal(mixed.counts(column), RECORDS.counts(column))
