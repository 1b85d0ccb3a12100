"""The list of mutations fits the sources and the tests as they are; `make mutants` runs it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
each = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)


@each
def test_every_mutation_has_one_place_and_is_valid_python(mutation: Mutation) -> None:
    text = (ROOT / "src" / "crowdveil" / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    mutated = text.replace(mutation.old, mutation.new)
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(text))


@each
def test_the_tests_that_must_notice_it_are_there(mutation: Mutation) -> None:
    assert mutation.tests
    for test in mutation.tests:
        path, _, name = test.partition("::")
        text = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert f"def {name or 'test_'}" in text


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
