"""Engines call functions on blocks of whole objects: `map`, `sum`, `collect`."""

from crowdveil.engines.engine import (
    RECORDS_TOGETHER,
    Array,
    Block,
    ByClaim,
    ByObject,
    ByUser,
    ByValue,
    Engine,
    Kept,
    Progress,
    RecordBlock,
    Seal,
    UserNames,
)
from crowdveil.engines.local import LocalEngine
from crowdveil.engines.threads import cores, on_threads

__all__ = [
    "RECORDS_TOGETHER",
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
    "RecordBlock",
    "Seal",
    "UserNames",
    "cores",
    "on_threads",
]
