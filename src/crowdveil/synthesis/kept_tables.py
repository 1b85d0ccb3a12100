"""Tables of counts as plain JSON, and back: whatever `keep_table` cannot have written raises ValueError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crowdveil.synthesis.questions import Question, Table

MOST_REPORTS = 10**8


def keep_table(table: Table) -> dict[str, Any]:
    """The counts of the cells that have any."""
    cells = np.flatnonzero(table.support)
    return {
        "columns": list(table.question.columns),
        "asked": table.asked,
        "cells": cells.tolist(),
        "counts": table.support[cells].tolist(),
    }


def kept_table(kept: Mapping[str, Any], questions: Sequence[Question]) -> Table:
    """The table that was kept, about one of these questions."""
    by_columns = {question.columns: question for question in questions}
    question = by_columns[tuple(kept["columns"])]
    asked = count_of(kept["asked"], MOST_REPORTS)
    cells = [count_of(cell, question.cells - 1) for cell in kept["cells"]]
    counts = [count_of(count, asked) for count in kept["counts"]]
    if len(cells) != len(counts) or len(set(cells)) < len(cells):
        raise ValueError
    support = np.zeros(question.cells, dtype=np.int64)
    support[cells] = counts
    return Table(question, support, asked)


def count_of(number: Any, most: int) -> int:
    """A whole number in 0 ... most."""
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError
    return number
