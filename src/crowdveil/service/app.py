"""The web application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from starlette.exceptions import HTTPException

from crowdveil.errors import CrowdveilError
from crowdveil.service.api import campaigns, health, operators, reports, results
from crowdveil.service.guard import Guard
from crowdveil.service.intake import UNAVAILABLE
from crowdveil.service.problems import TYPE, Refusal, Refused
from crowdveil.service.settings import Settings
from crowdveil.service.state import State
from crowdveil.version import __version__

DESCRIPTION = """\
Campaigns whose reports are durable, counted once, and never raw: devices perturb what people say before it is
sent. Errors are `application/problem+json`. Times are ISO 8601 in UTC. Operators send a bearer token.
"""


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; it opens the database when it starts."""
    service = State.of(settings or Settings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.intake.start(asyncio.get_running_loop())
        try:
            yield
        finally:
            await asyncio.to_thread(service.intake.stop)
            service.database.close()

    app = FastAPI(
        title="crowdveil",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,
    )
    app.state.service = service
    for router in (health.router, operators.router, campaigns.router, reports.router, results.router):
        app.include_router(router)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(CrowdveilError, _unusable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_middleware(Guard, service=service)
    return app


def _response(refusal: Refusal, **more: Any) -> JSONResponse:
    return JSONResponse(
        refusal.to_dict() | more, refusal.status, headers=dict(refusal.headers), media_type=TYPE
    )


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    return _response(error.refusal)


async def _unusable(_: Request, error: Exception) -> JSONResponse:
    return _response(Refusal(422, "unusable", str(error)))


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Where a request is wrong, and how; not what it said."""
    assert isinstance(error, RequestValidationError)
    errors = [
        {"where": ".".join(map(str, one["loc"])), "what": one["type"].replace("_", " ")}
        for one in error.errors()
    ]
    return _response(
        Refusal(422, "invalid", f"{errors[0]['where']}: {errors[0]['what']}"), errors=errors[:20]
    )


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    words = {404: "there is nothing here", 405: "this cannot be done here", 400: "the request cannot be read"}
    headers = dict(error.headers or {})
    return _response(Refusal(error.status_code, "http", words.get(error.status_code, "refused"), headers))


async def _database(_: Request, error: Exception) -> JSONResponse:
    """Full, read-only or unreachable: nothing was kept. Anything else is a bug."""
    if isinstance(error, DBAPIError):
        return _response(UNAVAILABLE)
    raise error
