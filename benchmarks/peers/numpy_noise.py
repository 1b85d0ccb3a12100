"""NumPy's difference of geometric draws: fast, and not private (no secure generator, floating point)."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"numpy {np.__version__}"


def discrete_laplace(inputs: Arrays) -> Steps:
    """Scale as given."""
    success = -math.expm1(-1.0 / float(inputs["scale"]))
    count = int(inputs["count"])
    rng = np.random.default_rng()
    yield
    draws = rng.geometric(success, count) - rng.geometric(success, count)
    yield
    return {"draws": draws}
