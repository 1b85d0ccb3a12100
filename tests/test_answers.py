"""Answers: claims by user, in a domain, with everybody who takes part."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdveil.answers import Answers, Domain
from crowdveil.claims import Claims
from crowdveil.errors import InputError, ParameterError

CLAIMS = Claims.from_columns(["b", "a", "c", "a"], ["v", "v", "u", "u"], [2.4, 9.0, 0.0, -3.0])


def test_answers_are_laid_out_by_user_and_kept_in_the_domain() -> None:
    answers = Answers.from_claims(CLAIMS, Domain(0, 4))
    assert answers.users.to_list() == ["u", "v"]
    assert answers.offsets.tolist() == [0, 2, 4]
    assert answers.object_codes.tolist() == [0, 2, 0, 1]
    assert answers.codes.tolist() == [0, 0, 4, 2]
    assert answers.moved == 3
    assert answers.sparsity == pytest.approx(1 - 4 / 6)
    back = answers.claims()
    assert back.values.tolist() == [0.0, 4.0, 2.0, 0.0]


def test_whoever_is_listed_takes_part() -> None:
    answers = Answers.from_claims(CLAIMS, Domain(0, 4), objects=["a", "b", "c", "z"], users=["w", "v", "u"])
    assert answers.objects.to_list() == ["a", "b", "c", "z"]
    assert answers.users.to_list() == ["u", "v", "w"]
    assert np.diff(answers.offsets).tolist() == [2, 2, 0]
    assert answers.declared
    assert not Answers.from_claims(CLAIMS, Domain(0, 4), users=["u", "v"]).declared
    with pytest.raises(InputError, match="not on the list of objects"):
        Answers.from_claims(CLAIMS, Domain(0, 4), objects=["a", "z"])
    with pytest.raises(InputError, match="not on the list"):
        Answers.from_claims(CLAIMS, Domain(0, 4), users=["u"])
    for listed, numbered in ((["one"], True), ([], False)):
        users = pl.Series([1, 2, 2]) if numbered else pl.Series(["u", "v", "v"])
        claims = Claims.from_columns(["a", "a", "b"], users, [1.0, 2.0, 3.0])
        with pytest.raises(InputError, match="kind"):
            Answers.from_claims(claims, Domain(0, 4), users=listed)


@pytest.mark.parametrize("ends", [(0, 0), (3, 1), (0, 500), (0.5, 2)])
def test_domains_are_checked(ends: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="domain"):
        Domain(*ends)
