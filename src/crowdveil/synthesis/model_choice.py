"""How far classes may be apart in each column: what half of the reports say must explain the other half.

A penalty that suits a table of strong dependence fits noise into columns that depend on nothing. So each half
of the reports is fitted with several penalties, and for each column the other half says what its dependence
on classes is worth: how much better it is explained than by the same classes without it. A column keeps the
penalty that is worth most; where none is worth anything, it is left independent. It is post-processing, and
costs nothing.

One measure for all columns (the likelihood of the other half as a whole) will not do: a few columns that
depend strongly would have all the others fitted to noise.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.engines import LocalEngine
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.latent_classes import APART, Evidence, LatentClasses, fit, log_likelihood
from crowdveil.synthesis.questions import merged

PENALTIES = (APART, 10.0, 30.0)
INDEPENDENT = 100.0  # a penalty that leaves a column all but independent
LEAST_WORTH = 1.0  # of log-likelihood: less is taken for chance
STEPS, MORE_STEPS = 80, 30  # of fits that are only compared: of the first one, and from one to the next


def fitted_to(
    halves: Halves,
    sizes: tuple[int, ...],
    *,
    least_worth: float = LEAST_WORTH,
    engine: LocalEngine | None = None,
) -> LatentClasses:
    """The classes that explain both halves of the reports."""
    apart = chosen_penalties(halves, sizes, least_worth=least_worth, engine=engine)
    return fit(Evidence.of(merged(halves), sizes), apart=apart, engine=engine)


def chosen_penalties(
    halves: Halves,
    sizes: tuple[int, ...],
    *,
    least_worth: float = LEAST_WORTH,
    engine: LocalEngine | None = None,
) -> Floats:
    """(d,): the penalty of each column."""
    if not all(halves):
        return np.full(len(sizes), INDEPENDENT)
    first, second = (Evidence.of(half, sizes) for half in halves)
    worth = _worth(first, second, engine) + _worth(second, first, engine)
    best = np.argmax(worth, axis=0)
    return np.where(np.max(worth, axis=0) > least_worth, np.array(PENALTIES)[best], INDEPENDENT)


def _worth(seen: Evidence, unseen: Evidence, engine: LocalEngine | None) -> Floats:
    """(penalties, d): by how much the unseen half is explained better with a column's dependence."""
    found = np.zeros((len(PENALTIES), len(seen.sizes)))
    classes: LatentClasses | None = None
    for place, apart in enumerate(PENALTIES):
        steps = STEPS if classes is None else MORE_STEPS
        classes = fit(seen, apart=apart, steps=steps, start=classes, engine=engine)
        without = [classes.without(column) for column in range(len(seen.sizes))]
        found[place] = log_likelihood(classes, unseen, engine=engine)
        found[place] -= [log_likelihood(each, unseen, engine=engine) for each in without]
    return found
