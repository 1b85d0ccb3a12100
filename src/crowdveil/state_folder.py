"""Where crowdveil keeps what outlives a run and belongs to no other file: ledgers, databases, memories."""

from __future__ import annotations

import os
from pathlib import Path

from crowdveil.errors import ParameterError


def state_folder(instead: str) -> Path:
    """The user's own folder, in $XDG_STATE_HOME or ~/.local/state; `instead` helps where there is none."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise ParameterError(f"there is no home folder for the {instead}") from None
    return state / "crowdveil"
