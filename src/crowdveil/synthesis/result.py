"""`Synthetic`: records that belong to nobody, together with what was promised to those who reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes
from crowdveil.errors import InputError
from crowdveil.guarantee import SEEDED, Promise
from crowdveil.randomness import Randomness
from crowdveil.records import Records

MOST_ROWS = 10**8


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Synthetic records, how they were made, and the promise about each of the reports behind them.

    Nothing is promised if draws can be repeated from a seed.
    """

    records: Records
    promise: Promise
    method: str
    parameters: Mapping[str, Any]  # public: what was asked for
    seeded: bool
    report_bits: float  # of a report, on average; what was asked is not counted, as it is public

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)


def synthetic(
    codes: Codes,
    real: Records,
    parameters: Any,
    *,
    report_bits: float,
    rng: Randomness,
) -> Synthetic:
    """Rows of codes as a result; `parameters` is the method's dataclass, which knows its guarantee."""
    schema = real.schema
    return Synthetic(
        Records(schema, codes),
        parameters.promise(schema),
        parameters.name,
        asdict(parameters),
        not rng.private,
        report_bits,
    )


def rows_of(records: Records, rows: int | None) -> int:
    """How many rows to make: as many as there are records, if nothing else is asked for."""
    if len(records) == 0:
        raise InputError("there are no records, and so no reports to learn from")
    if rows is None:
        return len(records)
    check_whole(rows, "the number of rows")
    if rows > MOST_ROWS:
        raise InputError(f"the number of rows must be at most {MOST_ROWS:,}, not {rows:,}")
    return rows
