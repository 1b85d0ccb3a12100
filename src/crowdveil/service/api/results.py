"""Results: what reports amount to, as JSON, CSV, Parquet and zip; a public page where an operator says so."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from crowdveil.service.auth import Service, SignedIn, Viewed
from crowdveil.service.models import ResultsOut
from crowdveil.service.openapi import Responses, problems
from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import campaigns, operators, results
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.operators import Operator

PROBLEMS = problems(401, 404, 409)
WaveQuery = Annotated[int | None, Query(ge=1, le=1000, description="By default the one that is open.")]
Table = Literal["results", "weights", "marginals", "records"]
Ending = Literal["csv", "parquet"]

router = APIRouter(tags=["results"])
BASE = "/api/v1/campaigns/{id}"
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"


def _binary(*kinds: str) -> Responses:
    file = {"schema": {"type": "string", "format": "binary"}}
    return {200: {"content": dict.fromkeys(kinds, file)}, **PROBLEMS}


@router.get(
    f"{BASE}/results",
    summary="What reports amount to",
    responses=problems(401, 404),
    response_model_exclude_unset=True,
)
def result(service: Service, campaign: Viewed, wave: WaveQuery = None) -> ResultsOut:
    """The last result and its time; provisional until the campaign is closed."""
    return ResultsOut(**current(service, campaign, wave))


def opened(campaign: Kept, wave: int | None) -> int:
    """The wave that is asked about: one that was opened, or the first."""
    if wave is not None and wave > campaign.wave:
        raise Refused(404, "wave", "there is no such wave yet")
    return campaign.wave if wave is None else wave


def current(service: State, campaign: Kept, wave: int | None) -> dict[str, Any]:
    """Live counts, and the estimates that the worker computed last."""
    wave = opened(campaign, wave)
    with service.database.reading() as connection:
        counted = {row["wave"]: row for row in campaigns.waves_of(connection, campaign)}
        last = results.read(connection, campaign.number, wave)
    live = counted.get(wave, {"participants": 0, "reports": 0, "withdrawn": 0})
    empty: dict[str, Any] = {"tables": []} if campaign.campaign.kind.name == "records" else {"truths": []}
    return {
        "campaign": campaign.id,
        "state": campaign.state,
        "wave": wave,
        "as_of": None if last is None else last.as_of,
        "provisional": last is None or last.provisional,
        "participants": live["participants"],
        "reports": live["reports"],
        "withdrawn": live["withdrawn"],
        "withdrawn_since": 0 if last is None else max(0, live["withdrawn"] - last.withdrawn),
        "counted": 0 if last is None else last.received - last.withdrawn,
        "promise": campaign.campaign.guarantee,
        **(empty if last is None else last.summary),
    }


@router.get(
    f"{BASE}/results.{{ending}}",
    summary="Truths or marginals",
    response_class=Response,
    responses=_binary(CSV, PARQUET),
)
def results_table(ending: Ending, service: Service, campaign: Viewed, wave: WaveQuery = None) -> Response:
    """As `discover` writes them; for records a row for each cell of each table."""
    return _table(service, campaign, wave, "results", ending)


@router.get(
    f"{BASE}/weights.{{ending}}",
    summary="Users' weights",
    response_class=Response,
    responses=_binary(CSV, PARQUET),
)
def weights(ending: Ending, service: Service, campaign: Viewed, wave: WaveQuery = None) -> Response:
    """Of sensing and sparse campaigns; a user is a place."""
    return _table(service, campaign, wave, "weights", ending)


@router.get(
    f"{BASE}/records.{{ending}}",
    summary="A synthetic table",
    response_class=Response,
    responses=_binary(CSV, PARQUET),
)
def records(ending: Ending, service: Service, campaign: Viewed, wave: WaveQuery = None) -> Response:
    """Of records campaigns: rows that belong to nobody, with their certificate."""
    return _table(service, campaign, wave, "records", ending)


@router.get(
    f"{BASE}/reports.parquet",
    summary="All reports, as devices sent them",
    response_class=Response,
    responses=_binary(PARQUET),
)
def reports(service: Service, campaign: Viewed, operator: SignedIn, wave: WaveQuery = None) -> Response:
    """What `crowdveil discover` reads; users are places. The journal says who took it."""
    wave = opened(campaign, wave)
    content = _exports().reports_file(service.database, campaign, wave)
    _note(service, operator, campaign, f"reports of wave {wave}")
    return _file(content, PARQUET, "reports.parquet")


@router.get(
    f"{BASE}/bundle.zip",
    summary="Everything in one file",
    response_class=Response,
    responses=_binary("application/zip"),
)
def bundle(service: Service, campaign: Viewed, operator: SignedIn, wave: WaveQuery = None) -> Response:
    """Results, reports, certificate, ledger and a page to read. The journal says who took it."""
    wave = opened(campaign, wave)
    content = _exports().bundle(service.database, campaign, wave, current(service, campaign, wave))
    _note(service, operator, campaign, f"bundle of wave {wave}")
    return _file(content, "application/zip", "bundle.zip")


@router.get(
    "/c/{id}/results",
    summary="The public page of a result",
    response_class=HTMLResponse,
    responses=problems(404),
)
def page(id: str, service: Service) -> HTMLResponse:
    """Only if an operator published it."""
    with service.database.reading() as connection:
        campaign = campaigns.find(connection, id)
    if not campaign.published:
        raise Refused(404, "unpublished", "the result of this campaign is not public")
    content = _exports().page(campaign, current(service, campaign, None))
    return HTMLResponse(content, headers={"Content-Security-Policy": _exports().page_policy()})


def _table(service: State, campaign: Kept, wave: int | None, name: Table, ending: Ending) -> Response:
    content = _exports().table(service.database, campaign, opened(campaign, wave), name, ending)
    kind = f"{CSV}; charset=utf-8" if ending == "csv" else PARQUET
    return _file(content, kind, f"{name}.{ending}")


def _note(service: State, operator: Operator, campaign: Kept, what: str) -> None:
    """Reports are what devices sent: who takes them away is written down first."""
    with service.database.writing() as connection:
        operators.note(connection, operator.name, "download", campaign.id, what)


def _exports() -> Any:
    """What makes files: imported when it is needed, as a server should start quickly."""
    from crowdveil.service import exports

    return exports


def _file(content: bytes, kind: str, name: str) -> Response:
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
