"""The web application."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from crowdveil.errors import CrowdveilError
from crowdveil.service.api import campaigns, health, operators, reports, results
from crowdveil.service.guard import Guard
from crowdveil.service.intake import UNAVAILABLE
from crowdveil.service.openapi import document
from crowdveil.service.problems import TYPE, Refusal, Refused, Unread
from crowdveil.service.settings import Settings
from crowdveil.service.state import State
from crowdveil.service.web import actions, assets, creating, participants, sign_in
from crowdveil.service.web import operators as operators_pages
from crowdveil.service.web.problems import lead_to_sign_in, problem_page, wants_page
from crowdveil.service.web.session import SignInNeeded
from crowdveil.version import __version__

DESCRIPTION = """\
Campaigns whose reports are durable, counted once, and never raw: devices perturb what people say before it is
sent. Errors are `application/problem+json`. Times are ISO 8601 in UTC. Operators send a bearer token.
"""
WORDS = {
    400: "the request cannot be read",
    404: "there is nothing here",
    405: "this cannot be done here",
}

log = structlog.get_logger("crowdveil.app")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; it opens the database when it starts."""
    service = State.of(settings or Settings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.intake.start(asyncio.get_running_loop())
        Thread(target=_warm_up, daemon=True).start()
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
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    api = (reports.router, results.router, campaigns.router, operators.router, health.router)
    pages = (participants, sign_in, operators_pages, actions, creating, assets)
    for router in (*api, *(part.router for part in pages)):
        app.include_router(router)
    app.add_exception_handler(SignInNeeded, lead_to_sign_in)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Unread, _refused)
    app.add_exception_handler(CrowdveilError, _unusable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_middleware(Guard, service=service)
    return app


def _warm_up() -> None:
    """Import what campaigns need while the first requests are answered already."""
    for name in ("campaigns.campaign", "campaigns.sensing", "campaigns.sparse", "campaigns.records"):
        import_module(f"crowdveil.{name}")
    import_module("crowdveil.service.exports")
    import_module("jinja2")
    # Batches make many short-lived objects: what lives for good is not looked through each time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _response(request: Request, refusal: Refusal, **more: Any) -> Response:
    if wants_page(request):
        return problem_page(request, refusal)
    content = json.dumps(refusal.to_dict() | more, allow_nan=False)
    return Response(content, refusal.status, headers=dict(refusal.headers), media_type=TYPE)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused | Unread)
    return _response(request, error.refusal)


async def _unusable(request: Request, error: Exception) -> Response:
    return _response(request, Refusal(422, "unusable", str(error)))


async def _invalid(request: Request, error: Exception) -> Response:
    """Where a request is wrong, and how; not what it said."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if found[0]["loc"] == ("body",) and not _says_json(request):
        return _response(request, Refusal(415, "type", "the body of this request is application/json"))
    errors = [{"where": _place(one), "what": one["type"].replace("_", " ")} for one in found[:20]]
    refusal = Refusal(422, "invalid", f"{errors[0]['where']}: {errors[0]['what']}")
    return _response(request, refusal, errors=errors)


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    return kind.startswith("application/") and kind.endswith(("/json", "+json"))


def _place(error: Any) -> str:
    """The name of a field and numbers of entries; names that only the request has are left out."""
    own = 1 if error["type"] == "extra_forbidden" and len(error["loc"]) == 2 else 2
    place = [*error["loc"][:own], *(part for part in error["loc"][own:] if isinstance(part, int))]
    return ".".join(map(str, place))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    refusal = Refusal(error.status_code, "http", WORDS.get(error.status_code, "refused"), headers)
    return _response(request, refusal)


async def _database(request: Request, error: Exception) -> Response:
    """Full, read-only, unreachable or too busy: nothing was kept. Anything else is a bug."""
    if isinstance(error, DBAPIError | PoolTimeoutError):
        log.warning("database", error=type(error).__name__)
        return _response(request, UNAVAILABLE)
    raise error
