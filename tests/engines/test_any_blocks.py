"""Results of every method are the same to the last bit, however an engine divides the claims."""

from __future__ import annotations

from collections import Counter

import pytest

from crowdveil.engines import LocalEngine
from crowdveil.noise_law import NoiseLaw
from crowdveil.randomness import seeded
from crowdveil.releases.method import release
from crowdveil.releases.registry import RELEASES
from crowdveil.truth.registry import Input, method_for, methods_for
from cutting import OneByOne
from every_method import RELEASED, crowd, labels_of, same_releases, same_truths, same_votes
from noting import NotingSecure


def test_every_method_is_looked_at() -> None:
    assert {method.name for method in RELEASED.values()} == set(RELEASES)


@pytest.mark.parametrize("name", RELEASED)
def test_a_release_does_not_depend_on_blocks(name: str) -> None:
    whole, cut = (
        release(crowd(), RELEASED[name], rng=seeded(5), engine=engine)
        for engine in (LocalEngine(1), OneByOne())
    )
    assert len(whole) > 0
    same_releases(whole, cut)


@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_truths_do_not_depend_on_blocks(name: str) -> None:
    infer = method_for(Input.CLAIMS, name)
    same_truths(*(infer(crowd(), engine=engine) for engine in (LocalEngine(1), OneByOne())))


@pytest.mark.parametrize("laplace", [0.0, 2.0])
def test_noise_aware_truths_do_not_depend_on_blocks(laplace: float) -> None:
    infer, law = method_for(Input.NOISY_CLAIMS, None), NoiseLaw(0.0, 10.0, laplace, 0.5)
    same_truths(*(infer(crowd(), law, engine=engine) for engine in (LocalEngine(1), OneByOne())))


@pytest.mark.parametrize("name", methods_for(Input.LABELS))
def test_votes_do_not_depend_on_blocks(name: str) -> None:
    labels = labels_of(crowd())
    vote = method_for(Input.LABELS, name)
    whole, cut = (vote(labels, engine=engine) for engine in (LocalEngine(1), OneByOne()))
    same_votes(whole, cut)


@pytest.mark.parametrize("name", RELEASED)
def test_blocks_never_draw_from_the_same_stream(name: str) -> None:
    rng = NotingSecure(None)
    release(crowd(), RELEASED[name], rng=rng, engine=OneByOne())
    assert len(rng.used) >= len(crowd().objects) or RELEASED[name].pooled  # type: ignore[attr-defined]
    assert max(Counter(rng.used).values()) == 1
