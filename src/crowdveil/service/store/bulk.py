"""Many rows at once, in the way that is quickest for each database, in the transaction of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, Column, ColumnElement, Connection, LargeBinary, Table, any_, bindparam
from sqlalchemy.exc import DBAPIError

FEW = 20  # rows for which COPY is not worth its round trips
_POSTGRES_TYPES = {"INTEGER": "int4", "BIGINT": "int8", "BLOB": "bytea", "VARCHAR": "text", "TEXT": "text"}


def among(connection: Connection, column: Column[bytes]) -> ColumnElement[bool]:
    """Whether a column is one of the values of the parameter `among`, a list that may be long."""
    if connection.dialect.name == "sqlite":
        return column.in_(bindparam("among", expanding=True))
    return column == any_(bindparam("among", type_=ARRAY(LargeBinary)))


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows of values of these columns; all of them, or an error."""
    names, sqlite = ", ".join(columns), connection.dialect.name == "sqlite"
    if not sqlite and len(rows) > FEW:
        _copy(connection, f"COPY {table.name} ({names}) FROM STDIN (FORMAT BINARY)", table, columns, rows)
        return
    marks = ", ".join(["?" if sqlite else "%s"] * len(columns))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))  # noqa: S608


def _copy(
    connection: Connection,
    statement: str,
    table: Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    """PostgreSQL's COPY."""
    kinds = [_POSTGRES_TYPES[str(table.c[name].type).partition("(")[0]] for name in columns]
    import psycopg

    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(kinds)
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:  # as SQLAlchemy passes on all others
        raise DBAPIError.instance(statement, None, error, psycopg.Error) from error
