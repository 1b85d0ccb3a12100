"""What the owner of answers accepts: a campaign that promises less is refused before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.statement import times
from crowdveil.certificates.levels import Level
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import rounded_up
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
        promised, waves = campaign.guarantee, campaign.waves
        so_often = f" over all {waves} waves" if waves > 1 else ""
        own = times(Level("", promised["epsilon"], promised["delta"]), waves)
        whom = f"each {promised['unit']}{so_often}"
        self._check(whom, own.epsilon, own.delta, self.epsilon, "--max-epsilon")
        if self.person_epsilon is not None:
            person = promised["all_waves"][-1]  # the widest level; a record is all that a person says
            self._check(
                f"a person{so_often}",
                *(person["epsilon"], person["delta"], self.person_epsilon, "--max-person-epsilon"),
            )

    def _check(
        self, whom: str, epsilon: float | None, delta: float | None, limit: float | None, name: str
    ) -> None:
        if epsilon is None or delta is None:
            raise InputError(f"this campaign promises nothing to {whom}: nothing was drawn")
        if limit is not None and epsilon > limit:
            raise InputError(
                f"this campaign takes an epsilon of {rounded_up(epsilon)} for {whom}, above {name} "
                f"{limit:g}: nothing was drawn"
            )
        if delta > self.delta:
            raise InputError(
                f"this campaign has a delta of {rounded_up(delta)} for {whom}, above --max-delta "
                f"{self.delta:g}: nothing was drawn"
            )
