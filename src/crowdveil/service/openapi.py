"""The OpenAPI document: what can be asked, and every status that can be the answer.

FastAPI documents errors in a form of its own. Here they are what the service sends: problem details, as
`application/problem+json`.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from crowdveil.service.models import Problem
from crowdveil.service.problems import TITLES, TYPE

ALWAYS = (408, 413, 422, 429, 500, 503)  # whatever is asked
Responses = dict[int | str, dict[str, Any]]

_UNUSED = ("HTTPValidationError", "ValidationError")
_REFERENCE = {"$ref": "#/components/schemas/Problem"}


def problems(*statuses: int) -> Responses:
    """The problems that can be the answer of a route, those that always can be included."""
    return {status: {"model": Problem, "description": TITLES[status]} for status in {*ALWAYS, *statuses}}


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path in made["paths"].values():
            for operation in path.values():
                _correct(operation["responses"])
        for name in _UNUSED:
            made["components"]["schemas"].pop(name, None)
        app.openapi_schema = made
    return app.openapi_schema


def _correct(responses: dict[str, Any]) -> None:
    """Every status from 400 on is a problem; some say when to try again, or how to sign in."""
    for status in [status for status in responses if int(status) >= 400]:
        answer = {
            "description": TITLES[int(status)],
            "content": {TYPE: {"schema": _REFERENCE}},
        }
        header = {"429": "Retry-After", "503": "Retry-After", "401": "WWW-Authenticate"}.get(status)
        if header is not None:
            answer["headers"] = {header: {"required": True, "schema": {"type": "string"}}}
        responses[status] = answer
