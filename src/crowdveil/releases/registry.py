"""The release methods by name: a new one is one file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdveil.registry import Registry

if TYPE_CHECKING:
    from crowdveil.releases.method import ReleaseMethod

RELEASES: Registry[type[ReleaseMethod]] = Registry(
    "release method",
    {
        "certified": "crowdveil.releases.certified:Certified",
        "smoothed": "crowdveil.releases.smoothed:Smoothed",
        "attempts": "crowdveil.releases.attempts:Attempts",
        "priscrowd": "crowdveil.releases.priscrowd:PrisCrowd",
        "uniform": "crowdveil.releases.priscrowd:Uniform",
        "basic": "crowdveil.releases.basic:Basic",
    },
)
