"""What campaigns promise, and what they say is not promised."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from campaign_cases import REQUESTS, asked
from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.statement import checked_promise
from crowdveil.errors import ParameterError

each_sort = pytest.mark.parametrize("name", REQUESTS)
PER_USER = "gaussian-exponential-per-user"
TOGETHER = "only by epsilon times their number"


def remarks(campaign: Campaign) -> str:
    return "\n".join(campaign.guarantee["not_promised"])


# --- persons ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian-exponential"])
@pytest.mark.parametrize("objects", [1, 3, 7, 100])
def test_epsilon_for_a_person_is_split_over_all_objects(mechanism: str, objects: int) -> None:
    for epsilon in (0.1, 1.0, 4.0):
        names = [str(number) for number in range(objects)]
        campaign = asked("sensing person", objects=names, mechanism=mechanism, epsilon=epsilon)
        assert isinstance(campaign.kind, Sensing)
        whole = campaign.kind.claim_mechanism.promise("user", objects)
        assert campaign.guarantee["epsilon"] == whole.to_dict()["epsilon"]
        assert 0.99 * epsilon < campaign.guarantee["epsilon"] <= epsilon
        assert campaign.guarantee["unit"] == "person"


def test_where_claims_together_cost_less_than_their_sum_nothing_else_is_said() -> None:
    """One variance for all claims of a user: their epsilons do not add up."""
    options = {"lambda2": 0.01, "floor": 5.0, "delta": 1e-6}
    campaign = asked("sensing", mechanism=PER_USER, epsilon=None, options=options)
    one, person = (level["epsilon"] for level in campaign.guarantee["levels"])
    assert one < person < 3 * one
    assert TOGETHER not in remarks(campaign)
    assert "together are protected less than each of them" in remarks(campaign)


def test_slots_protect_a_person_with_all_answers_by_one_epsilon() -> None:
    campaign = asked("slots")
    assert [level["epsilon"] for level in campaign.guarantee["levels"]] == [1.0, 1.0]
    assert campaign.guarantee["unit"] == "person"
    assert TOGETHER not in remarks(campaign)


def test_cells_cost_a_person_as_often_as_there_are_objects() -> None:
    campaign = asked("sparse")
    assert [level["epsilon"] for level in campaign.guarantee["levels"]] == [1.0, 5.0]
    assert TOGETHER in remarks(campaign)


def test_a_record_is_all_that_a_person_says_so_that_both_units_cost_the_same() -> None:
    record, person = asked("records").guarantee, asked("records person").guarantee
    assert record["levels"] == person["levels"]
    assert (record["unit"], person["unit"]) == ("record", "person")


@pytest.mark.parametrize("name", ["sensing person", "records person", "records"])
def test_persons_and_records_are_not_told_that_answers_add_up(name: str) -> None:
    assert TOGETHER not in remarks(asked(name))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("sparse", "claim"),
        ("sensing", "cell"),
        ("records", "claim"),
        ("sensing", "record"),
        ("slots", "cell"),
    ],
)
def test_a_unit_that_the_kind_cannot_protect_is_refused(name: str, unit: str) -> None:
    with pytest.raises(ParameterError):
        asked(name, unit=unit, mechanism="slots" if name == "slots" else "auto")


# --- waves --------------------------------------------------------------------------------------------------


@each_sort
@pytest.mark.parametrize("waves", [1, 2, 3, 7, 1000])
def test_all_waves_cost_as_often_and_are_rounded_up(name: str, waves: int) -> None:
    campaign = asked(name, waves=waves, epsilon=0.7)
    pairs = zip(campaign.guarantee["levels"], campaign.guarantee["all_waves"], strict=True)
    for one, together in pairs:
        exact = waves * Fraction(one["epsilon"])
        assert exact <= Fraction(together["epsilon"]) <= exact * (1 + Fraction(1, 10**12))
        assert together["delta"] >= waves * one["delta"]
    own = Fraction(campaign.guarantee["epsilon"])
    assert Fraction(campaign.epsilon()) >= waves * own
    assert ("waves costs as much again" in remarks(campaign)) == (waves > 1)


def test_deltas_of_waves_add_up_until_nothing_is_left() -> None:
    weak: Any = {"epsilon": None, "options": {"lambda2": 0.01, "floor": 5.0, "delta": 0.004}}
    one, few, many = (
        asked(mechanism=PER_USER, waves=waves, **weak).guarantee["all_waves"][0] for waves in (1, 2, 1000)
    )
    assert few["delta"] >= 2 * one["delta"] >= 0.0079
    assert many["epsilon"] is None
    assert "nothing is promised" in many["sentence"]


@pytest.mark.parametrize("waves", [0, -1, 1001, True, 1.0, "2"])
def test_the_number_of_waves_is_a_small_whole_number(waves: Any) -> None:
    with pytest.raises(ParameterError):
        asked(waves=waves)


# --- what is not promised -----------------------------------------------------------------------------------


@each_sort
def test_an_open_link_and_an_invitation_are_told_apart(name: str) -> None:
    by_link, by_invitation = (remarks(asked(name, admission=way)) for way in ("open", "invited"))
    assert "one person with two devices" in by_link
    assert "invitation" not in by_link
    assert "several invitations" in by_invitation
    assert "two devices" not in by_invitation
    assert "can tell whose report is whose" in by_invitation  # tokens' digests lie beside the reports


@each_sort
def test_every_campaign_says_what_no_noise_hides(name: str) -> None:
    told = remarks(asked(name))
    for what in ("from which network address", "in other campaigns", "withdrawn"):
        assert what in told


def test_that_there_is_a_claim_is_hidden_by_sparse_campaigns_only() -> None:
    shown = "who made claims about which objects"
    assert shown in remarks(asked("sensing"))
    assert shown in remarks(asked("sensing person"))
    assert shown not in remarks(asked("sparse"))
    assert shown not in remarks(asked("slots"))


# --- promises that are worth little -------------------------------------------------------------------------


def test_a_large_delta_is_refused_unless_somebody_insists() -> None:
    weak = {"lambda2": 1.0}
    with pytest.raises(ParameterError, match="delta"):
        asked(mechanism=PER_USER, epsilon=None, options=weak)
    for insist in (1, "yes", False):
        with pytest.raises(ParameterError, match="delta"):
            asked(mechanism=PER_USER, epsilon=None, options={**weak, "insist": insist})
    campaign = asked(mechanism=PER_USER, epsilon=None, options={**weak, "insist": True})
    assert campaign.guarantee["delta"] > 0.9
    with pytest.raises(ParameterError):
        checked_promise(campaign.kind, insist=False)


def test_a_campaign_that_promises_nothing_is_not_opened() -> None:
    with pytest.raises(ParameterError):
        asked(epsilon=None)
