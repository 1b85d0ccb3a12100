"""Signing in and out in a browser."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from crowdveil.service.api.addresses import address_of
from crowdveil.service.api.operators import end_session, new_session
from crowdveil.service.auth import Service
from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import operators
from crowdveil.service.store.operators import PREFIX, SESSION, Operator
from crowdveil.service.web.page import local, page
from crowdveil.service.web.session import (
    AnyForm,
    PerhapsSignedIn,
    Posted,
    Seated,
    clear_cookie,
    set_cookie,
)

LONGEST_NAME, LONGEST_SECRET = 100, 1000

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
def ask(request: Request, session: PerhapsSignedIn, next: str = "/") -> Response:
    """The form; whoever signed in before is led on."""
    if session is not None:
        return RedirectResponse(
            f"{local(next)}#", 303
        )  # else a browser keeps what stands behind this address
    return _form(request, local(next))


@router.post("/sign-in")
def sign_in(request: Request, service: Service, fields: AnyForm) -> Response:
    """With a name, and a password or an operator's token."""
    service.limits.check("sign-ins", address_of(request))
    if request.headers.get("origin", "").startswith("https://") and request.url.scheme == "http":
        raise Refused(
            400,
            "proxy",
            "this page came over HTTPS, through a proxy that the server does not know: whoever runs the "
            "server names its address in CROWDVEIL_PROXIES, so that the sign-in can be kept to HTTPS",
        )
    operator = known(service, fields.get("name", ""), fields.get("secret", ""))
    onward = local(fields.get("next", "/"))
    if operator is None:
        return _form(request, onward, 401, wrong=True, name=fields.get("name", "")[:LONGEST_NAME])
    response = RedirectResponse(onward, 303)
    set_cookie(request, response, new_session(service, operator, SESSION))
    return response


@router.post("/sign-out")
def sign_out(request: Request, service: Service, session: Seated, fields: Posted) -> Response:  # noqa: ARG001
    """The token in the cookie is worthless from now on."""
    end_session(service, session.operator, session.token)
    response = RedirectResponse("/sign-in", 303)
    clear_cookie(request, response)
    return response


def known(service: State, name: str, secret: str) -> Operator | None:
    """The operator of that name and password, or that name and token; no token lives longer by it."""
    if len(name) > LONGEST_NAME or not 1 <= len(secret) <= LONGEST_SECRET:
        return None
    with service.database.reading() as connection:
        if not secret.startswith(PREFIX):
            return operators.check_password(connection, name, secret)
        operator = operators.of_token(connection, secret, lasting=True)
        return operator if operator is not None and operator.name == name else None


def _form(
    request: Request, onward: str, status: int = 200, *, wrong: bool = False, name: str = ""
) -> Response:
    answer = page(request, "sign_in.html", status, onward=onward, wrong=wrong, name=name)
    answer.headers["Referrer-Policy"] = "same-origin"
    return answer
