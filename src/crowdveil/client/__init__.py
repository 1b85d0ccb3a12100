"""The Python client of a campaign: it checks what is promised, perturbs here, remembers, and sends.

A report is drawn once, kept in a local file, and only then sent. Whatever crashes, the same person never
answers the same question with fresh noise, and nothing is counted twice. Files: `campaign_client` (HTTP, with
patience), `memory` (the local file) and `memory_form` (its tables), `delivery` (the order place, draw,
remember, send, note), `limits` (what the owner of the answers accepts), `people` (whose answers there are),
`send` (all of it, for a file).

    client = CampaignClient("https://example.org/c/4f1c")
    campaign = client.fetch()  # refuses a campaign that promises something else than holds
    client.answer({"a": 3.0}, memory=Memory("memory.sqlite3"), person="ann")

Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdveil.client.campaign_client import CampaignClient
    from crowdveil.client.limits import Limits
    from crowdveil.client.memory import Memory

_HOMES = {
    "CampaignClient": "campaign_client",
    "Limits": "limits",
    "Memory": "memory",
}

__all__ = ["CampaignClient", "Limits", "Memory"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'crowdveil.client' has no attribute {name!r}")
        return getattr(import_module(f"crowdveil.client.{_HOMES[name]}"), name)
