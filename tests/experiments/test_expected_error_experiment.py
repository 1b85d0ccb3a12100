"""Expected errors beside observed ones: the experiment's parts, and what the documentation states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.experiments import expected_error
from crowdveil.experiments.result import Settings
from crowdveil.randomness import seeded
from crowdveil.report import plots

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", expected_error.CROWDS)
def test_crowds_have_the_users_that_their_names_say(name: str) -> None:
    claims, centres = expected_error._crowd(expected_error.CROWDS[name], rng=seeded(1))
    numbers = claims.claims_per_user()
    assert numbers.min() == {
        "ten each": 10,
        "thirty users of sixty": 60,
        "a bot among threes": 3,
        "heavy tail": 2,
    }.get(name, 1)
    assert numbers.max() == {"one claim each": 1, "ten each": 10, "half of one, some of thirty": 30}.get(
        name, 60
    )
    medians = np.array([np.median(claims.of(i)) for i in range(len(claims.objects))])
    assert np.abs(medians - centres).mean() < 0.05


def test_the_ratio_of_expected_and_observed_errors_is_near_one() -> None:
    ratio = expected_error._simulated(30, 1.0, 0.1, Settings(seeds=1, engine=LocalEngine(), first_seed=50))
    assert 0.5 < ratio < 2
    assert expected_error._quality([1.0, 0.4, 1.6])["within 2"] == pytest.approx(2 / 3)


def test_pictures_can_be_drawn(tmp_path: Path) -> None:
    kinds = {"expected-error": expected_error._error_picture, "user-caps": expected_error._cap_picture}
    for name, picture in kinds.items():
        rows = json.loads((DOCS / "figures" / f"{name}.json").read_text())["rows"]
        plots.save(picture(rows), tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").stat().st_size > 1000


def test_the_documentation_holds_the_figures() -> None:
    text = (DOCS / "methods" / "certified.md").read_text()
    for row in json.loads((DOCS / "figures" / "expected-error.json").read_text())["rows"]:
        keys = ("observed", "expected", "expected, usual spread", "middle of the range")
        if "epsilon" in row:
            assert " | ".join(f"{row[key]:.3g}" for key in keys) in text
        else:
            assert f"| {row['median factor']:.3g} | {100 * row['within 1.5']:.0f} % |" in text
    rules = ("best", "chosen", "1", "5", "median", "most")
    for name in ("user-caps", "user-caps-real"):
        for row in json.loads((DOCS / "figures" / f"{name}.json").read_text())["rows"]:
            assert " | ".join(f"{row[rule]:.3g}" for rule in rules) in text
