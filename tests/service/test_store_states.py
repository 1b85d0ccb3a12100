"""A report that is there is recognized in every state; whoever owns a campaign alone is not removed."""

from __future__ import annotations

import pytest

from crowdveil.campaigns.kind import Asked
from crowdveil.errors import ParameterError
from crowdveil.service.problems import Refusal
from crowdveil.service.store import campaigns, operators
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import digest
from stores import migrated, moved, opened, submission, submit

SENT = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_report_that_is_there_is_known_and_nothing_else_is_taken(
    database: str, state: campaigns.State
) -> None:
    with migrated(database) as store:
        campaign = opened(store)
        there = submission(campaign.intake, "ann", report=SENT)
        assert submit(store, campaign, [there]) == [201]
        campaign = moved(store, campaign, state)
        new = submission(campaign.intake, "bob", report=SENT)
        other = submission(campaign.intake, "ann", "another key", report=SENT)
        assert submit(store, campaign, [there, new, other]) == [200, state, "reported"]


def test_a_place_without_a_report_is_of_no_use_once_a_campaign_is_closed(database: str) -> None:
    with migrated(database) as store:
        campaign = opened(store, "slots")
        who = digest(campaign.id, "ann")
        with store.writing() as connection:
            desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [who])
            assert desk.seat(who) == Asked(0)
            desk.close()
        campaign = moved(store, campaign, "closed")
        with store.writing() as connection:
            desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [who])
            refusal = desk.seat(who)
            assert isinstance(refusal, Refusal)
            assert refusal.code == "closed"
        report = {"v": 1, "mechanism": "slots", "payload": [0]}
        assert submit(store, campaign, [submission(campaign.intake, "ann", report=report)]) == ["closed"]


def test_the_only_owner_of_a_campaign_is_not_removed(database: str) -> None:
    with migrated(database) as store:
        campaign = opened(store)
        with store.writing() as connection:
            (owner,) = [each["operator"] for each in campaigns.shared_with(connection, campaign)]
            other = operators.add(connection, "other")
            with pytest.raises(ParameterError, match="only owner"):
                operators.remove(connection, owner)
            campaigns.share(connection, campaign, other, "viewer")
            with pytest.raises(ParameterError, match="only owner"):
                operators.remove(connection, owner)
            campaigns.share(connection, campaign, other, "owner")
            operators.remove(connection, owner)
            assert campaigns.shared_with(connection, campaign) == [{"operator": "other", "role": "owner"}]
