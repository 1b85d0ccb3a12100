"""Gradient boosting of the logistic loss with small trees on categorical codes.

Trees split a column's codes into two sets, found in the order of the codes' gradients (Fisher 1958), as
histogram-based boosting does; leaves take a Newton step, shrunk. It finds what several columns tell only
together, which a logistic regression on single columns cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from crowdveil.arrays import Codes, Flags, Floats
from crowdveil.errors import ParameterError
from crowdveil.kernels import boosting as loops
from crowdveil.records import Schema


@dataclass(frozen=True)
class Boosting:
    """How trees are grown."""

    trees: int = 100
    depth: int = 3
    rate: float = 0.2  # the share of a Newton step that a tree takes
    least_rows: int = 20  # in a leaf
    pull: float = 10.0  # towards 0, as if so much of the second derivative were there already

    def __post_init__(self) -> None:
        if self.trees < 1 or not 1 <= self.depth <= 12 or self.least_rows < 1:
            raise ParameterError("boosting needs at least one tree of depth 1 to 12, and a row in each leaf")
        if not (0 < self.rate <= 1 and self.pull > 0):
            raise ParameterError("boosting needs a rate in (0, 1] and a pull above 0")


@dataclass(frozen=True, eq=False)
class Trees:
    """A fitted model: a score is the sum of what each tree says, on the scale of the log-odds."""

    start: float
    columns: Codes  # (trees, nodes)
    left: Flags  # (trees, nodes, most values)
    leaves: Floats  # (trees, nodes + 1)

    def scores(self, codes: Codes) -> Floats:
        """The log-odds of a label for each row of codes."""
        scores = np.full(len(codes), self.start)
        for columns, left, leaves in zip(self.columns, self.left, self.leaves, strict=True):
            loops.add_tree(codes, columns, left, leaves, scores)
        return scores


def fit(codes: Codes, schema: Schema, labels: Flags, parameters: Boosting | None = None) -> Trees:
    """Trees that tell from a row's codes whether its label is true."""
    asked = parameters or Boosting()
    nodes = 2**asked.depth - 1
    sizes = np.array(schema.sizes, dtype=np.int64)
    ordered = np.array([column.ordered for column in schema.columns])
    columns = np.empty((asked.trees, nodes), dtype=np.int32)
    left = np.zeros((asked.trees, nodes, int(sizes.max())), dtype=np.bool_)
    leaves = np.zeros((asked.trees, nodes + 1))
    place = np.empty(len(codes), dtype=np.int32)
    start = float(logit((labels.sum() + 1) / (labels.size + 2)))
    scores = np.full(len(codes), start)
    for tree in range(asked.trees):
        chances = expit(scores)
        loops.grow(
            *(codes, sizes, ordered, chances - labels, chances * (1 - chances)),
            *(asked.least_rows, asked.pull, columns[tree], left[tree], leaves[tree], place),
        )
        leaves[tree] *= asked.rate
        scores += leaves[tree][place]
    return Trees(start, columns, left, leaves)
