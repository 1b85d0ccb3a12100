"""Audits as every run of the tests makes them: once, with few draws. `make audit` repeats them over seeds."""

from __future__ import annotations

from typing import Any

import pytest

from crowdveil.audit.case import Audit
from crowdveil.audit.run import FEWEST_DRAWS

ALPHA = 1e-6  # the chance that a true claim is called refuted

# "Nearly reached": thresholds in these tests are the bound at ALPHA that the best event gives on
# average, less 4.9 deviations of log(p/q), so that they fail with a chance below one in a million.


def few_draws(audit: Audit) -> int:
    """A fifth of the usual draws: enough to miss no planted bug, but for a chance far below 1e-6."""
    return max(FEWEST_DRAWS, audit.usual // 5)


def seeds(count: int) -> list[Any]:
    """0 ... count - 1, of which all but the first are left to `make audit`."""
    return [0, *(pytest.param(seed, marks=pytest.mark.slow_audit) for seed in range(1, count))]
