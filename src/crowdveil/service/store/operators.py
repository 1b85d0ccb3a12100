"""Operators, their passwords and tokens, and the journal of what they did."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, Row, delete, insert, select, update

from crowdveil.campaigns.kind import text_of
from crowdveil.errors import ParameterError
from crowdveil.service.store import times
from crowdveil.service.store.schema import journal, operators, roles, tokens

PREFIX, SESSION = "cvo_", "cvs_"  # whoever finds one in a log knows what it is; the second is in a cookie
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000
_hasher = PasswordHasher()


@dataclass(frozen=True)
class Operator:
    """Somebody who runs campaigns."""

    id: int
    name: str


def add(connection: Connection, name: str, password: str | None = None) -> Operator:
    """A new operator."""
    name = text_of(name, "an operator's name", 100)
    if connection.execute(select(operators.c.id).where(operators.c.name == name)).first():
        raise ParameterError(f"there is an operator {name!r} already")
    hashed = None if password is None else _hashed(password)
    row = {"name": name, "password": hashed, "created": times.now()}
    number = connection.execute(insert(operators).values(**row)).inserted_primary_key
    assert number is not None
    return Operator(number[0], name)


def remove(connection: Connection, name: str) -> None:
    """Remove an operator and their tokens; refuses while there is a campaign that nobody else owns."""
    operator = named(connection, name)
    mine = select(roles.c.campaign).where(roles.c.operator == operator.id, roles.c.role == "owner")
    others = select(roles.c.campaign).where(roles.c.operator != operator.id, roles.c.role == "owner")
    alone = len(connection.execute(mine.except_(others)).all())
    if alone:
        raise ParameterError(
            f"{name} is the only owner of {alone} campaigns: share them, or delete them, first"
        )
    connection.execute(delete(operators).where(operators.c.id == operator.id))


def named(connection: Connection, name: str) -> Operator:
    """The operator of that name; `ParameterError` if there is none."""
    row = _row(connection, name)
    if row is None:
        raise ParameterError(f"there is no operator {name!r}")
    return Operator(row.id, row.name)


def _row(connection: Connection, name: str) -> Row[Any] | None:
    """All about the operator of that name. Names are printable; not every database takes other texts."""
    query = select(operators).where(operators.c.name == name)
    return connection.execute(query).first() if name.isprintable() else None


def listed(connection: Connection) -> list[tuple[str, str]]:
    """Names of all operators, and since when they are there."""
    rows = connection.execute(select(operators.c.name, operators.c.created).order_by(operators.c.name))
    return [(row.name, row.created) for row in rows]


def set_password(connection: Connection, operator: Operator, password: str) -> None:
    """A new password; all tokens of the operator end with it."""
    hashed = _hashed(password)
    connection.execute(update(operators).where(operators.c.id == operator.id).values(password=hashed))
    connection.execute(delete(tokens).where(tokens.c.operator == operator.id))


def check_password(connection: Connection, name: str, password: str) -> Operator | None:
    """The operator of that name and password."""
    row = _row(connection, name)
    try:
        _hasher.verify(_nobody() if row is None or row.password is None else row.password, password)
    except (Argon2Error, InvalidHashError):
        return None
    if row is None or row.password is None:
        return None
    return Operator(row.id, row.name)


def new_token(
    connection: Connection, operator: Operator, *, lifetime: timedelta | None = None, prefix: str = PREFIX
) -> str:
    """A token, which is shown this once: only its digest is kept. The operator's expired ones go away."""
    connection.execute(
        delete(tokens).where(tokens.c.operator == operator.id, tokens.c.expires <= times.now())
    )
    token = prefix + secrets.token_urlsafe(32)
    ends = None if lifetime is None else times.text_of(datetime.now(UTC) + lifetime)
    connection.execute(
        insert(tokens).values(digest=_digest(token), operator=operator.id, created=times.now(), expires=ends)
    )
    return token


def end_token(connection: Connection, token: str) -> None:
    """Make a token worthless."""
    connection.execute(delete(tokens).where(tokens.c.digest == _digest(token)))


def of_token(
    connection: Connection, token: str, *, prefix: str = PREFIX, lasting: bool = False
) -> Operator | None:
    """The operator who has this token, if it is of this sort; with `lasting`, if it never expires."""
    if not token.startswith(prefix):
        return None
    digest = _digest(token)
    row = connection.execute(
        select(operators.c.id, operators.c.name, tokens.c.digest, tokens.c.expires)
        .join(tokens, tokens.c.operator == operators.c.id)
        .where(tokens.c.digest == digest)
    ).first()
    if row is None or not hmac.compare_digest(bytes(row.digest), digest):
        return None
    if row.expires is not None and (lasting or row.expires <= times.now()):
        return None
    return Operator(row.id, row.name)


def note(
    connection: Connection, operator: str, action: str, campaign: str | None = None, detail: str | None = None
) -> None:
    """Write into the journal what an operator does, in the transaction that does it."""
    row = {"operator": operator, "action": action, "campaign": campaign, "detail": detail}
    connection.execute(insert(journal).values(time=times.now(), **row))


@cache
def _nobody() -> str:
    """A hash of no password, so that an unknown name takes as long as a wrong password."""
    return _hasher.hash(secrets.token_urlsafe(16))


def _digest(token: str) -> bytes:
    """Tokens have 256 random bits: a fast hash is as good as a slow one."""
    return hashlib.sha256(token.encode()).digest()


def _hashed(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ParameterError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    return _hasher.hash(password)
