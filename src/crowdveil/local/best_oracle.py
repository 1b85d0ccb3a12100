"""Which frequency oracle to ask by: the one with the least variance."""

from __future__ import annotations

from functools import lru_cache
from math import exp

from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.local.record_reports import check_cells
from crowdveil.randomness.response import LARGEST_EPSILON, Response

SHORT_REPORT = 64  # bits of a report of OLH as it is kept: a seed and a value, a word each


@lru_cache(maxsize=2**14, typed=True)
def best_oracle(epsilon: float, cells: int) -> KRR | OUE | OLH:
    """The oracle with the least variance for a rare cell.

    Times n that is q(1 - q)/(p - q)^2: (cells - 2 + e)/(e - 1)^2 for kRR and 4e/(e - 1)^2 for OUE, where
    e = e^epsilon. So kRR if cells < 3e + 2. OLH has the variance of OUE but for the rounding of its number of
    values (at most 4.2 %, up to epsilon 11) and a report of two words of 32 bits: OUE up to 64 cells, where
    its own is no longer, and OLH beyond.
    """
    check_cells(cells)
    Response.of(2, epsilon)  # refuses what is no epsilon
    if cells < 3 * exp(min(epsilon, LARGEST_EPSILON)) + 2:
        return KRR(epsilon, cells)
    return OUE(epsilon, cells) if cells <= SHORT_REPORT else OLH(epsilon, cells)
