"""What a file of reports tells about itself: the mechanism that made it, and what was promised."""

from __future__ import annotations

import json
from typing import Any

from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Promise
from crowdveil.local.described import Description
from crowdveil.version import __version__

KEY = "crowdveil"  # of the Parquet metadata
FORMAT = 1


def told_by(
    description: Description, *, seeded: bool, promise: Promise, user_promise: Promise
) -> dict[str, Any]:
    """All that a file tells."""
    return {
        "format": FORMAT,
        "crowdveil": __version__,
        "mechanism": description.mechanism,
        "parameters": dict(description.parameters),
        "seeded": seeded,
        "promise": promise.to_dict(),
        "user_promise": user_promise.to_dict(),
    }


def to_text(told: dict[str, Any]) -> str:
    """As strict JSON."""
    return json.dumps(told, allow_nan=False, indent=2)


def from_text(text: str, source: str) -> tuple[Description, dict[str, Any]]:
    """The mechanism, and all that is told; it can be built."""
    try:
        told = json.loads(text)
        if told["format"] != FORMAT:
            raise ParameterError("it has another format")
        description = Description(told["mechanism"], told["parameters"])
        if description.of_cells:
            description.build_for_cells()
        else:
            description.build()
    except ParameterError as error:
        raise InputError(f"{source}: its mechanism cannot be used ({error})") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(f"{source}: does not tell a mechanism as crowdveil perturb writes it") from None
    return description, told
