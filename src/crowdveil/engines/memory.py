"""How a bound on memory is divided among those who work on what lies on disk.

Names, offsets and numbers by object or user are not counted: they are in memory whatever the bound. A name
takes some 250 bytes while names are learnt, and less later. Each part of the work gets a small share of the
bound, since several are done at the same time, and since the allocators of Polars, Arrow and NumPy keep what
was freed for a while.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from crowdveil.errors import InputError, ParameterError

LEAST = 64 * 2**20
USED = 0.8  # of what is free
WHOLE = 100  # bytes for each claim of a file that is read whole: two names in Polars' columns (16 bytes and
# their text) and a value, their codes, the order of the layout, and the claims themselves
POOLED = 40  # bytes for each claim of a pool: users, values, their order, and all of it in that order
OF_CSV = 4  # bytes in memory for each byte of a CSV file: cells become text columns before they are numbers
IN_PASSING = (
    4096  # for each row that a pass reads: 500 bytes or so with what Arrow decodes, by an eighth of all
)
LAID_OUT = 192  # for each claim that is laid out with others: 48 bytes, by a quarter of all
IN_A_BLOCK = 4096  # for each claim of a block: what functions make of an object with few claims
ON_DISK = 64  # bytes for each claim that does not fit: what all steps of `perturb` have there at once
KEPT = 16  # arrays that functions return are in memory up to this part of all, together
_GROUP = "/sys/fs/cgroup/memory.{}"  # what is told of this process's control group
MOST_AT_ONCE = 2**31 - 1  # rows that loops number with 32 bits


@dataclass(frozen=True)
class Memory:
    """A bound on memory in bytes, and what it leaves room for."""

    bytes: int

    def __post_init__(self) -> None:
        if self.bytes < 1:
            raise ParameterError(f"memory must be at least one byte, not {self.bytes}")

    def holds(self, claims: int) -> bool:
        """Whether so many claims fit as a whole."""
        return claims * WHOLE <= self.bytes

    def holds_csv(self, size: int) -> bool:
        """Whether a CSV file of this many bytes fits."""
        return size * OF_CSV <= self.bytes

    @property
    def rows_in_passing(self) -> int:
        """How many rows a pass over a file or a table reads at once."""
        return max(1, self.bytes // IN_PASSING)

    @property
    def claims_laid_out(self) -> int:
        """How many claims are laid out, or ranked, together."""
        return min(MOST_AT_ONCE, max(1, self.bytes // LAID_OUT))

    @property
    def kept(self) -> int:
        """How many bytes of what functions return stay in memory."""
        return self.bytes // KEPT

    def claims_of_block(self, threads: int) -> int:
        """How many claims a block may have if so many threads work on one each."""
        return max(1, self.bytes // (IN_A_BLOCK * threads))

    def check_object(self, claims: int, source: str) -> None:
        """Refuse an object with so many claims, which are laid out together, if they do not fit."""
        if claims > self.claims_laid_out:
            raise InputError(
                f"{source}: one object has more claims than fit in memory at once; "
                f"they need {in_words(claims * LAID_OUT)} (--memory)"
            )

    def check_whole(self, claims: int) -> None:
        """Refuse so many claims at once, if they do not fit."""
        if not self.holds(claims):
            raise InputError(
                f"these claims do not fit in memory at once; they need {in_words(claims * WHOLE)} "
                "(--memory): Parquet is written in parts (-o NAME.parquet)"
            )

    def check_pool(self, claims: int) -> None:
        """Refuse a pool of so many claims, which are one object, if they do not fit."""
        if claims * POOLED > self.bytes:
            raise InputError(
                "all claims as one object do not fit in memory at once; "
                f"they need {in_words(claims * POOLED)} (--memory)"
            )


def in_words(size: int) -> str:
    """A number of bytes, rounded up to whole binary units."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 2**power:
            return f"{-(-size // 2**power):,} {unit}"
    return f"{size} bytes"


def usable() -> int | None:
    """Most of the memory that is free, in bytes; None if the system does not tell."""
    free = [size for size in (_free_here(), _free_in_group()) if size is not None]
    return max(LEAST, int(USED * min(free))) if free else None


def installed() -> int:
    """The memory of this machine, or of the container that this is, in bytes."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = _told(_GROUP.format("max"), r"(\d+)")
    return whole if most is None else min(whole, most)


def _free_here() -> int | None:
    found = _told("/proc/meminfo", r"MemAvailable: +(\d+) kB")
    return None if found is None else found * 1024


def _free_in_group() -> int | None:
    """What is left of the limit of this process's control group, as containers have one."""
    most, used = (_told(_GROUP.format(name), r"(\d+)") for name in ("max", "current"))
    if most is None or used is None:
        return None
    kinds = ("inactive_file", "active_file")  # pages of files, which the system takes back when it needs them
    pages = sum(_told(_GROUP.format("stat"), rf"(?m)^{kind} (\d+)") or 0 for kind in kinds)
    return max(0, most - used + pages)


def _told(path: str, pattern: str) -> int | None:
    try:
        found = re.search(pattern, Path(path).read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        return None
    return None if found is None else int(found[1])
