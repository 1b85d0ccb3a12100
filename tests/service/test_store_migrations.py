"""The tables that migrations make are those that the code uses; a newer schema is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from crowdveil.errors import InputError, ParameterError
from crowdveil.service.store.database import Database
from crowdveil.service.store.schema import metadata
from stores import counts, migrated, opened, report


def test_migrations_make_the_tables_that_the_code_uses(database: str) -> None:
    with migrated(database) as store, store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() is not None


def test_migrating_again_changes_nothing(database: str) -> None:
    with migrated(database) as store:
        campaign = opened(store)
        report(store, campaign, "ann")
        store.migrate()
        assert counts(store, campaign) == (1, 1, 0)


def test_a_newer_schema_is_refused_and_left_alone(database: str) -> None:
    with migrated(database) as store:
        with store.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(InputError, match="newer version"):
            store.migrate()
        with store.reading() as connection:
            assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite3"
    path.write_text("this is a letter to somebody, and no database at all" * 100)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(InputError) as refused:
        database.migrate()
    database.close()
    assert "letter" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://a:secret@b/c",
        "postgresql://a:secret@b/c",
        "nope://x",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Database(url)
    assert "secret" not in str(refused.value)


def test_a_database_that_cannot_be_reached_is_told_without_its_password() -> None:
    database = Database("postgresql+psycopg://ann:secret@127.0.0.1:1/x")
    with pytest.raises(InputError) as refused:
        database.migrate()
    database.close()
    assert "secret" not in str(refused.value)


def test_sqlite_syncs_every_commit_and_overwrites_what_is_deleted(tmp_path: Path) -> None:
    with migrated(f"sqlite:///{tmp_path / 'service.sqlite3'}") as store, store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
    assert sqlite3.sqlite_version_info >= (3, 35)
