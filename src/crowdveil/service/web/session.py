"""Operators in a browser: a cookie that holds a token, and a key in every form.

The cookie is sent along with every request to this site, whoever caused it. So nothing is done for it alone:
a form must come from a page of ours (Sec-Fetch-Site or Origin), and hold a key that only such a page knows.
The API does not look at cookies at all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response

from crowdveil.service.api.operators import LIFETIME
from crowdveil.service.auth import Service, with_role
from crowdveil.service.problems import Refused
from crowdveil.service.store import operators
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.operators import SESSION, Operator

MOST_FIELDS = 100
FORM = "application/x-www-form-urlencoded"
KEY = "form_key"

Fields = Mapping[str, str]


@dataclass(frozen=True)
class Session:
    """An operator who has signed in, and the token in the browser's cookie."""

    operator: Operator
    token: str

    @property
    def form_key(self) -> str:
        """What every form of this operator holds: nobody else can compute it, and it tells no token."""
        return hmac.new(self.token.encode(), b"crowdveil forms", hashlib.sha256).hexdigest()


class SignInNeeded(Refused):
    """Nobody has signed in: the way leads to the page where one can."""

    def __init__(self) -> None:
        super().__init__(401, "session", "sign in first")


def cookie_name(request: Request) -> str:
    """With the prefix, browsers take it over HTTPS alone, and from this host alone."""
    return "__Host-crowdveil" if request.url.scheme == "https" else "crowdveil"


def set_cookie(request: Request, response: Response, token: str) -> None:
    """Let the browser remember who signed in; scripts cannot read it."""
    response.set_cookie(
        cookie_name(request),
        token,
        max_age=int(LIFETIME.total_seconds()),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def clear_cookie(request: Request, response: Response) -> None:
    """Let the browser forget."""
    secure = request.url.scheme == "https"
    response.delete_cookie(cookie_name(request), secure=secure, httponly=True, samesite="lax")


def session_of(request: Request, service: Service) -> Session | None:
    """Who signed in with this browser, if anybody."""
    token = request.cookies.get(cookie_name(request), "")
    if not token:
        return None
    with service.database.reading() as connection:
        operator = operators.of_token(connection, token, prefix=SESSION)
    if operator is None:
        return None
    service.limits.check("requests", f"operator {operator.id}")
    return Session(operator, token)


PerhapsSignedIn = Annotated[Session | None, Depends(session_of)]


def seated(session: PerhapsSignedIn) -> Session:
    """Who signed in with this browser; whoever did not is led to the page where one can."""
    if session is None:
        raise SignInNeeded
    return session


Seated = Annotated[Session, Depends(seated)]


def check_origin(request: Request) -> None:
    """Refuse a form that came from a page of somebody else."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    else:  # browsers of before 2023
        own = origin in [f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https")]
    if not own:
        raise Refused(403, "form", "this form did not come from a page of this service")


async def fields_of(request: Request) -> Fields:
    """The fields of a form from a page of ours."""
    check_origin(request)
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM:
        raise Refused(415, "type", f"the body of this request is {FORM}")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Refused(400, "form", "this form cannot be read") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused(400, "form", "a field of this form is there twice")
    return fields


AnyForm = Annotated[Fields, Depends(fields_of)]


def posted(session: Seated, fields: AnyForm) -> Fields:
    """The fields of a form that holds the key of whoever signed in."""
    if not hmac.compare_digest(fields.get(KEY, "").encode(), session.form_key.encode()):
        raise Refused(403, "form", "this form is of another sign-in: open its page again")
    return {name: value for name, value in fields.items() if name != KEY}


Posted = Annotated[Fields, Depends(posted)]


def viewed(id: str, service: Service, session: Seated) -> Kept:
    """A campaign that whoever signed in may see."""
    return with_role(service, session.operator, id, "viewer")


def owned(id: str, service: Service, session: Seated) -> Kept:
    """A campaign that whoever signed in may change."""
    return with_role(service, session.operator, id, "owner")


ViewedHere = Annotated[Kept, Depends(viewed)]
OwnedHere = Annotated[Kept, Depends(owned)]
