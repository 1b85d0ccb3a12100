"""What devices of a campaign send, what they refuse, and that no message says what somebody answered."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign_cases import REQUESTS, answer, asked
from crowdveil.campaigns.kind import Asked, Kind
from crowdveil.campaigns.records import RecordsKind
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.randomness import seeded

SECRET = "the5ecret"
each_sort = pytest.mark.parametrize("name", REQUESTS)


def question_of(kind: Kind, place: int = 0) -> dict[str, Any] | None:
    return kind.question(1, Asked(place), {})


@each_sort
@pytest.mark.parametrize(
    "value",
    [SECRET, [SECRET], {SECRET: 1}, SECRET.encode(), 10**400, float("inf"), float("nan"), object(), None],
    ids=lambda answer: type(answer).__name__,
)
def test_an_answer_that_cannot_be_used_is_refused_and_never_quoted(name: str, value: Any) -> None:
    kind = asked(name).kind
    given = answer(asked(name), 1)
    given[next(iter(given))] = value
    with pytest.raises(CrowdveilError) as refused:
        kind.report_one(given, Asked(0), question_of(kind))
    assert SECRET not in str(refused.value)
    assert "000" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("name", ["sensing", "sensing own ranges", "sparse", "slots"])
def test_an_answer_about_an_object_that_is_not_asked_about_is_refused(name: str) -> None:
    kind = asked(name).kind
    with pytest.raises(InputError) as refused:
        kind.report_one({SECRET: 1}, Asked(0), question_of(kind))
    assert SECRET not in str(refused.value)


def test_values_are_clamped_to_the_range_of_their_own_object() -> None:
    """What lies beyond an end is sent as that end would be: the same noise gives the same report."""
    kind = asked("sensing own ranges").kind

    def sent(**values: float) -> Any:
        return kind.report_one(values, Asked(0), rng=seeded(5))["payload"]

    assert sent(heat=1e9, ph=-1e9) == sent(heat=60, ph=0)
    assert sent(heat=60, ph=0) != sent(heat=59, ph=0)
    assert sent(heat=14, ph=14) != sent(heat=14, ph=60 - 1e-9 - 50)


def test_values_of_objects_with_their_own_ranges_are_sent_as_shares_of_these() -> None:
    campaign = asked("sensing own ranges", epsilon=1e5)  # next to no noise
    kind = campaign.kind
    sent = dict(kind.report_one({"heat": 10.0, "ph": 7.0}, Asked(0), rng=seeded(1))["payload"])
    assert abs(sent["heat"] - 500) < 5
    assert abs(sent["ph"] - 500) < 5


# --- records: a device checks what it is asked --------------------------------------------------------------


def records() -> RecordsKind:
    kind = asked("records").kind
    assert isinstance(kind, RecordsKind)
    return kind


def test_a_question_that_costs_more_than_was_promised_is_not_answered() -> None:
    dearer, cheaper = (asked("records", epsilon=epsilon).kind for epsilon in (1.5, 0.5))
    person = answer(asked("records"), 0)
    with pytest.raises(InputError, match="costs more"):
        records().report_one(person, Asked(0), question_of(dearer))
    assert records().report_one(person, Asked(0), question_of(cheaper))


def test_a_question_about_other_columns_is_not_answered() -> None:
    person, public = answer(asked("records"), 0), question_of(records())
    assert public is not None
    other = question_of(asked("records", schema={"columns": {"z": {"values": list("abcdefg")}}}).kind)
    with pytest.raises(InputError, match="not about columns"):
        records().report_one(person, Asked(0), other)
    with pytest.raises(InputError):
        records().report_one(person, Asked(0), {**public, "columns": [9] * len(public["columns"])})
    with pytest.raises(InputError):
        records().report_one(person, Asked(0), {**public, "columns": [-1] * len(public["columns"])})
    with pytest.raises(InputError, match="not asked"):
        records().report_one(person, Asked(0), None)


plain = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers())
)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), value=plain)
def test_a_question_with_anything_anywhere_is_answered_within_the_promise_or_refused(
    data: st.DataObject, value: Any
) -> None:
    kind = records()
    public = copy.deepcopy(question_of(kind, data.draw(st.integers(0, 30))))
    assert public is not None
    inner: Any = public
    while isinstance(inner, dict):
        holder, key = inner, data.draw(st.sampled_from(sorted(inner)))
        inner = holder[key]
    holder[key] = value
    try:
        kind.report_one(answer(asked("records"), 0), Asked(0), public)
    except InputError:
        return
    assert public["oracle"]["parameters"]["epsilon"] <= 1.0
