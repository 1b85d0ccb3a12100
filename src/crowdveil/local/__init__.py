"""Mechanisms that run on a person's own device: nobody has to be trusted.

*Claims.* A device clamps its claims to a public range, rounds them to a public grid and adds exact noise in
whole steps; only then does anything leave it. `perturb_one` is what a device does, `perturb` what all of them
together do to a table of claims (a simulation: whoever has the table has the raw claims). Files: `grid`
(public places), `perturbed` (both of the above), `laplace` and `gaussian_exponential`.

*Cells.* Where most people answer about few objects, that they did is private too: a device reports about
every object, whether there is an answer or not. `report` is what all devices do (`reports`); the mechanisms
are `cell_response` (randomized response with NULL, three symbols), `two_layer`, `laplace_cells`,
`factorization` (as in the paper: not private), `sound_factorization`, and `slot_response`, which protects all
of a user's answers with one epsilon.
"""

from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.gaussian_exponential import VariancePerUser, fresh_variance, paper_bound
from crowdveil.local.laplace import Laplace
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.perturbed import Mechanism, Perturbed, perturb, perturb_one
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.local.reports import Reports, SparseMechanism, report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer

__all__ = [
    "CellResponse",
    "Factorization",
    "Laplace",
    "LaplaceCells",
    "Mechanism",
    "Perturbed",
    "Reports",
    "SlotResponse",
    "SoundFactorization",
    "SparseMechanism",
    "TwoLayer",
    "VariancePerUser",
    "fresh_variance",
    "paper_bound",
    "perturb",
    "perturb_one",
    "recommended_levels",
    "recommended_slots",
    "report",
]
