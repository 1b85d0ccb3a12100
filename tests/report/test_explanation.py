"""Explanations: true figures in plain words."""

from __future__ import annotations

import json
import math
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.answers import Answers, Domain
from crowdveil.certificates.certificate import Certificate, of_reports
from crowdveil.certificates.reading import Checked
from crowdveil.claims import Claims
from crowdveil.guarantee import Promise
from crowdveil.local.registry import MECHANISMS
from crowdveil.local.reports import report
from crowdveil.local.request import MechanismRequest
from crowdveil.public_range import Range
from crowdveil.randomness import secure
from crowdveil.report.explanation import Explanation, explain, explanation
from stated_certificates import CASES, claim, made, write


def _explained(promise: Promise) -> Explanation:
    certificate = Certificate("release", "certified", {}, promise, seeded=False, synthetic=True)
    return explanation(Checked(certificate, recomputed=True))


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_that_we_write_can_be_read_and_explained(tmp_path: Path, case: str) -> None:
    path = write(tmp_path, made(case))
    found = explain(str(path))
    assert found == explain(str(tmp_path))
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["kind"] == made(case)["promise"]["kind"]
    assert told["sentence"] == made(case)["promise"]["sentence"]
    assert told["differentially_private"] == (told["kind"] == "differential privacy")
    text = found.text()
    assert max(len(line) for line in text.splitlines()) <= 92
    for heading in ("Who is protected", "From whom", "How strongly", "What is not promised"):
        assert f"\n{heading}\n" in text
    flat = " ".join(text.split())
    for line in made(case)["not_promised"] if not told["seeded"] else []:
        assert line[1:] in flat


def test_a_certificate_comes_from_standard_input_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(json.dumps(made("basic")).encode())))
    assert explain("-").certificate.method == "basic"


WORDS = {
    "basic": [
        "each single claim with epsilon = 1. ",
        "each claim: epsilon 1; a person with 1 claim, and nobody has more: epsilon 1.",
        "counts as public",
        "Not from the collector",
        "at most 2.72 times as likely as it would have been had one claim said something else",
        "at most 73.2 % sure",
        "10 % ends with at most 23.2 %",
        "88.1 % for 2 claims, 99.4 % for 5 claims and almost 100 % for 20 claims",
        "The range and the resolution were declared, not read off the data.",
        "somebody's own, with noise",
    ],
    "user": [
        "for each person with epsilon = 2. ",
        "Hidden is whether they took part at all.",
        "whether a person took part: epsilon 2; between two versions of everything a person said: epsilon 4;",
        "between two values of one of their claims: epsilon 4.",
        "had one person not been there at all",
        "moderate protection",
        "All that a person contributed is covered together",
    ],
    "gaussian": [
        "for each person with epsilon = 1, delta = 1e-06. ",
        "Delta is a remainder of probability for which nothing is promised.",
        "Counts of claims got Gaussian noise",
        "drawn from noisy counts of claims",
        "people who mostly agree with others may have counted more",
    ],
    "delta": [
        "epsilon = 6.76385, delta = 1e-06",
        "give or take a probability of 1e-06 (delta)",
        "the guess is right in 50 % of cases, with it in at most 99.9 %",
    ],
    "deniable": [
        "Plausible deniability with k = 5, and no differential privacy",
        "at most 50 %",
        "Differential privacy: draws repeat until enough pass,",
    ],
    "nothing": [
        "No differential privacy guarantee",
        "Nobody.",
        "There is no epsilon: draws repeat until enough pass,",
        "a value near 9 appears in 3 of 10 releases",
    ],
    "seeded": ["NOT PRIVATE", "must not be published", "Whoever knows or guesses the seed"],
}


@pytest.mark.parametrize("case", WORDS)
def test_an_explanation_says_what_matters(tmp_path: Path, case: str) -> None:
    flat = " ".join(explain(str(write(tmp_path, made(case)))).text().split())
    for words in WORDS[case]:
        assert words in flat, words


def test_only_what_a_release_did_is_said_about_how_it_was_made(tmp_path: Path) -> None:
    assert explain(str(write(tmp_path, made("user")))).made == []
    plain = made("gaussian")
    plain["parameters"]["reliability"] = 0
    assert len(explain(str(write(tmp_path, plain))).made) == 2
    assert "Gaussian" not in explain(str(write(tmp_path, made("delta")))).text()


@pytest.mark.parametrize("case", ["deniable", "nothing", "seeded"])
def test_without_a_guarantee_no_epsilon_is_told(tmp_path: Path, case: str) -> None:
    found = explain(str(write(tmp_path, made(case))))
    assert "epsilon = " not in found.text().replace("epsilon0 = ", "")
    assert "sure" not in found.text()
    assert not {"epsilon", "level"} & found.figures.keys()


@given(epsilon=st.floats(0, 50), prior=st.sampled_from([0.5, 0.1, 0.01]))
def test_a_belief_is_bounded_by_bayes_rule(epsilon: float, prior: float) -> None:
    """The worst release is e^epsilon times as likely in one case as in the other."""
    (bound,) = [
        e["after_at_most"] for e in _explained(claim(epsilon)).figures["examples"] if e["before"] == prior
    ]
    odds = prior / (1 - prior) * math.exp(epsilon)
    assert bound == pytest.approx(odds / (1 + odds), rel=1e-12)


@given(epsilon=st.floats(0, 20), delta=st.floats(0, 0.99))
def test_a_guess_is_bounded_by_the_worst_mechanism_of_that_epsilon_and_delta(
    epsilon: float, delta: float
) -> None:
    """Tell the case with probability delta, else randomize: that meets epsilon and delta exactly."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    right = delta + (1 - delta) * keep
    assert _explained(claim(epsilon, delta)).figures["guess_right_at_most"] == pytest.approx(right, rel=1e-9)


@given(epsilon=st.floats(0, 3), delta=st.floats(0, 1e-3))
def test_several_claims_are_bounded_step_by_step(epsilon: float, delta: float) -> None:
    """One claim is replaced after the other: each step multiplies by e^epsilon and adds delta."""
    for row in _explained(claim(epsilon, delta)).figures["together"]:
        added = 0.0
        for _ in range(row["count"]):
            added = math.exp(epsilon) * added + delta
        assert row["epsilon"] == pytest.approx(row["count"] * epsilon)
        assert row["delta"] == pytest.approx(min(1.0, added), rel=1e-6)


@given(epsilon=st.floats(1e-9, 13), delta=st.just(0.0) | st.floats(1e-12, 0.5))
def test_figures_in_the_text_are_rounded_up(epsilon: float, delta: float) -> None:
    found = _explained(claim(epsilon, delta))
    words = " ".join(found.how_strongly)
    factor = float(words.split("at most ")[1].split(" times")[0])
    assert factor >= math.exp(epsilon) * (1 - 1e-12)
    assert factor <= math.exp(epsilon) * 1.02
    shown = words.split("at most ")[2]
    percent = 100.0 if shown.startswith("almost") else float(shown.split(" %")[0])
    assert 0 <= percent / 100 - found.figures["guess_right_at_most"] <= 0.001 + 1e-12


@pytest.mark.parametrize(
    ("epsilon", "level"),
    [
        (0.0, "strong"),
        (1.0, "strong"),
        (1.2, "moderate"),
        (2.9, "moderate"),
        (4.0, "weak"),
        (5.0, "hardly any"),
    ],
)
def test_a_level_follows_from_what_even_odds_can_become(epsilon: float, level: str) -> None:
    assert _explained(claim(epsilon)).figures["level"] == level


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 20.0, 1000.0, 1.7e308])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 0.5])
def test_extreme_guarantees_are_explained_too(epsilon: float, delta: float) -> None:
    found = _explained(claim(epsilon, delta))
    json.dumps(found.to_dict(), allow_nan=False)
    assert ("exactly as likely" in found.text()) == (epsilon == 0)
    assert ("more than a million times" in " ".join(found.text().split())) == (epsilon >= 20)


WORDS_OF_ADJACENCIES = {
    "replace-or-none": [
        "which answer it is, and whether there is one at all; who takes part counts as public"
    ],
    "replace-or-not-last": ["as long as its person and its object keep another", "is not hidden"],
}


@pytest.mark.parametrize("declared", [True, False])
def test_what_is_hidden_about_an_answer_is_said_by_its_adjacency(declared: bool) -> None:
    """Another value is one change there, not two."""
    claims = Claims.from_columns(["a", "b", "a"], ["ann", "ann", "bob"], [1.0, 2.0, 1.0])
    lists = {"objects": ["a", "b"], "users": ["ann", "bob"]} if declared else {}
    answers = Answers.from_claims(claims, Domain(0, 4), **lists)
    description = MECHANISMS["rr"].describe(MechanismRequest(Range(0, 4), 1.0, users=2, objects=2))
    reports = report(answers, description.build(), rng=secure())
    explained = explanation(Checked(of_reports(reports, description), recomputed=True))
    text = " ".join(explained.text().split())
    for words in WORDS_OF_ADJACENCIES["replace-or-none" if declared else "replace-or-not-last"]:
        assert words in text
    assert "twice epsilon" not in text
    assert (
        "each answer, given or not: epsilon 1; a person, with all 2 answers, given or not: epsilon 2." in text
    )
    assert "A person who took part under several names is protected as several users." in text


def test_with_a_delta_nobody_is_told_that_only_epsilon_grows(tmp_path: Path) -> None:
    text = " ".join(explain(str(write(tmp_path, made("delta")))).text().split())
    assert "epsilon times their number, with a delta that grows faster than that." in text
    assert "epsilon times their number." not in text
