"""The language of charts and numbers: English, unless a page is being written in another one.

Words stand in the code in English, which is also their name in a translation, as with gettext.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Language:
    """How numbers are written, and translations of English texts; what has none stays English."""

    point: str = "."
    separator: str = ","
    texts: Mapping[str, str] = field(default_factory=dict)


ENGLISH = Language()
_current: ContextVar[Language] = ContextVar("language", default=ENGLISH)


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """A context in which charts and numbers are in this language."""
    token = _current.set(language)
    try:
        yield
    finally:
        _current.reset(token)


def say(english: str, **values: Any) -> str:
    """A text in the current language, with values in their places."""
    text = _current.get().texts.get(english, english)
    return text.format(**values) if values else text


def punctuated(number: str) -> str:
    """A number in English digits, such as 1,260.5, as the current language writes it."""
    language = _current.get()
    return number.translate({ord("."): language.point, ord(","): language.separator})
