"""Times in UTC, as ISO 8601 texts that sort by time."""

from __future__ import annotations

from datetime import UTC, datetime

from crowdveil.errors import ParameterError


def now() -> str:
    """The time of this machine."""
    return text_of(datetime.now(UTC))


def text_of(time: datetime) -> str:
    """A time as it is kept and shown."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def time_of(text: str, what: str) -> str:
    """A time or a day that somebody gives, as it is kept; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(text)
        return text_of(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise ParameterError(f"{what} is a time like 2030-01-31 or 2030-01-31T12:00:00Z") from None
