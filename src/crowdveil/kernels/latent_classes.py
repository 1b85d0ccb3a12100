"""The likelihood of counted reports under latent classes, and where it climbs."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats
from crowdveil.compiled import compiled


@compiled
def climb(
    places: Codes,
    keep: Floats,
    other: Floats,
    ones: Floats,
    zeros: Floats,
    shares: Floats,
    chances: Floats,
    first: int,
    last: int,
    of_shares: Floats,
    of_chances: Floats,
) -> float:
    """The log-likelihood of cells first ... last - 1; its slopes, times shares and times chances, are added
    to `of_shares` and `of_chances`.

    A cell is a value of each of some columns, `places[cell]` being rows of `chances[value, class]`. Its share
    m is the sum over classes of share times chances; a report supports it with chance other + (keep - other)
    m, which `ones` did and `zeros` did not (zeros are 0 where a report is one symbol: nothing more to say).
    """
    classes, columns = shares.size, places.shape[1]
    parts = np.empty(classes)
    total = 0.0
    for cell in range(first, last):
        for c in range(classes):
            parts[c] = shares[c]
        for k in range(columns):
            row = chances[places[cell, k]]
            for c in range(classes):
                parts[c] *= row[c]
        m = 0.0
        for c in range(classes):
            m += parts[c]
        signal = keep[cell] - other[cell]
        u = other[cell] + signal * m
        slope = 0.0
        if ones[cell] > 0.0:
            total += ones[cell] * np.log(u)
            slope += ones[cell] / u
        if zeros[cell] > 0.0:
            total += zeros[cell] * np.log1p(-u)
            slope -= zeros[cell] / (1.0 - u)
        slope *= signal
        for c in range(classes):
            parts[c] *= slope
            of_shares[c] += parts[c]
        for k in range(columns):
            out = of_chances[places[cell, k]]
            for c in range(classes):
                out[c] += parts[c]
    return total
