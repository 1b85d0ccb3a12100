"""`Synthetic`: records that belong to nobody, with the promise to those who reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes
from crowdveil.errors import InputError
from crowdveil.guarantee import SEEDED, Promise
from crowdveil.randomness import Randomness
from crowdveil.records import Records, RecordTable, Schema

MOST_ROWS = 10**8


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Synthetic records, the method that made them, and the promise about each report behind them.

    Nothing is promised if the draws can be repeated from a seed.
    """

    records: Records
    promise: Promise
    method: str
    parameters: Mapping[str, Any]  # public: what was asked for
    seeded: bool
    report_bits: float  # mean length of a report, without its question, which is public

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)


def synthetic(
    codes: Codes,
    schema: Schema,
    parameters: Any,
    *,
    report_bits: float,
    rng: Randomness,
) -> Synthetic:
    """The result with these rows of codes; `parameters` is the method's dataclass, with its promise."""
    return Synthetic(
        Records(schema, codes),
        parameters.promise(schema),
        parameters.name,
        asdict(parameters),
        not rng.private,
        report_bits,
    )


def rows_of(records: RecordTable, rows: int | None) -> int:
    """The number of synthetic rows: by default as many as there are records."""
    if len(records) == 0:
        raise InputError("there are no records, and so no reports to learn from")
    if rows is None:
        return len(records)
    check_whole(rows, "the number of rows")
    if rows > MOST_ROWS:
        raise InputError(f"the number of rows must be at most {MOST_ROWS:,}, not {rows:,}")
    return rows
