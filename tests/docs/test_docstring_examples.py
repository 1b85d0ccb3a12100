"""The examples in docstrings of public names run and print what they say."""

import doctest
from importlib import import_module

import pytest

MODULES = (
    "accounting.scopes",
    "claims",
    "engines.local",
    "guarantee",
    "labels",
    "ledger.store",
    "local.gaussian_exponential",
    "local.laplace",
    "operations.release_claims",
    "public_range",
    "randomness",
    "records",
    "releases.basic",
    "releases.certified",
    "releases.priscrowd",
    "synthesis.latent_class_synthesis",
    "truth.one_coin",
    "truth.registry",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    results = doctest.testmod(import_module(f"crowdveil.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
