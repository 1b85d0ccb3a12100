"""Randomness that notes which streams are taken from it: no two draws of a run may come from the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from crowdveil.randomness import Name, Randomness, Words, seeded


@dataclass(frozen=True)
class Noting(Randomness):
    """Seeded randomness with a list of all (key, purpose, name) that were used, in all its parts."""

    used: list[tuple[bytes | None, str, Name]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> Noting:
        return cls(seeded(seed)._seed_key)

    def part(self, name: str) -> Randomness:
        return Noting(super().part(name)._seed_key, self.used)

    def streams(self, names: Collection[Name], *, purpose: str) -> tuple[Words, Words]:
        self.used.extend((self._seed_key, purpose, name) for name in names)
        return super().streams(names, purpose=purpose)

    @property
    def repeated(self) -> list[tuple[str, Name]]:
        """Purpose and name of the streams that were begun more than once."""
        return [(purpose, name) for (_, purpose, name), times in Counter(self.used).items() if times > 1]
