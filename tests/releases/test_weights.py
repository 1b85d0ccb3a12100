"""PrisCrowd's weights: equal to their slow twin, and moved by nothing that should not move them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError, ParameterError
from crowdveil.randomness import seeded
from crowdveil.releases import weights
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.weights import Weights
from crowdveil.simulation.claims import SimulatedClaims

modest = settings(deadline=None, derandomize=True, max_examples=60)

Floats = naive.Floats
Loss = Literal["mean", "sum"]
Normaliser = Literal["sum", "max"]
Rows = dict[tuple[int, int], float]  # (object, user): value

ONE = LocalEngine(1)


def claims_of(rows: Rows) -> Claims:
    return Claims.from_columns([i for i, _ in rows], [s for _, s in rows], list(rows.values()))


def dense(objects: list[list[float]]) -> Rows:
    """User s makes the s-th claim about every object."""
    return {(i, s): value for i, values in enumerate(objects) for s, value in enumerate(values)}


def estimate(
    claims: Claims, *, loss: Loss = "mean", normaliser: Normaliser = "sum", engine: LocalEngine = ONE
) -> Weights:
    floor = weights.smallest_bandwidth(claims, engine)
    return weights.estimate_weights(claims, floor=floor, loss=loss, normaliser=normaliser, engine=engine)


def assert_close(found: Weights, expected: Weights | naive.Estimate, within: float) -> None:
    for field in ("user", "local", "combined"):
        np.testing.assert_allclose(
            getattr(found, field), getattr(expected, field), rtol=0, atol=within, err_msg=field
        )
    np.testing.assert_allclose(found.bandwidth, expected.bandwidth, rtol=within)


def assert_equal_to_twin(
    claims: Claims, found: Weights, loss: Loss = "mean", normaliser: Normaliser = "sum"
) -> naive.Estimate:
    """Local weights stop within 1e-6 of where they would rest; everything else is the same number."""
    floor = naive.smallest_bandwidth(claims)
    resting = naive.estimate_weights(claims, floor, loss=loss, normaliser=normaliser)
    np.testing.assert_allclose(found.local, resting.local, rtol=0, atol=1e-6)
    expected = naive.estimate_weights(claims, floor, loss=loss, normaliser=normaliser, local=found.local)
    assert_close(found, expected, 1e-9)
    return expected


def by_name(claims: Claims, per_claim: Floats) -> dict[tuple[Any, Any], float]:
    """A number for each (object, user)."""
    objects = claims.objects.gather(np.repeat(np.arange(len(claims.objects)), claims.counts()))
    users = claims.users.gather(claims.user_codes)
    return dict(zip(zip(objects, users, strict=True), per_claim.tolist(), strict=True))


def normals(count: int, seed: int) -> list[float]:
    return [*np.random.default_rng(seed).normal(5, 0.5, count)]


CASES: dict[str, Rows] = {
    "one claim": dense([[5.0]]),
    "two claims": dense([[1.0, 2.0]]),
    "all equal": dense([[3.0] * 10, [3.0] * 4]),
    "some objects equal": dense([[3.0] * 10, normals(10, 1), [0.0] * 9 + [1.0]]),
    "seven claims": dense([[*normals(6, 2), 9.0]] * 2),
    "eight claims": dense([[*normals(7, 3), 9.0]] * 2),
    "ties": dense([[0.0] * 6 + [1.0] * 3 + [5.0], [2.0] * 9 + [3.0], [0.0, 1.0] * 5]),
    "mirrored ties": dense([[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]]),
    "far from zero": dense([[1e8 + value for value in [*normals(11, seed), 20.0]] for seed in (4, 5, 6)]),
    "a claim far off": dense([[*normals(11, 7), 60.0], normals(12, 8)]),
    "users without a usable claim": dense([normals(9, 11)]) | {(1, 90): 4.0, (2, 91): 1.0, (2, 92): 1.0},
    "one user holds all loss": dense([[1.0] * 5 + [8.0], [2.0] * 5 + [7.0]]),
}


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES)
@pytest.mark.parametrize("loss", ["mean", "sum"])
@pytest.mark.parametrize("normaliser", ["sum", "max"])
def test_weights_equal_their_twin(rows: Rows, loss: Loss, normaliser: Normaliser) -> None:
    claims = claims_of(rows)
    found = estimate(claims, loss=loss, normaliser=normaliser)
    expected = assert_equal_to_twin(claims, found, loss, normaliser)
    assert (found.sweeps, found.converged) == (expected.sweeps, expected.converged)


def test_weights_equal_their_twin_where_claims_are_many() -> None:
    claims = claims_of(dense([normals(90, 9) + [9.5] * 40, normals(130, 10)]))
    assert_equal_to_twin(claims, estimate(claims))


@st.composite
def sparse_rows(draw: st.DrawFn, most_users: int = 14) -> Rows:
    """A few objects on a grid of eighths, where ties and mirror images are exact."""
    users = draw(st.integers(1, most_users))
    offset = draw(st.sampled_from([0.0, 1e8]))
    cells = st.dictionaries(st.integers(0, users - 1), st.integers(-30, 30), min_size=1, max_size=users)
    objects = draw(st.lists(cells, min_size=1, max_size=4))
    return {(i, s): offset + value / 8 for i, claims in enumerate(objects) for s, value in claims.items()}


@modest
@given(rows=sparse_rows(), loss=st.sampled_from(["mean", "sum"]), normaliser=st.sampled_from(["sum", "max"]))
def test_weights_of_any_claims_equal_their_twin(rows: Rows, loss: Loss, normaliser: Normaliser) -> None:
    claims = claims_of(rows)
    found = estimate(claims, loss=loss, normaliser=normaliser)
    # A loss is known to some 1e-15 of the whole: a share of exp(-g) has too few digits where g is large.
    assume(found.converged and found.user.max() < 8)
    assert_equal_to_twin(claims, found, loss, normaliser)


@modest
@given(rows=sparse_rows())
def test_weights_are_shares_with_a_floor(rows: Rows) -> None:
    claims = claims_of(rows)
    found = estimate(claims)
    assert np.isfinite(found.user).all()
    assert (found.user >= 0).all()
    for i, n in enumerate(claims.counts()):
        inside = slice(claims.offsets[i], claims.offsets[i + 1])
        local, combined = found.local[inside], found.combined[inside]
        assert local.sum() == pytest.approx(1, abs=1e-12)
        assert combined.sum() == pytest.approx(1, abs=1e-12)
        assert combined.min() >= 0.1 / n * (1 - 1e-12)
        assert combined.max() / combined.min() <= 9 * n + 1 + 1e-9
        assert (found.bandwidth[i] == 0) == (np.ptp(claims.of(i)) == 0)


@modest
@given(rows=sparse_rows(), data=st.data())
def test_the_order_of_rows_does_not_change_a_bit(rows: Rows, data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(rows.items()))))
    one, other = estimate(claims_of(rows)), estimate(claims_of(shuffled))
    for field in ("user", "local", "combined", "bandwidth"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes()


def tied(seed: int) -> Rows:
    """Eight objects rated from 0 to 6 by most of fifteen users."""
    rng = np.random.default_rng(seed)
    return {
        (i, s): float(rng.integers(0, 7)) for i in range(8) for s in range(15) if s < 10 or rng.random() < 0.7
    }


@pytest.mark.parametrize("seed", range(8))
def test_renaming_users_moves_neither_weights_nor_releases(seed: int) -> None:
    rows = tied(seed)
    new_name = np.random.default_rng(seed).permutation(15).tolist()
    claims = claims_of(rows)
    renamed = claims_of({(i, new_name[s]): value for (i, s), value in rows.items()})
    one, other = estimate(claims), estimate(renamed)
    np.testing.assert_allclose(other.user[new_name], one.user, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.bandwidth, one.bandwidth, rtol=1e-9)
    for field in ("local", "combined"):
        before, after = by_name(claims, getattr(one, field)), by_name(renamed, getattr(other, field))
        assert {(i, new_name[s]): pytest.approx(w, abs=1e-9) for (i, s), w in before.items()} == after
    _, values, _ = draw(claims, one, PrivacyTest(), 20, purpose="test", rng=seeded(seed), engine=ONE)
    _, again, _ = draw(renamed, other, PrivacyTest(), 20, purpose="test", rng=seeded(seed), engine=ONE)
    np.testing.assert_allclose(again, values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("a", "b"), [(2.0, 0.0), (1.0, 1024.0), (0.125, -3.0), (3.7, -12.3), (1e-6, 0.0), (1e6, 1e9)]
)
def test_shifting_and_scaling_values_scales_the_bandwidth_only(seed: int, a: float, b: float) -> None:
    rows = SimulatedClaims(users=15, objects=8).claims(rng=seeded(seed))
    moved: Any = a * rows.values + b
    objects = rows.objects.gather(np.repeat(np.arange(len(rows.objects)), rows.counts()))
    users = rows.users.gather(rows.user_codes)
    before = estimate(rows)
    after = estimate(Claims.from_columns(objects.to_list(), users.to_list(), moved))
    for field in ("user", "local", "combined"):
        np.testing.assert_allclose(getattr(after, field), getattr(before, field), rtol=0, atol=1e-6)
    np.testing.assert_allclose(after.bandwidth, a * before.bandwidth, rtol=1e-6)


@pytest.mark.parametrize("normaliser", ["sum", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_mirroring_values_moves_no_weight(seed: int, normaliser: Normaliser) -> None:
    claims = claims_of(tied(seed))
    mirrored = claims_of({key: -value for key, value in tied(seed).items()})
    one, other = estimate(claims, normaliser=normaliser), estimate(mirrored, normaliser=normaliser)
    np.testing.assert_allclose(other.user, one.user, rtol=0, atol=1e-9)
    weights_before, weights_after = by_name(claims, one.combined), by_name(mirrored, other.combined)
    assert {key: pytest.approx(w, abs=1e-9) for key, w in weights_before.items()} == weights_after


SYMMETRIC = [[0.0] * 4 + [1.0] * 4, [0.0, 0.0, 3.0, 3.0], [0.0, 1.0, 2.0], [0.2, 0.2, 0.3, 0.3]]


@pytest.mark.parametrize("normaliser", ["sum", "max"])
@pytest.mark.parametrize("values", SYMMETRIC, ids=str)
def test_no_side_of_a_symmetric_object_is_trusted_more(values: list[float], normaliser: Normaliser) -> None:
    found = estimate(claims_of(dense([values])), normaliser=normaliser)
    np.testing.assert_allclose(found.user, found.user[::-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.combined, found.combined[::-1], rtol=0, atol=1e-6)


@cache
def many() -> Claims:
    """42,000 claims: several blocks, with some objects of equal claims."""
    claims = SimulatedClaims(users=40, objects=1050).claims(rng=seeded(3))
    return claims.clamped(4.0, 6.0)[0]


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    one, two = estimate(many(), engine=LocalEngine(1)), estimate(many(), engine=LocalEngine(2))
    for field in ("user", "local", "combined", "bandwidth"):
        assert getattr(one, field).tobytes() == getattr(two, field).tobytes()
    assert one.sweeps == two.sweeps


@pytest.mark.parametrize("normaliser", ["sum", "max"])
@pytest.mark.parametrize("seed", range(5))
def test_every_liar_is_trusted_less_than_every_honest_user(seed: int, normaliser: Normaliser) -> None:
    simulation = SimulatedClaims(unreliable=0.3)
    found = estimate(simulation.claims(rng=seeded(seed)), normaliser=normaliser)
    # Weights that tell nothing would rank the 9 liars of 30 users so with probability 1 / C(30, 9) < 1e-6.
    assert found.user[: simulation.liars].max() < found.user[simulation.liars :].min()
    assert found.converged


def test_a_user_without_a_usable_claim_gets_the_mean_weight() -> None:
    found = estimate(claims_of(CASES["users without a usable claim"]))
    assert found.user[9:] == pytest.approx([found.user[:9].mean()] * 3, rel=1e-12)


def test_where_no_object_tells_anything_everybody_counts_the_same() -> None:
    found = estimate(claims_of(CASES["all equal"]))
    assert found.user.tolist() == [1.0] * 10
    assert found.bandwidth.tolist() == [0.0, 0.0]
    assert (found.sweeps, found.converged) == (0, True)


def test_a_user_who_holds_all_loss_weighs_nothing() -> None:
    found = estimate(claims_of(CASES["one user holds all loss"]))
    assert found.user[5] == 0.0
    assert found.user[:5] == pytest.approx([-np.log(1e-12)] * 5)


def few_lies() -> tuple[Claims, int]:
    """Twenty honest users claim about all of thirty objects, a liar about two of them."""
    rng = np.random.default_rng(0)
    rows = {(i, s): float(rng.normal(5, 0.5)) for i in range(30) for s in range(20)}
    return claims_of(rows | {(0, 20): 9.0, (1, 20): 1.0}), 20


def test_mean_losses_find_a_liar_of_few_claims_and_sums_do_not() -> None:
    claims, liar = few_lies()
    by_mean, by_sum = estimate(claims, loss="mean").user, estimate(claims, loss="sum").user
    assert by_mean[liar] < by_mean[:liar].min()
    assert by_sum[liar] > by_sum[:liar].max()


def test_the_largest_loss_as_normaliser_gives_its_user_no_weight() -> None:
    claims, liar = few_lies()
    found = estimate(claims, normaliser="max")
    assert found.user[liar] == 0.0
    assert found.user[:liar].min() > 0


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [5.0]], ids=str)
def test_where_nobody_has_weight_all_claims_weigh_the_same(values: list[float]) -> None:
    claims = claims_of(dense([values]))
    user, n = np.zeros(len(values)), len(values)
    combined, _ = weights.combine_weights(claims, user, np.full(n, 1 / n), floor=0.0, engine=ONE)
    assert combined == pytest.approx([1 / n] * n)
    assert estimate(claims, normaliser="max").combined == pytest.approx([1 / n] * n)


@pytest.mark.parametrize("floor", [0.01, 1.0, 50.0])
def test_no_bandwidth_is_below_the_floor(floor: float) -> None:
    claims = claims_of(CASES["some objects equal"])
    found = weights.estimate_weights(claims, floor=floor, engine=ONE)
    assert found.bandwidth[0] == 0.0
    assert found.bandwidth[1:].min() >= floor


def test_the_default_floor_is_a_thousandth_of_the_typical_spread() -> None:
    claims = claims_of(CASES["some objects equal"])
    assert weights.smallest_bandwidth(claims, ONE) == pytest.approx(naive.smallest_bandwidth(claims))
    assert weights.smallest_bandwidth(claims_of(CASES["all equal"]), ONE) == 0.0


def test_uniform_weights_are_even_and_as_wide_as_the_claims() -> None:
    claims = many()
    found = weights.uniform_weights(claims, floor=0.25, engine=ONE)
    counts = claims.counts()
    expected = [naive.bandwidth(claims.of(i), 1.15 * 1.06, 0.25) for i in range(len(counts))]
    np.testing.assert_allclose(found.bandwidth, expected, rtol=1e-12)
    np.testing.assert_allclose(found.combined, np.repeat(1 / counts, counts), rtol=1e-15)


@pytest.mark.parametrize("option", [{"loss": "median"}, {"normaliser": "min"}], ids=["loss", "normaliser"])
def test_an_unknown_option_is_refused_with_its_value(option: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"'(median|min)'"):
        weights.estimate_weights(claims_of(dense([[1.0, 2.0]])), floor=0.0, engine=ONE, **option)


@pytest.mark.parametrize("huge", [1e100, 1e155, 1e200, 1e300])
def test_a_huge_claim_is_refused_or_does_no_harm(huge: float) -> None:
    try:
        claims = claims_of(dense([[*normals(9, 1), huge], normals(10, 2)]))
    except InputError:
        return
    found = estimate(claims)
    _, values, _ = draw(claims, found, PrivacyTest(), 20, purpose="test", rng=seeded(1), engine=ONE)
    assert np.isfinite(found.bandwidth).all()
    assert np.isfinite(values).all()
