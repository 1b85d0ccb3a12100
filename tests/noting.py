"""Randomness that notes which streams are taken from it: no two draws of a run may come from the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from crowdveil.randomness import Name, Randomness, Streams, Words, seeded


@dataclass(frozen=True, eq=False)
class _Noted(Streams):
    used: list[tuple[bytes | None, str, Name]]

    def nonces(self, names: Collection[Name], first: int = 0) -> Words:
        self.used.extend((self._seed_key, self._person.decode(), name) for name in names)
        return super().nonces(names, first)


@dataclass(frozen=True)
class Noting(Randomness):
    """Seeded randomness with a list of all (key, purpose, name) that were used, in all its parts."""

    used: list[tuple[bytes | None, str, Name]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> Noting:
        return cls(seeded(seed)._seed_key)

    def part(self, name: str) -> Randomness:
        return Noting(super().part(name)._seed_key, self.used)

    def all_streams(self, *, purpose: str) -> Streams:
        streams = super().all_streams(purpose=purpose)
        return _Noted(streams.key, self._seed_key, purpose.encode(), self.used)

    @property
    def repeated(self) -> list[tuple[str, Name]]:
        """Purpose and name of the streams that were begun more than once."""
        return [(purpose, name) for (_, purpose, name), times in Counter(self.used).items() if times > 1]


@dataclass(frozen=True, eq=False)
class _Seen(Streams):
    used: list[bytes]

    def nonces(self, names: Collection[Name], first: int = 0) -> Words:
        nonces = super().nonces(names, first)
        self.used.extend(self.key.tobytes() + nonce.tobytes() for nonce in nonces)
        return nonces


@dataclass(frozen=True)
class Secure(Randomness):
    """Randomness without a seed, with a list of the keys and nonces of all streams that were used."""

    used: list[bytes] = field(default_factory=list)

    def all_streams(self, *, purpose: str) -> Streams:
        streams = super().all_streams(purpose=purpose)
        return _Seen(streams.key, None, purpose.encode(), self.used)


class Known(Randomness):
    """Randomness without a seed under a key that is known."""

    def all_streams(self, *, purpose: str) -> Streams:
        return Streams(np.arange(8, dtype=np.uint32), None, purpose.encode())
