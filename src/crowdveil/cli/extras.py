"""Optional packages that commands need, and how to install them."""

from __future__ import annotations

from importlib.util import find_spec

from crowdveil.errors import MissingExtra

SERVICE = (
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "alembic",
    "argon2",
    "structlog",
    "pydantic_settings",
)


def needs_service() -> None:
    """Raise `MissingExtra` unless the packages of the service are there."""
    if any(find_spec(name) is None for name in SERVICE):
        raise MissingExtra("this needs more packages: pip install 'crowdveil[service]'")
