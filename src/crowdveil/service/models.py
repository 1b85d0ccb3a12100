"""What requests and responses look like; OpenAPI is made from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

MOST_IN_LIST = 10_000
MOST_WAVES, MOST_ROUND = 1000, 10**6
Token = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
Wave = Annotated[int, Field(ge=1, le=MOST_WAVES, description="By default the one that is open.")]


class Strict(BaseModel):
    """A request: nothing that is not asked for, no number for a text."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _few(cls, given: Any) -> Any:
        """Refuse at once what has more parts than there are: an error for each of many takes long."""
        if isinstance(given, dict) and len(given) > len(cls.model_fields):
            raise PydanticCustomError("extra_forbidden", "there are more parts than are asked for")
        return given


def _printable(given: dict[str, Any]) -> dict[str, Any]:
    """Refuse texts that not every database and reader takes, wherever they are."""
    waiting: list[Any] = [given]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and not value.isprintable():
            raise PydanticCustomError("unprintable", "a text has characters that cannot be printed")
    return given


class Problem(BaseModel):
    """Why something was not done (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class ObjectIn(Strict):
    """An object of a campaign."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    unit: Annotated[str, Field(min_length=1, max_length=40)] | None = None


class CampaignIn(Strict):
    """A campaign that an operator asks for."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    kind: Literal["sensing", "sparse", "records"]
    objects: Annotated[list[str | ObjectIn], Field(max_length=MOST_IN_LIST)] | None = None
    schema_: Annotated[
        Annotated[dict[str, Any], AfterValidator(_printable)] | None, Field(alias="schema")
    ] = None
    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    mechanism: Annotated[str, Field(max_length=40)] = "auto"
    epsilon: Annotated[float, Field(gt=0)] | None = None
    unit: Literal["claim", "cell", "record", "person"] | None = None
    about: Literal["facts", "opinions"] = "facts"
    admission: Literal["open", "invited"] = "open"
    waves: Annotated[int, Field(ge=1, le=MOST_WAVES)] = 1
    people: Annotated[int, Field(ge=1, le=10**7, description="How many are expected.")] | None = None
    options: Annotated[
        dict[str, float | int | str | bool] | None,
        Field(
            description="Of the mechanism: resolution, lambda2, floor, delta, sparsity, label, rounds, batch."
        ),
    ] = None
    retention: Annotated[
        str | None, Field(max_length=40, description="When everything is deleted: a day or a time, UTC.")
    ] = None
    round_hours: Annotated[
        float | None, Field(gt=0, le=10_000, description="records: how long a round lasts at most.")
    ] = None


class MechanismOut(BaseModel):
    """What devices do."""

    name: str
    parameters: dict[str, Any]
    wire: int


class LevelOut(BaseModel):
    """What is hidden, and how well; null: nothing is promised."""

    hidden: str
    epsilon: float | None
    delta: float | None
    times: str | None
    sentence: str


class GuaranteeOut(BaseModel):
    """What is promised to whoever takes part, and what is not."""

    unit: str
    epsilon: float
    delta: float
    adjacency: str
    trust: str
    sentence: str
    levels: list[LevelOut]
    waves: int
    all_waves: list[LevelOut]
    assumptions: list[str]
    not_promised: list[str]


class CampaignOut(BaseModel):
    """A campaign as everybody may see it: all that a device needs to perturb, and to refuse."""

    model_config = ConfigDict(extra="allow")

    id: str
    state: Literal["draft", "open", "paused", "closed"]
    wave: int
    title: str
    kind: Literal["sensing", "sparse", "records"]
    unit: str
    about: str
    admission: Literal["open", "invited"]
    waves: int
    mechanism: MechanismOut
    guarantee: GuaranteeOut
    created: str
    opened: str | None
    closed: str | None
    retention: str | None
    published: bool
    links: dict[str, str]


class ListedOut(BaseModel):
    """A campaign in the list of an operator."""

    id: str
    title: str
    kind: str
    state: str
    wave: int
    created: str
    role: Literal["owner", "viewer"]


class CampaignsOut(BaseModel):
    """All campaigns of an operator."""

    campaigns: list[ListedOut]


class CampaignPatch(Strict):
    """What can be changed: the state, the open wave, when it is deleted, whether its result is public."""

    state: Literal["open", "paused", "closed"] | None = None
    wave: Annotated[int, Field(ge=1, le=MOST_WAVES)] | None = None
    retention: Annotated[str | None, Field(max_length=40)] = None
    published: bool | None = None


class InvitationsIn(Strict):
    """How many invitations."""

    count: Annotated[int, Field(ge=1, le=10_000)]


class InvitationsOut(BaseModel):
    """Invitations, shown this once."""

    tokens: list[str]


class RoleIn(Strict):
    """What an operator may do."""

    role: Literal["owner", "viewer", "none"]


class RolesOut(BaseModel):
    """Who may do what."""

    roles: list[dict[str, str]]


class PlaceIn(Strict):
    """Somebody wants to take part."""

    participant: Token
    wave: Wave | None = None


class PlaceOut(BaseModel):
    """Where a participant is, and what is asked there."""

    place: int
    wave: int
    round: int
    reported: Annotated[bool, Field(description="Whether a report came from there: nothing is to be drawn.")]
    question: dict[str, Any] | None = None


class ReportIn(Strict):
    """All that a participant answers in a wave, as the mechanism's devices send it."""

    participant: Token
    key: Annotated[Token, Field(description="Made up by the device; the same when it sends again.")]
    wave: Wave | None = None
    round: Annotated[int, Field(ge=0, le=MOST_ROUND)] | None = None
    report: Any


class ReportOut(BaseModel):
    """A report is counted."""

    status: Literal["accepted", "known"]


class WithdrawnOut(BaseModel):
    """What a participant reported is deleted."""

    withdrawn: int


class SignIn(Strict):
    """A name and a password."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    password: Annotated[str, Field(min_length=1, max_length=1000)]


class TokenOut(BaseModel):
    """A token, shown this once."""

    name: str
    token: str
    expires: str | None = None


class ResultsOut(BaseModel):
    """What reports amount to so far."""

    model_config = ConfigDict(extra="allow")

    campaign: str
    state: str
    wave: int
    as_of: str | None
    provisional: bool
    participants: int
    reports: int
    counted: Annotated[int, Field(description="Reports that the estimates below were computed from.")]
    withdrawn: int
    withdrawn_since: Annotated[
        int,
        Field(
            description="Of these, at most so many are in the estimates still, until they are computed anew."
        ),
    ]
    promise: GuaranteeOut
    quality: Annotated[
        dict[str, Any] | None,
        Field(description="Of records: the error of single columns, estimated from the reports themselves."),
    ] = None


class LedgerOut(BaseModel):
    """What taking part costs, wave by wave."""

    campaign: str
    entries: list[dict[str, Any]]
    all_waves: list[LevelOut]


class JournalOut(BaseModel):
    """What operators did."""

    entries: list[dict[str, Any]]


class Health(BaseModel):
    """Whether the service is there."""

    status: str
