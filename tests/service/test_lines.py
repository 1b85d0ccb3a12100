"""Lines of a batch: read together or each alone, they are the same reports and the same refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from campaign_cases import asked, wire
from crowdveil.campaigns.kind import Asked
from crowdveil.errors import InputError
from crowdveil.service import lines
from crowdveil.service.models import PlaceIn, ReportIn
from crowdveil.service.problems import Refusal
from crowdveil.service.store.reports import Opened, Submission

CAMPAIGNS = {
    name: Opened(1, "abcdefgh", asked(name).kind, invited=False)
    for name in ("sensing", "sensing own ranges", "sparse", "slots", "records")
}
WIRES = {name: wire(asked(name), Asked(0)) for name in ("sensing", "sensing own ranges", "sparse")}

NAMED: list[dict[str, Any]] = [{}, {"wave": 1}, {"wave": 1000, "round": 0}, {"round": 10**6}, {"wave": None}]


def line(**parts: Any) -> bytes:
    return json.dumps(parts).encode()


def good(name: str, number: int) -> bytes:
    report = WIRES.get(name, {"any": "thing"})
    return line(participant=f"p{number}", key=f"k{number}", report=report, **NAMED[number % len(NAMED)])


def odd_lines() -> st.SearchStrategy[bytes]:
    """Lines that are wrong, or right in another way than usual."""
    leaf = st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        *(st.just(WIRES["sensing"]), st.just("ok")),
    )
    value = st.recursive(leaf, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
    parts = st.fixed_dictionaries(
        {"participant": value, "key": value, "report": value},
        optional={"wave": value, "round": value, "more": value},
    )
    payloads = st.lists(
        st.lists(st.one_of(st.sampled_from(["a", "b", "c", "d"]), leaf), max_size=3), max_size=4
    )
    reports = st.builds(
        lambda payload: {"participant": "p", "key": "k", "report": WIRES["sensing"] | {"payload": payload}},
        payloads,
    )
    texts = st.one_of(parts, reports).map(lambda given: json.dumps(given).encode())
    return st.one_of(
        texts, st.binary(max_size=20).filter(lambda text: text.strip() != b"" and b"\n" not in text)
    )


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_usual_lines_are_read_together(name: str) -> None:
    campaign = CAMPAIGNS[name]
    read = lines._read_together(campaign, [good(name, number) for number in range(5)])
    assert read == [lines._read_alone(campaign, good(name, number)) for number in range(5)]
    assert all(isinstance(each, Submission) for each in read)
    assert all(
        (each.payload is None) == campaign.kind.asks_by_place
        for each in read
        if not isinstance(each, Refusal)
    )


@pytest.mark.parametrize("odd", [{"wave": 0}, {"wave": 1001}, {"wave": True}, {"round": -1}, {"round": 1.0}])
def test_an_odd_wave_or_round_is_refused_as_the_model_says(odd: dict[str, Any]) -> None:
    campaign = CAMPAIGNS["sensing"]
    given = [line(participant="p", key="k", report=WIRES["sensing"], **odd)]
    with pytest.raises(InputError):
        lines._read_together(campaign, given)
    (read,) = lines.reports_in(campaign, given)
    assert isinstance(read, Refusal)


@pytest.mark.parametrize("model", [ReportIn, PlaceIn])
def test_many_unknown_parts_are_one_error(model: Any) -> None:
    """One for each would take a second for a line of a megabyte."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate({f"part {number}": 1 for number in range(1000)})
    assert refused.value.error_count() == 1


@given(st.sampled_from(sorted(CAMPAIGNS)), odd_lines(), st.integers(0, 2))
def test_an_odd_line_changes_nothing_about_the_others(name: str, odd: bytes, at: int) -> None:
    campaign, batch = CAMPAIGNS[name], [good(name, number) for number in range(2)]
    batch.insert(at, odd)
    read = lines.reports_in(campaign, batch)
    assert read == [lines._read_alone(campaign, each) for each in batch]
    assert sum(isinstance(each, Submission) for each in read) >= 2


@given(odd_lines())
def test_what_is_read_together_is_what_the_model_takes(odd: bytes) -> None:
    """The short way takes less than the model does, never more."""
    for campaign in CAMPAIGNS.values():
        try:
            (read,) = lines._read_together(campaign, [odd])
        except (InputError, TypeError, ValueError):
            continue
        assert read == lines._read_alone(campaign, odd)
        assert isinstance(read, Submission)


@pytest.mark.parametrize("token", ["", " ", "a b", "é", "\n", "a\n", "x" * 201, "\x7f", "\u0000"])
def test_a_token_that_the_model_refuses_is_refused(token: str) -> None:
    campaign = CAMPAIGNS["sensing"]
    for parts in ({"participant": token, "key": "k"}, {"participant": "p", "key": token}):
        (refusal,) = lines.reports_in(campaign, [line(**parts, report=WIRES["sensing"])])
        assert isinstance(refusal, Refusal)
        assert refusal.status == 422


def test_a_refusal_does_not_tell_what_the_line_said() -> None:
    for odd in (b'{"secret": 1}', b"secret", line(participant="p", key="k", report={"secret": "secret"})):
        (refusal,) = lines.reports_in(CAMPAIGNS["sensing"], [odd])
        assert isinstance(refusal, Refusal)
        assert "secret" not in json.dumps(refusal.to_dict())
