"""Structured logs: a JSON object in each line of standard error. What goes in is said where it is logged."""

from __future__ import annotations

import contextlib
import logging
import sys

import structlog


class _Lines:
    """Standard error; a line that cannot be written is lost, and what is logged happens all the same."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


def configure() -> None:
    """Write our own events and warnings of libraries; no access log, whose lines would hold paths."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=_Lines()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format='{"level": "%(levelname)s", "logger": "%(name)s"}'
    )


def place_of(error: BaseException) -> str:
    """The last line of our own code: a name and a number, no value."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "crowdveil" in code.co_filename:
            place = f"{code.co_filename.rpartition('crowdveil/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
