"""Our exact noise, in bulk, from a secure stream, in one thread."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from benchmarks.stopwatch import Arrays, Steps
from crowdveil.randomness import chacha, secure
from crowdveil.randomness.gaussian import fill_discrete_gaussian

LIBRARY = f"crowdveil {version('crowdveil')}"


def discrete_laplace(inputs: Arrays) -> Steps:
    """Scale as given."""
    count, scale = int(inputs["count"]), int(inputs["scale"])
    stream = secure().stream("bench", purpose="bench")
    yield
    draws = stream.discrete_laplace(count, num=scale, den=1)
    yield
    return {"draws": draws}


def discrete_gaussian(inputs: Arrays) -> Steps:
    """Standard deviation as given."""
    count, scale = int(inputs["count"]), int(inputs["scale"])
    key, nonces = secure().streams(["bench"], purpose="bench")
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    chacha.start(state, key, nonces[0])
    yield
    draws = np.empty(count, dtype=np.int64)
    fill_discrete_gaussian(state, scale * scale, 1, draws)
    yield
    return {"draws": draws}
