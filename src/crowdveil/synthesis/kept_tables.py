"""What a collection keeps as plain JSON, and back: whatever it cannot have written raises ValueError."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crowdveil.arrays import Flags
from crowdveil.synthesis.questions import Question, Table

MOST_REPORTS = 10**8
SUM_CLOSE = 1e-9


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


def kept_seen(kept: Mapping[str, Any], people: int) -> Flags:
    """Who has reported, from packed bits of exactly the right length."""
    packed = np.frombuffer(base64.b64decode(kept["seen"], validate=True), dtype=np.uint8)
    places = count_of(kept["places"], people)
    if packed.size != -(-places // 8):
        raise ValueError
    bits = np.unpackbits(packed)
    if bits[places:].any():
        raise ValueError
    return bits[:places].astype(np.bool_)


def kept_plan(kept: Sequence[Any], number: int) -> tuple[float, ...]:
    """The probabilities of a round's questions; only the first round has no plan of its own."""
    planned = tuple(float(chance) for chance in kept)
    if bool(planned) != (number > 0):
        raise ValueError
    if planned and not (min(planned) >= 0 and abs(sum(planned) - 1.0) < SUM_CLOSE):
        raise ValueError
    return planned
