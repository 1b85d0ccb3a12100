"""Engines call functions on blocks of whole objects: `map`, `sum`, `collect`."""

from crowdveil.engines.engine import (
    Array,
    Block,
    ByClaim,
    ByObject,
    ByUser,
    ByValue,
    Engine,
    Kept,
    Progress,
    Seal,
    UserNames,
)
from crowdveil.engines.local import LocalEngine
from crowdveil.engines.threads import cores, on_threads

__all__ = [
    "Array",
    "Block",
    "ByClaim",
    "ByObject",
    "ByUser",
    "ByValue",
    "Engine",
    "Kept",
    "LocalEngine",
    "Progress",
    "Seal",
    "UserNames",
    "cores",
    "on_threads",
]
