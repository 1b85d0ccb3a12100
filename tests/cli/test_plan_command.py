"""`crowdveil plan`: advice that follows the wish."""

from __future__ import annotations

import pytest

from conftest import Run


@pytest.mark.parametrize(
    ("claims", "objects", "epsilon", "advice"),
    [(40, 30, 2, "certified"), (3, 200, 0.5, "pooled"), (1, 2, 0.1, "none")],
)
def test_the_advice_follows_claims_and_epsilon(
    run: Run, claims: int, objects: int, epsilon: float, advice: str
) -> None:
    wish = ("--claims-per-object", claims, "--objects", objects, "--epsilon", epsilon, "--range", "0:10")
    told = run("plan", "release", *wish, "--json").json()
    assert told["advice"] == advice
    assert (told["command"] is None) == (advice == "none")
    assert run("plan", "release", *wish).code == 0


def test_errors_shrink_with_epsilon_and_certified_beats_basic(run: Run) -> None:
    errors = []
    for epsilon in (0.5, 2, 8):
        wish = ("--claims-per-object", 30, "--objects", 40, "--epsilon", epsilon, "--range", "0:10")
        rows = {
            r["method"]: r["relative_ise"] for r in run("plan", "release", *wish, "--json").json()["methods"]
        }
        assert rows["certified"] < rows["basic"]
        errors.append(rows["certified"])
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(
    "wrong", [("--range", "1:0"), ("--epsilon", 0), ("--claims-per-object", 0), ("--spread", 99)]
)
def test_impossible_wishes_are_refused(run: Run, wrong: tuple[str, object]) -> None:
    wish = {"--claims-per-object": 30, "--range": "0:10", "--epsilon": 1, wrong[0]: wrong[1]}
    done = run("plan", "release", *[word for pair in wish.items() for word in pair])
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
