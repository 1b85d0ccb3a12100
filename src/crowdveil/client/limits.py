"""What the owner of answers accepts: a campaign that promises less is refused before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.statement import own_promise, times
from crowdveil.certificates.levels import Level
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, Promise, rounded_up
from crowdveil.ledger import LARGE_DELTA


@dataclass(frozen=True)
class Limits:
    """The largest epsilons and the largest delta, each over all waves of a campaign.

    Parameters
    ----------
    epsilon:
        For the unit of the campaign (a claim, a cell, a record, a person); None is no limit.
    person_epsilon:
        For a person with everything that they say in the campaign; None is no limit.
    delta:
        How often a promise may fail.

    """

    epsilon: float | None = None
    person_epsilon: float | None = None
    delta: float = LARGE_DELTA

    def __post_init__(self) -> None:
        for name, limit in (("epsilon", self.epsilon), ("person-epsilon", self.person_epsilon)):
            if limit is not None and not (isfinite(limit) and limit > 0):
                raise ParameterError(f"--max-{name} is a number above 0, not {limit:g}")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"--max-delta is a number from 0 and below 1, not {self.delta:g}")

    def check(self, campaign: Campaign) -> None:
        """`InputError` if the campaign costs more than this."""
        unit, waves = campaign.guarantee["unit"], campaign.waves
        self._check(own_promise(campaign.kind), f"each {unit}", waves, self.epsilon, "--max-epsilon")
        if self.person_epsilon is not None:
            promise = person_promise(campaign)
            self._check(promise, "a person", waves, self.person_epsilon, "--max-person-epsilon")

    def _check(self, promise: Promise | None, whom: str, waves: int, limit: float | None, name: str) -> None:
        level = over_waves(promise, waves)
        so_often = f" over all {waves} waves" if waves > 1 else ""
        if level is None or level.epsilon is None or level.delta is None:
            raise InputError(f"this campaign promises nothing to {whom}{so_often}: nothing was drawn")
        if limit is not None and level.epsilon > limit:
            raise InputError(
                f"this campaign takes an epsilon of {rounded_up(level.epsilon)} for {whom}{so_often}, above "
                f"{name} {limit:g}: nothing was drawn"
            )
        if level.delta > self.delta:
            raise InputError(
                f"this campaign has a delta of {rounded_up(level.delta)} for {whom}{so_often}, above "
                f"--max-delta {self.delta:g}: nothing was drawn"
            )


def person_promise(campaign: Campaign) -> Promise | None:
    """What is promised to a person in one wave; who answers with one record is that record."""
    certificate = campaign.kind.certificate()
    if certificate.user_promise is not None or campaign.kind.name != "records":
        return certificate.user_promise
    return certificate.promise


def over_waves(promise: Promise | None, waves: int) -> Level | None:
    """A promise after that many waves; None if it is no guarantee."""
    if not isinstance(promise, Guarantee):
        return None
    return times(Level("", promise.epsilon, promise.delta), waves)
