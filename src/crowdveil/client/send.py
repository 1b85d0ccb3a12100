"""Send a file: fetch the campaign, check what it promises, perturb here, remember, and send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.campaigns.records import RecordsKind
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.sparse import Sparse
from crowdveil.client.campaign_client import CampaignClient, Published
from crowdveil.client.delivery import Delivery, Tally
from crowdveil.client.limits import Limits
from crowdveil.client.memory import Memory
from crowdveil.client.people import People, check_distinct, read_people
from crowdveil.errors import InputError, OutputError
from crowdveil.files import keep_apart

AT_ONCE = 500  # people: the size of a batch, and of a transaction
NOT_ENCRYPTED = (
    "the connection is not encrypted: whoever is on the way sees who takes part, and can show another "
    "campaign. Use https"
)
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Request:
    """What is to be sent, and on which terms.

    Parameters
    ----------
    source:
        The file of raw answers; "-" is standard input.
    participants:
        A table with the columns user and participant.
    limits:
        What the campaign may cost at most.
    columns:
        Names of the columns `object`, `user` and `value`, where they are to be found by name.
    distinct_names:
        Whether names that differ only by case or blanks are known to be those of different people.

    """

    source: str
    participants: Path | None = None
    limits: Limits = field(default_factory=Limits)
    columns: Mapping[str, str | None] = field(default_factory=dict)
    distinct_names: bool = False


@dataclass(frozen=True)
class Prepared:
    """A campaign that was checked, and the people who will answer; nothing was drawn yet."""

    published: Published
    people: People
    warnings: tuple[str, ...] = ()

    @property
    def campaign(self) -> Campaign:
        """The campaign."""
        return self.published.campaign


@dataclass(frozen=True)
class Sent:
    """What became of the reports of everybody in a file."""

    prepared: Prepared
    tally: Tally
    earlier: Tally  # of reports that earlier runs drew in earlier waves
    memory: Path
    unanswered: int  # reports of other people, drawn by an earlier run, to which no answer came

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            **self.tally.to_dict(),
            "earlier_waves": self.earlier.to_dict(),
            "people": len(self.prepared.people.people),
            **described(self.prepared),
            "memory": str(self.memory),
            "unanswered": self.unanswered,
        }


def prepare(request: Request, client: CampaignClient) -> Prepared:
    """Fetch and check the campaign, then read the answers; everything that can refuse does so here."""
    published = client.look()
    request.limits.check(published.campaign)
    people = read_people(published.campaign, request.source, request.columns, request.participants)
    if not request.distinct_names:
        check_distinct(published.campaign, people)
    warnings = people.warnings if client.address.encrypted else (NOT_ENCRYPTED, *people.warnings)
    return Prepared(published, people, warnings)


def send(
    prepared: Prepared,
    client: CampaignClient,
    memory: Memory,
    request: Request,
    progress: Progress | None = None,
) -> Sent:
    """Draw for whoever has no report in this wave yet, and send what was not acknowledged, in any wave."""
    keep_apart([memory.path], {"the raw answers": request.source, "--participants": request.participants})
    people = prepared.people.people
    delivery = Delivery(client, prepared.published, memory, distinct_names=request.distinct_names)
    for first in range(0, len(people), AT_ONCE):
        if progress is not None:
            progress("perturbing and sending", first / len(people))
        try:
            delivery.deliver(people[first : first + AT_ONCE])
        except (InputError, OutputError) as error:
            if not first:
                raise
            done = delivery.tally.sent + delivery.tally.already
            raise type(error)(f"{error} ({done:,} of {len(people):,} reports are there)") from None
    unanswered = memory.unanswered(prepared.published.id)
    return Sent(prepared, delivery.tally, delivery.earlier, memory.path, unanswered)


def described(prepared: Prepared) -> dict[str, Any]:
    """The campaign: who asks what, and what is promised."""
    campaign = prepared.campaign
    return {
        "campaign": prepared.published.id,
        "wave": prepared.published.wave,
        "kind": campaign.kind.name,
        "mechanism": campaign.kind.mechanism(),
        "guarantee": campaign.guarantee,
    }


def preview(prepared: Prepared) -> dict[str, Any]:
    """What would be sent: how many reports, how noisy, and one that is drawn from a made-up answer."""
    kind = prepared.campaign.kind
    return {
        "dry_run": True,
        "sent": 0,
        "already": 0,
        "refused": 0,
        "people": len(prepared.people.people),
        **described(prepared),
        **_noise(prepared.campaign),
        "example": {
            "made_up_answer": (answer := _made_up(prepared.campaign)),
            "report": kind.report_one(answer, Asked(0), kind.question(prepared.published.wave, Asked(0), {})),
        },
    }


def _noise(campaign: Campaign) -> dict[str, Any]:
    """The standard deviation of the noise, and what it is measured in."""
    kind = campaign.kind
    if not isinstance(kind, Sensing):
        return {}
    deviation = kind.claim_mechanism.noise_variance**0.5
    return {"noise_deviation": deviation, "noise_unit": "share of the range" if kind.scaled else "value"}


def _made_up(campaign: Campaign) -> dict[str, Any]:
    """An answer in the middle of what is possible, of nobody."""
    kind = campaign.kind
    if isinstance(kind, RecordsKind):
        return {column.name: (labels := column.labels())[len(labels) // 2] for column in kind.schema.columns}
    assert isinstance(kind, Sensing | Sparse)
    name = kind.items.listed[0].name
    if isinstance(kind, Sparse):
        domain = kind.cell_mechanism.domain
        return {name: float((domain.low + domain.high) // 2)}
    own = kind.ranges[name]
    return {name: own.low + own.length / 2}
