"""The one door to numba: `compiled` turns a loop into machine code and keeps it on disk.

Machine code is cached under the user's cache folder (or NUMBA_CACHE_DIR), in a folder named after the
sources of *all* compiled loops: numba itself notices a change in the file of a function, but not in a
function that it calls from another file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from crowdveil.version import __version__


@cache
def cache_folder() -> Path:
    """The folder that holds the machine code of this version of the loops."""
    here = Path(__file__).parent
    digest = hashlib.blake2b(f"{__version__} {numba.__version__}".encode(), digest_size=8)
    sources = [path for folder in ("kernels", "randomness") for path in sorted((here / folder).glob("*.py"))]
    for source in (Path(__file__), *sources):
        digest.update(source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or _user_cache() / "crowdveil" / "compiled"
    return Path(home) / digest.hexdigest()


def _user_cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".cache"


def when_compiling(tell: Callable[[], None]) -> None:
    """Have `tell` called once, when a loop must be compiled that the cache does not hold."""

    class Once(event.Listener):
        told = False

        def on_start(self, _: event.Event) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, _: event.Event) -> None:
            pass

    event.register("numba:compile", Once())  # type: ignore[no-untyped-call]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """`function` as machine code: no interpreter lock, cached on disk, no reordering of sums."""
    numba_config: Any = numba.config
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(cache_folder())
    try:
        return numba.njit(nogil=True, cache=_writable(), error_model="numpy", **options)(function)
    finally:
        numba_config.CACHE_DIR = before


@cache
def _writable() -> bool:
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


def inlined(function: Callable[..., Any]) -> Any:
    """Like `compiled`, always inlined by the machine-code compiler: for the smallest steps."""
    return compiled(function, forceinline=True)


def fused(function: Callable[..., Any]) -> Any:
    """Like `compiled`, with products and sums in one instruction where the machine has it."""
    return compiled(function, fastmath={"contract"})


def summed(function: Callable[..., Any]) -> Any:
    """Like `fused`, for sums whose order of adding the compiler may choose: one order on one machine."""
    return compiled(function, fastmath={"contract", "reassoc", "nsz"})
