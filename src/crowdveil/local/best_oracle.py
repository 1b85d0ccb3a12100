"""Which frequency oracle to ask by: the most precise one whose reports are short."""

from __future__ import annotations

from functools import lru_cache

from crowdveil.local.oracle import PureOracle
from crowdveil.local.oracle_registry import ORACLES
from crowdveil.local.record_reports import check_cells
from crowdveil.randomness.response import Response

SHORT_REPORT = 64  # bits


@lru_cache(maxsize=2**14, typed=True)
def best_oracle(epsilon: float, cells: int) -> PureOracle:
    """The pure oracle with the least variance for a rare cell, among those with reports of up to 64 bits.

    Times n, that variance is q(1 - q)/(p - q)^2: (cells - 2 + e)/(e - 1)^2 for kRR and 4e/(e - 1)^2 for OUE,
    where e = e^epsilon. So kRR is best if cells < 3e + 2. OLH has OUE's variance except that its number of
    values is rounded (at most 4.2 % more, up to epsilon 11). In effect: kRR for few cells, then OUE up to 64
    cells, and OLH beyond.
    """
    check_cells(cells)
    Response.of(2, epsilon)  # refuses an epsilon that is not above 0
    candidates = [kind(epsilon, cells) for kind in ORACLES.values() if issubclass(kind, PureOracle)]
    short = [oracle for oracle in candidates if oracle.report_bits <= SHORT_REPORT]  # kRR always is
    return min(short, key=lambda oracle: oracle.rare_variance(1))
