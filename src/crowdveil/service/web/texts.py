"""What pages say, in the reader's language: one file of texts for each; a translation is a file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from crowdveil.report.language import Language

LANGUAGES = ("en", "de")  # the first is the one for everybody else


CHART = "chart:"  # before the English text of a chart, which is its name in a translation


class Texts:
    """The texts of one language by name."""

    def __init__(self, language: str) -> None:
        source = files("crowdveil.service.web").joinpath("texts", f"{language}.json")
        self.language = language
        everything: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
        self._texts = {name: text for name, text in everything.items() if not name.startswith(CHART)}
        self.spoken = Language(
            point=self._texts["number.point"],
            separator=self._texts["number.separator"],
            texts={
                name.removeprefix(CHART): text for name, text in everything.items() if name.startswith(CHART)
            },
        )
        """The same language, for numbers and charts."""

    def __call__(self, name: str, **values: Any) -> str:
        """The text of that name, with values in their places."""
        text = self._texts[name]
        return text.format(**values) if values else text

    def beginning(self, prefix: str) -> dict[str, str]:
        """All texts whose names begin so, without that beginning: for scripts."""
        return {
            name.removeprefix(prefix): text for name, text in self._texts.items() if name.startswith(prefix)
        }

    def names(self) -> set[str]:
        """The names of all texts."""
        return set(self._texts)


@cache
def texts(language: str) -> Texts:
    """The texts of a language, read once."""
    return Texts(language)


def wanted(header: str) -> Texts:
    """The texts for an Accept-Language header: the language of ours that is liked best."""
    best, language = 0.0, LANGUAGES[0]
    for part in header.split(",")[:20]:
        name, _, parameters = part.strip().partition(";")
        try:
            liked = float(parameters.partition("q=")[2] or 1)
        except ValueError:
            continue
        own = name.strip().lower().partition("-")[0]
        if own in LANGUAGES and liked > best:
            best, language = liked, own
    return texts(language)
