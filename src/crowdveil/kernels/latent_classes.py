"""The log-likelihood of counted reports under a latent class model, and its gradient."""

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
    """The log-likelihood of cells [first, last); adds its gradient, times the parameters, to the outputs.

    `of_shares` receives share * d/d(share) and `of_chances` chance * d/d(chance). A cell is a combination of
    values of some columns; `places[cell]` are the rows of `chances[value, class]` for these values. The
    probability m of a cell is the sum over classes of share times the product of chances. A report supports
    the cell with probability other + (keep - other) m; `ones` reports did and `zeros` did not. Where a report
    is a single symbol, `zeros` is 0: the supported symbol has the full likelihood.
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
