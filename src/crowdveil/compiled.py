"""The only module that imports numba: `compiled` turns a loop into machine code and caches it on disk.

The cache lies under the user's cache folder (or NUMBA_CACHE_DIR), in a folder named after a hash of the
sources of *all* compiled loops. Numba itself notices a change in the file of a function, but not in the
functions that it calls from other files.
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
    """Folder of the machine code of this version of the loops."""
    here = Path(__file__).parent
    digest = hashlib.blake2b(f"{__version__} {numba.__version__}".encode(), digest_size=8)
    sources = [path for folder in ("kernels", "randomness") for path in sorted((here / folder).glob("*.py"))]
    for source in (Path(__file__), *sources):
        digest.update(source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or _user_cache() / "crowdveil" / "compiled"
    return Path(home) / digest.hexdigest()


def _user_cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return Path(folder) if Path(folder).is_absolute() else Path.home() / ".cache"


def when_compiling(tell: Callable[[], None]) -> None:
    """Call `tell` once, when the first loop is compiled that is not in the cache."""

    class Once(event.Listener):
        called = False

        def on_start(self, _: event.Event) -> None:
            if not self.called:
                self.called = True
                tell()

        def on_end(self, _: event.Event) -> None:
            pass

    event.register("numba:compile", Once())  # type: ignore[no-untyped-call]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """`function` as machine code that releases the interpreter lock and does not reorder sums."""
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
    """Like `compiled`, and always inlined into its callers: for the smallest steps."""
    return compiled(function, forceinline=True)


def fused(function: Callable[..., Any]) -> Any:
    """Like `compiled`, with fused multiply-add instructions where the machine has them."""
    return compiled(function, fastmath={"contract"})


def summed(function: Callable[..., Any]) -> Any:
    """Like `fused`, but the compiler may reorder sums; on one machine the order is always the same."""
    return compiled(function, fastmath={"contract", "reassoc", "nsz"})
