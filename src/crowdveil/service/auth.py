"""Who asks, and what they may do: operators by their tokens, owners and viewers by their roles."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from crowdveil.service.problems import Refused
from crowdveil.service.state import State
from crowdveil.service.store import campaigns, operators
from crowdveil.service.store.campaigns import Kept, Role
from crowdveil.service.store.operators import Operator

_bearer = HTTPBearer(auto_error=False, description="The token of an operator.")
_Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def state_of(request: Request) -> State:
    """What all requests share; async, as any other function would take a thread for each request."""
    state: State = request.app.state.service
    return state


Service = Annotated[State, Depends(state_of)]


def signed_in(service: Service, credentials: _Credentials) -> Operator:
    """The operator whose token came with the request."""
    operator = None
    if credentials is not None:
        with service.database.reading() as connection:
            operator = operators.of_token(connection, credentials.credentials)
    if operator is None:
        raise Refused(401, "token", "this needs the token of an operator", {"WWW-Authenticate": "Bearer"})
    service.limits.check("requests", f"operator {operator.id}")
    return operator


SignedIn = Annotated[Operator, Depends(signed_in)]


def with_role(service: State, operator: Operator, id: str, role: Role) -> Kept:
    """A campaign in which the operator has that role; for whoever has none, there is no campaign."""
    with service.database.reading() as connection:
        campaign = campaigns.find(connection, id)
        own = campaigns.role_of(connection, campaign, operator)
    if own is None:
        raise Refused(404, "unknown-campaign", "there is no such campaign")
    if role == "owner" and own != "owner":
        raise Refused(403, "owner", "this is for owners of the campaign")
    return campaign


def viewed(id: str, service: Service, operator: SignedIn) -> Kept:
    """A campaign that the operator may see."""
    return with_role(service, operator, id, "viewer")


def owned(id: str, service: Service, operator: SignedIn) -> Kept:
    """A campaign that the operator may change."""
    return with_role(service, operator, id, "owner")


Viewed = Annotated[Kept, Depends(viewed)]
Owned = Annotated[Kept, Depends(owned)]
