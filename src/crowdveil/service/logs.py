"""Structured logs: a JSON object in each line of standard error. What goes in is said where it is logged."""

from __future__ import annotations

import logging
import sys

import structlog


def configure() -> None:
    """Write our own events and warnings of libraries; no access log, whose lines would hold paths."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format='{"level": "%(levelname)s", "logger": "%(name)s"}'
    )
