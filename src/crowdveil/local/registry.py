"""The local mechanisms by name: one line for each.

A name is either a mechanism, a class derived from `ClaimMechanism` or `CellMechanism`, or a `Shortcut` that
leads to one with some of its parameters chosen. Both tell whether they are about claims that were made or
about every cell (`about`), which options they take (`options`) and how a request becomes their name and
parameters (`describe`). Files and devices name mechanisms, never shortcuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdveil.errors import ParameterError
from crowdveil.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crowdveil.local.mechanism import Mechanism, Shortcut

MECHANISMS: Registry[type[Mechanism] | Shortcut] = Registry(
    "mechanism",
    {
        "laplace": "crowdveil.local.laplace:Laplace",
        "gaussian-exponential": "crowdveil.local.fresh_variances:FreshVariance",
        "gaussian-exponential-per-user": "crowdveil.local.gaussian_exponential:VariancePerUser",
        "auto": "crowdveil.local.cell_response:AUTO",
        "rr": "crowdveil.local.cell_response:RR",
        "three-symbols": "crowdveil.local.cell_response:THREE_SYMBOLS",
        "cell-response": "crowdveil.local.cell_response:CellResponse",
        "lp": "crowdveil.local.laplace_cells:LaplaceCells",
        "two-layer": "crowdveil.local.two_layer:TwoLayer",
        "mf": "crowdveil.local.factorization:Factorization",
        "mf-sound": "crowdveil.local.sound_factorization:SoundFactorization",
        "slots": "crowdveil.local.slot_response:SlotResponse",
    },
)


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that belong to another mechanism; None and False are "not given"."""
    takes = MECHANISMS[name].options
    for option, value in options.items():
        if value is not None and value is not False and option not in takes:
            *takers, last = (other for other, entry in MECHANISMS.items() if option in entry.options)
            names = f"{', '.join(takers)} and {last}" if takers else last
            raise ParameterError(f"--{option.replace('_', '-')} goes with --mechanism {names}")
