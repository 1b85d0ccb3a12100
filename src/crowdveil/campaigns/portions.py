"""Lines of a batch in portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def portions(lines: Sequence[bytes], most: int, size: int) -> Iterator[Sequence[bytes]]:
    """Portions of at most that many lines, and of at most `size` bytes unless a single line is longer."""
    first, taken = 0, 0
    for at, line in enumerate(lines):
        if at > first and (at - first == most or taken + len(line) > size):
            yield lines[first:at]
            first, taken = at, 0
        taken += len(line) + 1
    if lines:
        yield lines[first:]
