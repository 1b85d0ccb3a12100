"""Truth discovery: equal to slow twins, better than the mean where users differ, defined on every input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.truth import catd, crh, deviation, gtm, mean, median
from crowdveil.truths import Truths

Floats = NDArray[np.float64]
modest = settings(deadline=None, derandomize=True, max_examples=40)
METHODS: dict[str, Any] = {
    "mean": mean.discover,
    "median": median.discover,
    "crh": crh.discover,
    "gtm": gtm.discover,
    "catd": catd.discover,
    "inverse-deviation": deviation.discover,
}
ITERATING = ["crh", "gtm", "catd", "inverse-deviation"]


def dense(values: Floats) -> Claims:
    """User s makes the s-th claim about every object; rows are objects."""
    objects, users = values.shape
    return Claims.from_columns(
        np.repeat(np.arange(objects), users), np.tile(np.arange(users), objects), values.ravel()
    )


def simulated(users: int, objects: int, seed: int, rate: float = 1.0) -> tuple[Claims, Floats]:
    """The paper's: users' variances are exponential, truths uniform."""
    rng = np.random.default_rng(seed)
    truths = rng.uniform(0, 10, objects)
    sd = np.sqrt(rng.exponential(1 / rate, users))
    return dense(truths[:, None] + sd * rng.normal(size=(objects, users))), truths


def twin(method: str, values: Floats, sweeps: int = 2000) -> tuple[Floats, Floats]:
    """Truths and weights on a dense table (objects by users), written out, until nothing moves."""
    sd = values.std(axis=1, ddof=1, keepdims=True)
    middle = np.median(values, axis=1, keepdims=True)
    n = values.shape[0]
    w = np.ones(values.shape[1])
    for _ in range(sweeps):
        prior = 1.0 if method == "gtm" else 0.0
        truths = middle + ((values - middle) * w).sum(axis=1, keepdims=True) / (prior + w.sum())
        squares = ((values - truths) / sd) ** 2
        loss = squares.sum(axis=0)
        if method == "crh":
            share = (squares * sd).mean(axis=0)
            new = -np.log(share / share.sum())
        elif method == "gtm":
            new = (2 * 3 + n) / (2 * 1 + loss)
        elif method == "catd":
            new = chi2.ppf(0.025, n) / np.maximum(loss, 1e-3 * loss.mean())
        else:
            new = 1 / np.sqrt(np.maximum(loss, 1e-3 * loss.mean()) / n)
        if np.allclose(new, w, rtol=1e-13, atol=0):
            break
        w = new
    return truths.ravel(), w


@pytest.mark.parametrize("method", ITERATING)
@pytest.mark.parametrize("seed", range(3))
def test_truths_and_weights_equal_their_twins(method: str, seed: int) -> None:
    claims, _ = simulated(12, 20, seed)
    values = np.empty((20, 12))
    owners = np.repeat(np.arange(20), 12)
    values[owners, claims.user_codes] = claims.values
    found = METHODS[method](claims)
    truths, weights = twin(method, values)
    assert found.converged
    np.testing.assert_allclose(found.estimates, truths, rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        found.weights / found.weights.sum(), weights / weights.sum(), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("method", METHODS)
def test_truths_do_not_depend_on_threads(method: str) -> None:
    claims, _ = simulated(40, 3000, 5)
    one = METHODS[method](claims, engine=LocalEngine(1))
    two = METHODS[method](claims, engine=LocalEngine(2))
    assert one.estimates.tolist() == two.estimates.tolist()
    assert one.weights.tolist() == two.weights.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_shifted_and_stretched_claims_have_shifted_and_stretched_truths(method: str) -> None:
    claims, _ = simulated(15, 30, 2)
    moved = Claims(
        claims.objects, claims.users, claims.offsets, claims.user_codes, 3.0 * claims.values - 40.0
    )
    before, after = METHODS[method](claims), METHODS[method](moved)
    np.testing.assert_allclose(after.estimates, 3.0 * before.estimates - 40.0, rtol=0, atol=1e-4)
    np.testing.assert_allclose(after.errors, 3.0 * before.errors, rtol=1e-3)


@pytest.mark.parametrize("method", ITERATING)
def test_weighting_beats_the_mean_where_users_differ(method: str) -> None:
    """Averaged over seeds; the gap is many times the standard error of the average."""
    gains = []
    for seed in range(40):
        claims, truths = simulated(50, 30, seed)
        plain = np.abs(mean.discover(claims).estimates - truths).mean()
        gains.append(plain - np.abs(METHODS[method](claims).estimates - truths).mean())
    assert np.mean(gains) > 5 * np.std(gains, ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_ends_where_a_cold_one_does(method: str) -> None:
    if method in ("mean", "median"):
        return
    whole, _ = simulated(30, 60, 9)
    known = whole.about([str(i) for i in range(55)])
    new = whole.about([str(i) for i in range(55, 60)])
    first: Truths = METHODS[method](known)
    cold, warm = METHODS[method](whole), METHODS[method](known.joined(new), start=first)
    assert warm.objects.to_list() == cold.objects.to_list()
    np.testing.assert_allclose(warm.estimates, cold.estimates, rtol=0, atol=1e-4)
    assert warm.sweeps <= cold.sweeps


rows = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 8)), st.integers(-5, 5), min_size=1, max_size=40
)


@modest
@given(drawn=rows, method=st.sampled_from(list(METHODS)), offset=st.sampled_from([0.0, 1e9]))
def test_every_input_has_a_defined_result(
    drawn: dict[tuple[int, int], int], method: str, offset: float
) -> None:
    claims = Claims.from_columns(
        [i for i, _ in drawn], [s for _, s in drawn], [offset + v for v in drawn.values()]
    )
    found = METHODS[method](claims)
    assert np.isfinite(found.estimates).all()
    assert np.isfinite(found.weights).all()
    assert (found.weights >= 0).all()
    assert not np.isnan(found.errors).any()
    for i, count in enumerate(claims.counts()):
        x = claims.of(i)
        slack = 1e-6 * (1 + abs(offset))
        assert x[0] - slack <= found.estimates[i] <= x[-1] + slack
        assert np.isinf(found.errors[i]) == (count == 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("users", "noise"), [(40, 0.0), (40, 1.0), (10, 0.5)])
def test_nine_intervals_in_ten_cover_the_truth(method: str, users: int, noise: float) -> None:
    covered = total = 0
    for seed in range(60):
        claims, truths = simulated(users, 40, seed)
        laplace = np.random.default_rng(10_000 + seed).laplace(0, 1, len(claims)) * noise
        noisy = Claims.from_columns(
            np.repeat(np.arange(40), users), claims.user_codes, claims.values + laplace
        )
        low, high = METHODS[method](noisy).intervals(0.9)
        covered += int(((low <= truths) & (truths <= high)).sum())
        total += 40
    assert 0.85 <= covered / total <= 0.96


def test_parameters_are_checked() -> None:
    claims, _ = simulated(4, 4, 1)
    for wrong in (
        lambda: crh.CRH(loss="median"),  # type: ignore[arg-type]
        lambda: gtm.GTM(alpha=0),
        lambda: gtm.GTM(beta=-1),
        lambda: catd.CATD(quantile=1.0),
        lambda: mean.discover(claims).intervals(1.0),
    ):
        with pytest.raises(ParameterError):
            wrong()
