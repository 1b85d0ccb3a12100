"""The models that learn a label, by scikit-learn: a logistic regression and gradient boosting.

*Logistic regression* on one-hot codes: an L2 penalty of half the sum of squared weights (C = 1), L-BFGS.

*Boosting* of 100 trees, which finds what several columns tell only together: depth 3, at least 20 rows in a
leaf, learning rate .2, an L2 penalty of 10 on leaves, no early stopping. Trees split the codes of a column
that is not ordered into two sets, those of an ordered one in their order. Both repeat themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import MissingExtra
from crowdveil.records import Records, Schema

try:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
except ModuleNotFoundError as missing:
    raise MissingExtra("models need scikit-learn: pip install 'crowdveil[evaluate]'") from missing

MOST_CATEGORIES = 255  # of a column that boosting splits into sets: what fits into its bins


def _logistic_regression(schema: Schema) -> Any:
    one_hot = OneHotEncoder(categories=[np.arange(size) for size in schema.sizes])
    return make_pipeline(one_hot, LogisticRegression(C=1.0, max_iter=1000, random_state=0))


def _boosting(schema: Schema) -> Any:
    unordered = [not column.ordered and column.size <= MOST_CATEGORIES for column in schema.columns]
    return HistGradientBoostingClassifier(
        max_iter=100,
        max_depth=3,
        min_samples_leaf=20,
        learning_rate=0.2,
        l2_regularization=10.0,
        early_stopping=False,
        categorical_features=unordered,
        random_state=0,
    )


MODELS: dict[str, Callable[[Schema], Any]] = {
    "logistic regression": _logistic_regression,
    "boosting": _boosting,
}


def chances(model: str, train: Records, test: Records, label: int) -> Floats:
    """(test rows, labels): how probable a model that learned from `train` holds each label to be.

    The label is a column's number; a value of it that no row of `train` has gets 0.
    """
    others = [column for column in range(len(train.schema.columns)) if column != label]
    told, labels = train.select(others), train.column(label)
    found = np.zeros((len(test), train.schema.sizes[label]))
    known = np.unique(labels)
    if known.size < 2:
        found[:, known] = 1.0
    else:
        fitted = MODELS[model](told.schema).fit(told.codes, labels)
        found[:, known] = fitted.predict_proba(test.select(others).codes)
    return found
