"""The frequency oracles by name: one line for each. A new oracle is one new file and one new line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdveil.registry import Registry

if TYPE_CHECKING:
    from crowdveil.local.oracle import Oracle

ORACLES: Registry[type[Oracle]] = Registry(
    "oracle",
    {
        "krr": "crowdveil.local.krr:KRR",
        "oue": "crowdveil.local.oue:OUE",
        "olh": "crowdveil.local.olh:OLH",
        "bloom": "crowdveil.local.bloom:Bloom",
        "split-krr": "crowdveil.local.split_krr:SplitKRR",
    },
)
