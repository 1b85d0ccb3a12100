"""Whether the service lives, whether it can work, and what it counts."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from crowdveil.service.auth import Service
from crowdveil.service.metrics import REGISTRY
from crowdveil.service.models import Health
from crowdveil.service.openapi import problems
from crowdveil.service.problems import Refused

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives", responses=problems())
async def healthz() -> Health:
    """It answers: it lives."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the database answers", responses=problems())
def readyz(service: Service) -> Health:
    """Reports can be taken."""
    if not service.readiness.check():
        raise Refused(503, "database", "the database does not answer", {"Retry-After": "5"})
    return Health(status="ready")


@router.get(
    "/metrics",
    summary="Counts and times, for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
)
def metrics() -> Response:
    """Of this process; nothing by campaign or person."""
    return Response(generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})
