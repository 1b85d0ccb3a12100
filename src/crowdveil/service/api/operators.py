"""Signing in and out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request, Response

from crowdveil.service.api.addresses import address_of
from crowdveil.service.auth import Service, SignedIn
from crowdveil.service.models import SignIn, TokenOut
from crowdveil.service.openapi import problems
from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import operators, times
from crowdveil.service.store.operators import Operator

LIFETIME = timedelta(hours=12)

router = APIRouter(prefix="/api/v1", tags=["operators"])


@router.post("/tokens", status_code=201, summary="Sign in", responses=problems(400, 401, 415))
def sign_in(body: SignIn, service: Service, request: Request) -> TokenOut:
    """A token for twelve hours, for a name and a password."""
    service.limits.check("sign-ins", address_of(request))
    with service.database.reading() as connection:  # a slow hash: nobody waits for it
        operator = operators.check_password(connection, body.name, body.password)
    if operator is None:
        raise Refused(
            401, "password", "no operator has this name and password", {"WWW-Authenticate": "Bearer"}
        )
    token = new_session(service, operator)
    return TokenOut(name=operator.name, token=token, expires=times.text_of(datetime.now(UTC) + LIFETIME))


def new_session(service: State, operator: Operator, prefix: str = operators.PREFIX) -> str:
    """A token for twelve hours; the journal has the sign-in."""
    with service.database.writing() as connection:
        token = operators.new_token(connection, operator, lifetime=LIFETIME, prefix=prefix)
        operators.note(connection, operator.name, "sign in")
    return token


def end_session(service: State, operator: Operator, token: str) -> None:
    """Make a token worthless; the journal has the sign-out."""
    with service.database.writing() as connection:
        operators.end_token(connection, token)
        operators.note(connection, operator.name, "sign out")


@router.delete("/tokens", status_code=204, summary="Sign out", responses=problems(401))
def sign_out(service: Service, operator: SignedIn, request: Request) -> Response:
    """The token that came with the request is worthless from now on."""
    token = request.headers["authorization"].split(None, 1)[1]
    end_session(service, operator, token)
    return Response(status_code=204)
