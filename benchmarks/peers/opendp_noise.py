"""OpenDP's exact noise on whole numbers, a vector at a time."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import opendp.prelude as dp

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"opendp {version('opendp')}"

dp.enable_features("contrib")


def discrete_laplace(inputs: Arrays) -> Steps:
    """Scale as given."""
    numbers = dp.vector_domain(dp.atom_domain(T="i64"))
    measure = dp.m.make_laplace(numbers, dp.l1_distance(T="i64"), scale=float(inputs["scale"]))
    zeros = [0] * int(inputs["count"])
    yield
    draws = measure(zeros)
    yield
    return {"draws": np.array(draws)}


def discrete_gaussian(inputs: Arrays) -> Steps:
    """Standard deviation as given."""
    numbers = dp.vector_domain(dp.atom_domain(T="i64"))
    measure = dp.m.make_gaussian(numbers, dp.l2_distance(T="f64"), scale=float(inputs["scale"]))
    zeros = [0] * int(inputs["count"])
    yield
    draws = measure(zeros)
    yield
    return {"draws": np.array(draws)}
