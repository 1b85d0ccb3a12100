"""Mechanisms that run on a person's own device: nobody has to be trusted.

*Claims.* A device clamps its claims to a public range, rounds them to a public grid and adds exact noise in
whole steps; only then does anything leave it. `perturb` does it to a table of claims, as all devices together
would (a simulation: whoever has the table has the raw claims). Files: `grid` (public places), `perturbed`
(what devices do with claims), `laplace`, `fresh_variances` and `gaussian_exponential`.

*Cells.* Where most people answer about few objects, that they did is private too: a device reports about
every object, whether there is an answer or not. `report` is what all devices do (`reports`); the mechanisms
are `cell_response` (randomized response with NULL, three symbols), `two_layer`, `laplace_cells`,
`factorization` (as in the paper: not private), `sound_factorization`, and `slot_response`, which protects all
of a user's answers with one epsilon.

Every mechanism says what it promises (`promise`) and what one device sends (`report_one`), as plain JSON
(`wire`). `mechanisms` lists them by name; `described` is a mechanism as plain data. Names are imported when
they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdveil.local.cell_response import CellResponse
    from crowdveil.local.description import Description
    from crowdveil.local.factorization import Factorization
    from crowdveil.local.fresh_variances import FreshVariance, fresh_variance
    from crowdveil.local.gaussian_exponential import VariancePerUser, paper_bound
    from crowdveil.local.laplace import Laplace
    from crowdveil.local.laplace_cells import LaplaceCells
    from crowdveil.local.perturbed import ClaimMechanism, Perturbed, perturb, perturb_one
    from crowdveil.local.recommended import recommended_levels
    from crowdveil.local.registry import MECHANISMS
    from crowdveil.local.reports import CellMechanism, Reports, report
    from crowdveil.local.slot_response import SlotResponse
    from crowdveil.local.sound_factorization import SoundFactorization
    from crowdveil.local.two_layer import TwoLayer

_HOMES = {
    "CellMechanism": "reports",
    "CellResponse": "cell_response",
    "ClaimMechanism": "perturbed",
    "Description": "description",
    "Factorization": "factorization",
    "FreshVariance": "fresh_variances",
    "Laplace": "laplace",
    "LaplaceCells": "laplace_cells",
    "MECHANISMS": "registry",
    "Perturbed": "perturbed",
    "Reports": "reports",
    "SlotResponse": "slot_response",
    "SoundFactorization": "sound_factorization",
    "TwoLayer": "two_layer",
    "VariancePerUser": "gaussian_exponential",
    "fresh_variance": "fresh_variances",
    "paper_bound": "gaussian_exponential",
    "perturb": "perturbed",
    "perturb_one": "perturbed",
    "recommended_levels": "recommended",
    "report": "reports",
}

__all__ = [
    "MECHANISMS",
    "CellMechanism",
    "CellResponse",
    "ClaimMechanism",
    "Description",
    "Factorization",
    "FreshVariance",
    "Laplace",
    "LaplaceCells",
    "Perturbed",
    "Reports",
    "SlotResponse",
    "SoundFactorization",
    "TwoLayer",
    "VariancePerUser",
    "fresh_variance",
    "paper_bound",
    "perturb",
    "perturb_one",
    "recommended_levels",
    "report",
]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'crowdveil.local' has no attribute {name!r}")
        return getattr(import_module(f"crowdveil.local.{_HOMES[name]}"), name)
