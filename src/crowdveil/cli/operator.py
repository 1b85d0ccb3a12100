"""`crowdveil operator`: who may run campaigns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.options import Json
from crowdveil.cli.serve import DatabaseUrl

if TYPE_CHECKING:
    from sqlalchemy import Connection

app = typer.Typer(help="Who may run campaigns: add, list and remove operators.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The operator's name.", metavar="NAME")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read a password from the first line of standard input.")
]


@app.command("add")
def add(
    name: Name, database: DatabaseUrl = None, password_stdin: PasswordStdin = False, as_json: Json = False
) -> None:
    """Add an operator, and print a token, this once; also while a server runs.

    With a password the operator can sign in, too (POST /api/v1/tokens).

    Example: crowdveil operator add ann --json
    """
    from crowdveil.service.store import operators

    password = _password() if password_stdin else None
    with _connection(database) as connection:
        operator = operators.add(connection, name, password)
        token = operators.new_token(connection, operator)
        operators.note(connection, operator.name, "added")
    _say(
        {"name": operator.name, "token": token},
        as_json,
        f"operator {operator.name}; the token is shown this once:\n{token}",
    )


@app.command("token")
def token(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print a new token of an operator, this once; earlier ones stay valid.

    Example: crowdveil operator token ann
    """
    from crowdveil.service.store import operators

    with _connection(database) as connection:
        operator = operators.named(connection, name)
        new = operators.new_token(connection, operator)
        operators.note(connection, operator.name, "new token")
    _say({"name": operator.name, "token": new}, as_json, new)


@app.command("password")
def password(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Set the password of an operator to the first line of standard input; all tokens end.

    Example: crowdveil operator password ann < password.txt
    """
    from crowdveil.service.store import operators

    with _connection(database) as connection:
        operator = operators.named(connection, name)
        operators.set_password(connection, operator, _password())
        operators.note(connection, operator.name, "new password")
    _say({"name": operator.name}, as_json, f"operator {operator.name}: new password, and all tokens ended")


@app.command("list")
def listed(database: DatabaseUrl = None, as_json: Json = False) -> None:
    """List operators.

    Example: crowdveil operator list
    """
    from crowdveil.service.store import operators

    with _connection(database) as connection:
        rows = operators.listed(connection)
    text = "\n".join(f"{name}  since {since[:10]}" for name, since in rows) or "there are no operators yet"
    _say({"operators": [{"name": name, "created": since} for name, since in rows]}, as_json, text)


@app.command("remove")
def remove(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Remove an operator with all tokens; their campaigns stay with other owners.

    Example: crowdveil operator remove ann
    """
    from crowdveil.service.store import operators

    with _connection(database) as connection:
        operators.remove(connection, name)
        operators.note(connection, name, "removed")
    _say({"name": name}, as_json, f"operator {name} removed")


@contextmanager
def _connection(url: str | None) -> Iterator[Connection]:
    from crowdveil.cli.extras import needs_service

    needs_service()
    from sqlalchemy.exc import DBAPIError

    from crowdveil.errors import InputError
    from crowdveil.service.settings import Settings
    from crowdveil.service.store.database import Database, reason

    database = Database(url or Settings().database)
    try:
        database.migrate()
        with database.writing() as connection:
            yield connection
    except DBAPIError as error:
        raise InputError(f"the database cannot be used ({reason(error)})") from None
    finally:
        database.close()


def _password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _say(value: dict[str, Any], as_json: bool, text: str) -> None:
    from crowdveil.cli.console import say, say_json

    say_json(value) if as_json else say(text)
