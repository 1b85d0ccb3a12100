"""The loop of a device that reports every cell of its row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.response import randomized_response
from crowdveil.randomness.samplers import below


@compiled
def fill_response(
    state: Words,
    answered: Codes,
    codes: NDArray[np.uint8],
    answers: int,
    levels: int,
    keep: int,
    other: int,
    out: NDArray[np.uint8],
) -> None:
    """Fill `out` with a randomized symbol for each object; `answered` lists the answered objects, ascending.

    An answer is rounded at random to one of the two levels around it, without bias; the symbol `levels` is
    NULL. Cells draw in the order of objects.
    """
    steps, places = answers - 1, levels - 1
    s = 0
    for j in range(out.size):
        symbol = levels
        if s < answered.size and answered[s] == j:
            scaled = int(codes[s]) * places
            symbol = scaled // steps
            remainder = scaled - symbol * steps
            if remainder > 0 and below(state, steps) < remainder:
                symbol += 1
            s += 1
        out[j] = randomized_response(state, symbol, levels + 1, keep, other)
