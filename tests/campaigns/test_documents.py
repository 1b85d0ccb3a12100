"""The public document of a campaign: built again it is the same, and no edit of it passes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign_cases import REQUESTS, asked, document
from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.items import MOST_OBJECTS
from crowdveil.campaigns.records import MOST_COLUMNS
from crowdveil.errors import InputError, ParameterError

each_sort = pytest.mark.parametrize("name", REQUESTS)
KEYS = ("title", "kind", "objects", "schema", "range", "mechanism", "epsilon", "unit", "admission", "waves")
OTHERS: tuple[Any, ...] = (0.5, 0, 10**400, None, "x", [], {})
REMARKS = ("assumptions", "not_promised")


@each_sort
def test_a_document_gives_the_same_campaign(name: str) -> None:
    campaign = asked(name)
    built = Campaign.from_dict(document(campaign))
    assert built == campaign
    assert document(built) == document(campaign)
    assert Campaign.from_dict({**document(campaign), "id": "x", "state": "open"}) == campaign


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All numbers and texts of a document, each with its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from leaves(inner, (*path, key))
        elif key not in REMARKS and not set(path) & set(REMARKS):
            yield (*path, key), inner


def edited(public: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(public)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@each_sort
def test_no_number_of_a_promise_can_be_edited(name: str) -> None:
    """Whatever a campaign says of its promise follows from its parameters, so that any edit shows."""
    public = document(asked(name))
    stated = [(path, value) for path, value in leaves(public) if path[0] == "guarantee"]
    assert len(stated) > 10
    for path, value in stated:
        for other in OTHERS:
            if other != value:
                with pytest.raises(InputError):
                    Campaign.from_dict(edited(public, path, other))


@each_sort
def test_a_parameter_cannot_be_edited_without_its_promise(name: str) -> None:
    """Another epsilon, delta, unit, range or number of waves would be another promise or another document."""
    public = document(asked(name))
    guarantee = public["guarantee"]
    edits = [
        edited(public, ("mechanism", "parameters", "epsilon"), 2.0),
        edited(public, ("mechanism", "parameters", "epsilon"), 1e-9),
        edited(public, ("waves",), public["waves"] + 1),
        edited(public, ("unit",), "person" if public["unit"] != "person" else "claim"),
        edited(public, ("mechanism", "wire"), 2),
        edited(public, ("mechanism", "wire"), True),
        edited(
            public, ("guarantee", "sentence"), guarantee["sentence"].replace("claim", "person") + " Trust!"
        ),
    ]
    if "range" in public:
        edits.append(edited(public, ("range",), [0, 100]))
    if "range" in public["mechanism"]["parameters"]:
        edits.append(edited(public, ("mechanism", "parameters", "range"), [0, 100]))
    for changed in edits:
        with pytest.raises(InputError):
            Campaign.from_dict(changed)


def _numbers(public: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in public["guarantee"].items() if name not in REMARKS}


def test_words_that_are_no_promise_may_come_from_another_version() -> None:
    public = document(asked())
    public["guarantee"]["not_promised"] = ["much is not promised"]
    assert Campaign.from_dict(public) == asked()


def test_a_server_still_knows_a_campaign_that_an_older_version_described_in_other_words() -> None:
    """What it opened stays answerable; a device compares, and refuses."""
    public = document(asked())
    public["guarantee"]["sentence"] = "As it was said in an older version."
    assert Campaign.kept(public) == asked()
    with pytest.raises(InputError):
        Campaign.from_dict(public)


def test_a_range_of_one_object_cannot_differ_from_the_scale_that_is_used() -> None:
    public = document(asked("sparse"))
    public["objects"][0]["range"] = [0, 100]
    with pytest.raises(InputError):
        Campaign.from_dict(public)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SAMPLES = {name: document(asked(name)) for name in REQUESTS}


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(sorted(SAMPLES)), data=st.data(), value=anything)
def test_a_document_with_anything_anywhere_is_refused_or_answered(
    name: str, data: st.DataObject, value: Any
) -> None:
    public = SAMPLES[name]
    path = data.draw(st.sampled_from([path for path, _ in leaves(public)]))
    shorter = path[: data.draw(st.integers(1, len(path)))]
    changed = edited(public, shorter, value)
    try:
        built = Campaign.from_dict(changed)
    except InputError:
        return
    assert _numbers(document(built)) == _numbers(changed)


@settings(max_examples=100, deadline=None)
@given(value=anything)
def test_no_document_at_all_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        Campaign.from_dict(value)


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted(REQUESTS)),
    key=st.sampled_from(KEYS),
    value=anything,
)
def test_a_request_with_anything_anywhere_is_refused_or_makes_a_campaign(
    name: str, key: str, value: Any
) -> None:
    try:
        campaign = asked(name, **{key: value})
    except (ParameterError, InputError):
        return
    assert Campaign.from_dict(document(campaign)) == campaign


def test_a_title_that_grows_when_it_is_normalized_can_be_read_again() -> None:
    """Some characters are two in normal form C."""
    assert Campaign.from_dict(document(asked(title="\u0958" * 100))).title == "\u0915\u093c" * 100
    with pytest.raises(ParameterError):
        asked(title="\u0958" * 101)


@pytest.mark.parametrize("title", ["", "  ", "a\nb", "\ud800", 5, None, "x" * 201])
def test_a_title_is_a_short_printable_text(title: Any) -> None:
    with pytest.raises(ParameterError):
        asked(title=title)
    with pytest.raises(InputError):
        Campaign.from_dict({**document(asked()), "title": title})


def test_a_campaign_has_a_bounded_number_of_objects_and_columns() -> None:
    """Else a request, or a document that a device reads, could take all memory."""
    with pytest.raises(ParameterError, match="objects"):
        asked(objects=[str(number) for number in range(MOST_OBJECTS + 1)])
    wide = {"columns": {f"c{number}": {"values": ["a", "b"]} for number in range(MOST_COLUMNS + 1)}}
    with pytest.raises(ParameterError, match="columns"):
        asked("records", schema=wide)


def test_the_epsilon_of_all_waves_is_rounded_up() -> None:
    campaign = asked(epsilon=0.1, waves=3)
    assert Fraction(campaign.epsilon()) >= 3 * Fraction(campaign.guarantee["epsilon"])
