"""Pages hold what they should, for every kind of release, and stand alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import secure, seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.method import release
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.report import plots
from crowdveil.report.release_pages import public_page, steward_page
from crowdveil.simulation.claims import SimulatedClaims


@pytest.fixture(scope="module")
def claims() -> Claims:
    return SimulatedClaims(users=20, objects=8, unreliable=0.3).claims(rng=seeded(1))


def test_the_stewards_page_shows_all_curves_weights_and_statuses(claims: Claims) -> None:
    page = steward_page(release(claims, PrisCrowd(), rng=secure()), claims, LocalEngine())
    for words in ("uniform", "global only", "combined", "released", "user-01", "too_few", "Private."):
        assert words in page
    assert page.count("<svg") == 7


def test_pictures_take_the_pages_ink_and_fetch_nothing(claims: Claims) -> None:
    page = public_page(release(claims, PrisCrowd(), rng=secure()), LocalEngine())
    assert "currentColor" in page
    assert "#0a0b0c" not in page
    assert "prefers-color-scheme: dark" in page
    # Namespace names are not addresses; nothing else may point outside.
    links = set(re.findall(r'(?:src|href)="([^#"][^"]*)"', page))
    assert links == set()
    assert "<script" not in page


def test_the_pages_of_basic_have_no_weights(claims: Claims) -> None:
    page = steward_page(release(claims, Basic(1.0, Range(0, 10)), rng=secure()), claims, LocalEngine())
    assert "Users' weights" not in page
    assert "epsilon = 1" in page


def test_a_release_of_nothing_has_pages_too() -> None:
    claims = Claims.from_columns(["a", "b"], ["u", "u"], [1.0, 2.0])
    released = release(claims, PrisCrowd(), rng=secure())
    assert "No claims were released" in public_page(released, LocalEngine())
    assert "too_few" in steward_page(released, claims, LocalEngine())


def test_long_tables_are_cut_and_say_so() -> None:
    names = [f"o{i:04}" for i in range(300) for _ in range(6)]
    users = [f"u{s}" for _ in range(300) for s in range(6)]
    claims = Claims.from_columns(names, users, np.linspace(0, 1, 1800).tolist())
    page = public_page(release(claims, PrisCrowd(per_object=2), rng=secure()), LocalEngine())
    assert "The first 200 of" in page
    assert "o0000" in page
    assert "o0299" not in page


def test_a_saved_picture_follows_the_readers_colour_scheme(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("pictures") / "p.svg"
    picture, (axes,) = plots.figure(4, 2)
    plots.draw_line(axes, [0.0, 1.0], [1.0, 2.0], "value")
    plots.save(picture, path)
    text = path.read_text()
    assert text.startswith("<svg")
    assert "prefers-color-scheme:dark" in text
