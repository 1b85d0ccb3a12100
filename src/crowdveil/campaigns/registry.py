"""The kinds of campaigns by name: one line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdveil.registry import Registry

if TYPE_CHECKING:
    from crowdveil.campaigns.kind import Kind

KINDS: Registry[type[Kind]] = Registry(
    "kind of campaign",
    {
        "sensing": "crowdveil.campaigns.sensing:Sensing",
        "sparse": "crowdveil.campaigns.sparse:Sparse",
        "records": "crowdveil.campaigns.records:RecordsKind",
    },
)
