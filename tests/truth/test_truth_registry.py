"""The registry of truth methods: every line resolves, and methods are used by what they take."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.labels import Labels
from crowdveil.noise_law import NoiseLaw
from crowdveil.truth import gtm, noise_aware, one_coin
from crowdveil.truth.registry import DEFAULTS, METHODS, Input, discover, method_for, methods_for, vote

LAW = NoiseLaw(0.0, 10.0, laplace_scale=1.0)


def some_claims() -> Claims:
    objects, users = np.divmod(np.arange(60), 10)
    return Claims.from_columns(objects, users, np.random.default_rng(1).uniform(0, 10, 60))


def test_the_names_are_those_that_users_know() -> None:
    assert set(METHODS) == {
        *("gtm", "crh", "catd", "inverse-deviation", "mean", "median", "noise-aware"),
        *("one-coin", "majority", "randomized"),
    }


@pytest.mark.parametrize("kind", Input)
def test_every_line_resolves_to_a_function_that_takes_an_engine(kind: Input) -> None:
    methods = methods_for(kind)
    assert next(iter(methods)) == DEFAULTS[kind]
    assert set(methods) == {name for name, homes in METHODS.items() if kind in homes}
    for method in methods.values():
        takes = inspect.signature(method).parameters
        assert takes["engine"].kind is inspect.Parameter.KEYWORD_ONLY
        assert ("law" in takes) == (kind is Input.NOISY_CLAIMS)


@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_results_carry_the_name_of_their_method(name: str) -> None:
    assert discover(some_claims(), name).method == name
    assert discover(some_claims(), name, law=LAW).method == name  # noisy claims, taken as plain ones


@pytest.mark.parametrize("name", methods_for(Input.LABELS))
def test_votes_carry_the_name_of_their_method(name: str) -> None:
    labels = Labels.from_columns(["a", "a", "b", "b"], ["u", "v", "u", "v"], ["x", "y", "x", "x"])
    assert vote(labels, name).method == name


def test_the_default_depends_on_the_input() -> None:
    claims = some_claims()
    assert np.array_equal(discover(claims).estimates, gtm.discover(claims).estimates)
    aware = noise_aware.discover(claims, LAW)
    assert np.array_equal(discover(claims, law=LAW).estimates, aware.estimates)
    labels = Labels.from_columns(["a", "a", "a"], ["u", "v", "w"], ["x", "y", "y"])
    assert vote(labels).chances == pytest.approx(one_coin.one_coin(labels).chances)


def test_what_a_method_does_not_take_is_refused_with_what_would_do() -> None:
    claims = some_claims()
    with pytest.raises(
        ParameterError, match=r"noise-aware is for noisy claims.*numeric claims take gtm, crh"
    ):
        discover(claims, "noise-aware")
    with pytest.raises(ParameterError, match="randomized is for reports about every cell"):
        discover(claims, "randomized", law=LAW)
    with pytest.raises(
        ParameterError, match=r"gtm is for numeric claims; labels .--labels. take one-coin, crh, majority"
    ):
        method_for(Input.LABELS, "gtm")
    with pytest.raises(ParameterError, match=r"no truth method 'truest'; there are noise-aware, gtm, crh"):
        discover(claims, "truest", law=LAW)
