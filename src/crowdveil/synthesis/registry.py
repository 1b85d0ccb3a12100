"""The ways to synthesize records, by name: one line for each. A new method is one new file and one line.

A method's parameters say what they promise (`promise(schema)`); those that are a `Design` can also be
collected in rounds from devices, and not only simulated on records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from crowdveil.registry import Registry

if TYPE_CHECKING:
    from crowdveil.synthesis.result import Synthetic


@dataclass(frozen=True)
class Method:
    """The dataclass of a method's parameters (all take `epsilon`), and the function that simulates it."""

    parameters: Callable[..., Any]
    synthesize: Callable[..., Synthetic]

    def takes(self, option: str) -> bool:
        """Whether this is one of the method's parameters."""
        return option in {field.name for field in fields(self.parameters)}  # type: ignore[arg-type]


METHODS: Registry[Method] = Registry(
    "synthesis method",
    {
        "crowdveil": "crowdveil.synthesis.latent_class_synthesis:METHOD",
        "calm": "crowdveil.synthesis.calm:METHOD",
        "samprivsyn": "crowdveil.synthesis.samprivsyn:METHOD",
        "lopub": "crowdveil.synthesis.lopub:METHOD",
        "krr": "crowdveil.synthesis.krr:METHOD",
        "independent": "crowdveil.synthesis.independent:METHOD",
    },
)
