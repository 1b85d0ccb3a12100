"""Promises: only valid ones can be made, and each says in words what it is."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise, rational, rounded_up
from crowdveil.releases.deniability import PrivacyTest

PURE = Guarantee(0.5, 0.0, "claim", "replace-one", "central", ("the range was declared",))
APPROXIMATE = Guarantee(1.0, 1e-6, "user", "add-remove", "local")
DENIABLE = Deniability(5, 4.0, "1, all weights are equal", "draws repeat until enough pass")
NOTHING = NoGuarantee("draws repeat until enough pass")
PROMISES = [PURE, APPROXIMATE, DENIABLE, NOTHING]


@pytest.mark.parametrize("epsilon", [-1.0, -1e-300, float("nan"), float("inf"), float("-inf"), 10**400])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        Guarantee(epsilon, 0.0, "claim", "replace-one", "central")


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, float("nan"), float("inf")])
def test_a_bad_delta_is_refused(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        Guarantee(1.0, delta, "claim", "replace-one", "central")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 1e-300), (100.0, 0.999)])
def test_the_ends_of_what_is_allowed_are_allowed(epsilon: float, delta: float) -> None:
    guarantee = Guarantee(epsilon, delta, "claim", "replace-one", "central")
    assert (guarantee.epsilon, guarantee.delta) == (epsilon, delta)


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (PURE, "Differential privacy for each claim with epsilon = 0.5: "),
        (PURE, "when the value of one claim is replaced"),
        (PURE, "counts as public"),
        (PURE, "The collector saw the raw data and is trusted."),
        (APPROXIMATE, "Differential privacy for each user with epsilon = 1, delta = 1e-06: "),
        (APPROXIMATE, "when one user appears or disappears"),
        (APPROXIMATE, "nobody has to be trusted"),
        (DENIABLE, "Plausible deniability: at least 5 claims"),
        (DENIABLE, "within a factor 4 of each other"),
        (DENIABLE, "4 times the ratio of their weights (1, all weights are equal)"),
        (DENIABLE, "No differential privacy guarantee: draws repeat until enough pass."),
        (NOTHING, "No differential privacy guarantee: draws repeat until enough pass"),
    ],
)
def test_a_sentence_says_what_is_promised(promise: Promise, words: str) -> None:
    assert words in promise.sentence()


def test_pure_differential_privacy_does_not_mention_delta() -> None:
    assert "delta" not in PURE.sentence()


@pytest.mark.parametrize(
    ("promise", "kind"),
    [
        (PURE, "differential privacy"),
        (APPROXIMATE, "differential privacy"),
        (DENIABLE, "plausible deniability"),
        (NOTHING, "none"),
    ],
)
def test_a_certificate_names_the_kind_and_holds_the_sentence(promise: Promise, kind: str) -> None:
    written = promise.to_dict()
    assert written["kind"] == kind
    assert written["sentence"] == promise.sentence()


@pytest.mark.parametrize("promise", PROMISES)
def test_a_certificate_survives_json(promise: Promise) -> None:
    written = promise.to_dict()
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in written.items()}
    assert json.loads(json.dumps(written, allow_nan=False)) == plain


def test_a_certificate_lists_who_is_protected_against_whom_and_what_is_assumed() -> None:
    assert PURE.to_dict() == {
        "kind": "differential privacy",
        "epsilon": 0.5,
        "delta": 0.0,
        "unit": "claim",
        "adjacency": "replace-one",
        "trust": "central",
        "assumptions": ("the range was declared",),
        "sentence": PURE.sentence(),
    }


@pytest.mark.parametrize("promise", [DENIABLE, NOTHING])
def test_only_differential_privacy_has_an_epsilon_field(promise: Promise) -> None:
    assert not {"epsilon", "delta"} & promise.to_dict().keys()


@given(
    k=st.integers(1, 10**6),
    gamma=st.floats(1, 1e6, exclude_min=True),
    epsilon0=st.floats(1e-6, 1e3),
    require_k=st.booleans(),
)
def test_the_privacy_test_never_prints_an_epsilon(
    k: int, gamma: float, epsilon0: float, require_k: bool
) -> None:
    promise = PrivacyTest(k, gamma, epsilon0, require_k).promise("1, all weights are equal")
    assert isinstance(promise, Deniability) == require_k
    written = json.dumps(promise.to_dict()).lower()
    assert "epsilon =" not in written
    assert "epsilon=" not in written
    assert "no differential privacy guarantee" in written


NUMBERS = (
    st.floats(1e-6, 1e6) | st.integers(1, 10**6).map(float) | st.decimals("0.001", 10, places=3).map(float)
)


@given(number=NUMBERS, limit=st.just(10**6) | st.integers(1, 10**6))
def test_a_rational_never_exceeds_the_number_and_misses_it_by_less_than_a_step(
    number: float, limit: int
) -> None:
    written = Fraction(repr(number))
    if not Fraction(1, limit) <= written <= limit:
        return
    rounded = rational(number, what="epsilon", limit=limit)
    assert 0 < rounded <= written
    assert float(rounded) <= number
    assert written - rounded < Fraction(1, limit)
    assert rounded.denominator <= limit


@pytest.mark.parametrize(
    ("number", "fraction"),
    [
        (0.1, Fraction(1, 10)),
        (0.3, Fraction(3, 10)),
        (1.0, Fraction(1)),
        (2, Fraction(2)),
        (1e-6, Fraction(1, 10**6)),
        (1e6, Fraction(10**6)),
        (1 / 3, Fraction(333_333, 10**6)),
        (2 / 3, Fraction(666_666, 10**6)),
        (0.9999999, Fraction(999_999, 10**6)),
    ],
)
def test_a_rational_is_what_the_decimal_digits_say_rounded_down(number: float, fraction: Fraction) -> None:
    assert rational(number, what="epsilon") == fraction


@pytest.mark.parametrize(
    "number",
    [0.0, -0.0, -1.0, 1e-7, 9.99e-7, 1e6 + 1e-3, 1e300, 10**400, float("nan"), float("inf"), float("-inf")],
)
def test_a_number_without_a_usable_rational_is_refused_by_name(number: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon0 must"):
        rational(number, what="epsilon0")


@pytest.mark.parametrize(
    ("epsilon", "shown"), [(1.0, "1"), (0.7, "0.7"), (1.234564, "1.23457"), (1e-6, "1e-06")]
)
def test_a_sentence_rounds_up_and_never_down(epsilon: float, shown: str) -> None:
    sentence = Guarantee(epsilon, epsilon / 2, "claim", "replace-one", "central").sentence()
    assert f"epsilon = {shown}, delta" in sentence


def test_a_number_of_numpy_is_written_like_any_other() -> None:
    assert rounded_up(np.float64(1.2345678)) == rounded_up(1.2345678) == "1.23457"
    assert rounded_up(2.7181, 3) == "2.72"
