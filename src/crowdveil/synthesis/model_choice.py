"""The penalty on dependence for each column, by cross-validation between two halves of the reports.

A penalty that suits strong dependence fits noise into columns that depend on nothing. So each half of the
reports is fitted with several penalties. For each column the other half measures what its dependence on the
classes is worth: the gain in log-likelihood over the same classes with that column made independent. A column
gets the penalty with the largest gain; where no gain is large enough, it stays independent. All of it is
post-processing and costs no privacy.

One measure for all columns together, the likelihood of the other half, is not enough: a few strongly
dependent columns would have all the others fitted to noise.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.engines import Engine
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.latent_classes import APART, Evidence, LatentClasses, fit, log_likelihood
from crowdveil.synthesis.questions import merged

PENALTIES = (APART, 10.0, 30.0)
INDEPENDENT = 100.0  # a penalty that leaves a column practically independent
LEAST_WORTH = 1.0  # gain in log-likelihood: a smaller one is taken for chance
STEPS, MORE_STEPS = 80, 30  # of fits that are only compared: the first fit, and each fit from the one before


def fitted_to(
    halves: Halves,
    sizes: tuple[int, ...],
    *,
    least_worth: float = LEAST_WORTH,
    engine: Engine | None = None,
) -> LatentClasses:
    """The classes fitted to both halves of the reports, with a penalty chosen for each column."""
    apart = chosen_penalties(halves, sizes, least_worth=least_worth, engine=engine)
    return fit(Evidence.of(merged(halves), sizes), apart=apart, engine=engine)


def chosen_penalties(
    halves: Halves,
    sizes: tuple[int, ...],
    *,
    least_worth: float = LEAST_WORTH,
    engine: Engine | None = None,
) -> Floats:
    """(d,): the penalty of each column."""
    if not all(halves):
        return np.full(len(sizes), INDEPENDENT)
    first, second = (Evidence.of(half, sizes) for half in halves)
    worth = _worth(first, second, engine) + _worth(second, first, engine)
    best = np.argmax(worth, axis=0)
    return np.where(np.max(worth, axis=0) > least_worth, np.array(PENALTIES)[best], INDEPENDENT)


def _worth(seen: Evidence, unseen: Evidence, engine: Engine | None) -> Floats:
    """(penalties, d): the gain in log-likelihood of the unseen half from each column's dependence."""
    gains = np.zeros((len(PENALTIES), len(seen.sizes)))
    classes: LatentClasses | None = None
    for place, apart in enumerate(PENALTIES):
        steps = STEPS if classes is None else MORE_STEPS
        classes = fit(seen, apart=apart, steps=steps, start=classes, engine=engine)
        without = [classes.without(column) for column in range(len(seen.sizes))]
        gains[place] = log_likelihood(classes, unseen, engine=engine)
        gains[place] -= [log_likelihood(each, unseen, engine=engine) for each in without]
    return gains
