"""Logistic regression on one-hot codes, with an L2 penalty, by L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from crowdveil.arrays import Codes, Flags, Floats
from crowdveil.errors import ParameterError
from crowdveil.records import Schema


@dataclass(frozen=True, eq=False)
class Line:
    """A fitted model: an intercept, and a weight for each code of each column."""

    constant: float
    weights: Floats  # (sum of sizes,)
    sizes: tuple[int, ...]

    def scores(self, codes: Codes) -> Floats:
        """The log-odds of the label for each row of codes."""
        return np.asarray(_one_hot(codes, self.sizes) @ self.weights) + self.constant


def fit(codes: Codes, schema: Schema, labels: Flags, *, penalty: float = 1.0) -> Line:
    """The model that minimises the sum of log losses plus penalty / 2 times the sum of squared weights."""
    if not penalty > 0:
        raise ParameterError(f"the penalty must be above 0, not {penalty:g}")
    rows = _one_hot(codes, schema.sizes)
    transposed = csr_array(rows.T)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = rows @ weights[1:] + weights[0]
        residuals = expit(scores) - labels
        losses = np.logaddexp(0.0, scores).sum() - scores[labels].sum()
        total = losses + penalty / 2 * np.square(weights[1:]).sum()
        gradient = np.concatenate([[residuals.sum()], transposed @ residuals + penalty * weights[1:]])
        return float(total) / labels.size, gradient / labels.size

    start = np.zeros(1 + rows.shape[1])
    optimum = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-5})
    return Line(float(optimum.x[0]), optimum.x[1:], schema.sizes)


def _one_hot(codes: Codes, sizes: tuple[int, ...]) -> csr_array:
    """Sparse one-hot matrix, (n, sum of sizes), of the codes."""
    begins = np.concatenate([[0], np.cumsum(sizes)])
    places = codes + begins[:-1]
    ends = np.arange(0, places.size + 1, len(sizes))
    return csr_array((np.ones(places.size), places.ravel(), ends), shape=(len(codes), int(begins[-1])))
