"""Mechanisms that run on a person's own device: nobody has to be trusted.

A device clamps its claims to a public range, rounds them to a public grid and adds exact noise in whole
steps; only then does anything leave it. `perturb_one` is what a device does, `perturb` what all of them
together do to a table of claims (a simulation: whoever has the table has the raw claims).

One file for each idea: `grid` (public places), `perturbed` (both of the above), and the mechanisms,
`laplace` and `gaussian_exponential`.
"""

from crowdveil.local.gaussian_exponential import VariancePerUser, fresh_variance, paper_bound
from crowdveil.local.laplace import Laplace
from crowdveil.local.perturbed import Mechanism, Perturbed, perturb, perturb_one

__all__ = [
    "Laplace",
    "Mechanism",
    "Perturbed",
    "VariancePerUser",
    "fresh_variance",
    "paper_bound",
    "perturb",
    "perturb_one",
]
