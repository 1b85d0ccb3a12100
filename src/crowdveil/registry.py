"""Methods by name, imported when they are first asked for.

A registry is one line for each method: its name, and where it is defined. So a command can list the names
without loading any method, and a new method is one new file and one new line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from crowdveil.errors import ParameterError

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """A read-only mapping from names to entries that are imported on first use.

    Parameters
    ----------
    kind:
        What an entry is, in the singular, for error messages: "release method".
    homes:
        For each name the place of its entry, "package.module:attribute".

    """

    def __init__(self, kind: str, homes: Mapping[str, str]) -> None:
        self.kind = kind
        self._homes = dict(homes)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._homes:
            raise UnknownName(f"there is no {self.kind} {name!r}; there are {', '.join(self._homes)}")
        module, _, attribute = self._homes[name].partition(":")
        return cast(Entry, getattr(import_module(module), attribute))

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


class UnknownName(ParameterError, KeyError):  # noqa: N818, it reads as what happened
    """A name that is not in a registry. Also a KeyError, so that `in` and `get` work."""

    def __str__(self) -> str:
        return str(self.args[0])
