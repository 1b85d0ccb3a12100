"""From rows in any order to claims on disk, in three passes.

The first reads all rows, refuses what `Claims` would refuse in the same words, and learns the names and how
many claims each object has. The second divides codes and values among ranges of objects. The third lays out
each range, which fits in memory, in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Floats, Ints, frozen
from crowdveil.cells import numbers_of
from crowdveil.claims import repeated_claims
from crowdveil.engines.engine import Progress
from crowdveil.engines.memory import ON_DISK, Memory
from crowdveil.engines.stored.checks import Checks
from crowdveil.engines.stored.claims import StoredClaims
from crowdveil.engines.stored.divided import Divided
from crowdveil.engines.stored.names import Codebook, Tally, learn
from crowdveil.engines.stored.rows import Rows
from crowdveil.engines.stored.spilled import Spilled, check_room
from crowdveil.errors import InputError
from crowdveil.kernels import layout
from crowdveil.names import names_of

MOST_EXAMPLES = 1_000_000  # pairs among which the rows of an example are looked for


def lay_out(rows: Rows, memory: Memory, progress: Progress, *, saturate: bool = False) -> StoredClaims:
    """The claims in a table with at least one row; `saturate` is that of `Claims.from_frame`."""
    check_room(ON_DISK * rows.count)
    (objects, counts), (users, _) = _learnt(rows, memory, progress, saturate=saturate)
    memory.check_object(int(counts.max()), rows.source)
    offsets = frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    books = Codebook(objects), Codebook(users)
    total = int(offsets[-1])
    owners, codes, values = (Spilled((total,), kind) for kind in (np.int32, np.int32, np.float64))
    divided = Divided(offsets, memory.claims_laid_out, (owners, codes, values))
    for both, numbers in _coded(rows, books, memory, "dividing", progress, saturate=saturate):
        if not divided.deal(both[0], [*both, numbers]):
            raise _changed(rows)
    if not divided.full:
        raise _changed(rows)
    repeats, examples = _in_order(divided, offsets, len(users), progress)
    if repeats:
        raise _repeated(rows, books, repeats, examples, memory, progress)
    return StoredClaims(objects, users, offsets, codes, values, memory)


# --- the first pass -----------------------------------------------------------------------------------------


def _learnt(
    rows: Rows, memory: Memory, progress: Progress, *, saturate: bool
) -> tuple[tuple[pl.Series, Ints], ...]:
    """The names of objects and users, and how many rows each has; rows that are wrong are refused."""
    *named, value = rows.columns
    checks = Checks(rows.source, [value, *named])
    tallies = Tally(), Tally()
    for *names, values in rows.batches(memory, "names", progress):
        try:
            numbers_of(values, value, rows.source, saturate=saturate, refuse=checks.refuse)
        except InputError as error:
            checks.kind(value, error)
        for each, column, tally in zip(names, named, tallies, strict=True):
            try:
                learn(tally, each, column, rows.source, checks)
            except InputError as error:
                checks.kind(column, error)
        checks.next_batch(len(values))
    checks.raise_first()
    return tuple(tally.result(column) for tally, column in zip(tallies, named, strict=True))


# --- the second pass ----------------------------------------------------------------------------------------


def _coded(
    rows: Rows,
    books: Sequence[Codebook],
    memory: Memory,
    stage: str,
    progress: Progress,
    *,
    saturate: bool,
) -> Iterator[tuple[list[Codes], Floats]]:
    """Batches of rows: codes of objects and users, and values. All were found to be right before."""
    *named, value = rows.columns
    for *names, values in rows.batches(memory, stage, progress):
        codes = []
        for each, column, book in zip(names, named, books, strict=True):
            found = book.codes(names_of(each, column, rows.source))
            if found is None:
                raise _changed(rows)
            codes.append(found)
        yield codes, numbers_of(values, value, rows.source, saturate=saturate)


def _changed(rows: Rows) -> InputError:
    return InputError(f"{rows.source}: was changed while it was read")


# --- the third pass -----------------------------------------------------------------------------------------


def _in_order(divided: Divided, offsets: Ints, users: int, progress: Progress) -> tuple[int, Ints]:
    """Lay out every range in its region; returns how many claims repeat others, and pairs that do."""
    repeats, examples = 0, [np.zeros(0, dtype=np.int64)]
    owners, codes, values = divided.columns
    progress("laying out", 0.0)
    for (first, last), (begin, end) in divided.regions():
        own = owners[begin:end], codes[begin:end], values[begin:end]
        places = offsets[first : last + 1] - begin
        by_object = np.empty(end - begin, dtype=np.int32), np.empty(end - begin)
        if layout.lay_out(own[0] - np.int32(first), own[1], own[2], places, users, *by_object):
            layout.sort_values(places, *by_object)
            codes[begin:end], values[begin:end] = by_object
        else:
            pairs, times = np.unique(_pairs(*own[:2]), return_counts=True)
            repeats += end - begin - pairs.size
            examples.append(pairs[times > 1][:MOST_EXAMPLES])
        progress("laying out", end / max(1, int(offsets[-1])))
    return repeats, np.concatenate(examples)[:MOST_EXAMPLES]


def _pairs(owners: Codes, codes: Codes) -> Ints:
    return owners.astype(np.int64) << 32 | codes


def _repeated(
    rows: Rows,
    books: Sequence[Codebook],
    repeats: int,
    examples: Ints,
    memory: Memory,
    progress: Progress,
) -> InputError:
    """An error that names the first row that repeats one of these pairs, and the row that it repeats."""
    seen: dict[int, int] = {}
    begin = 0
    for (owners, codes), _ in _coded(rows, books, memory, "repeated rows", progress, saturate=True):
        pairs = _pairs(owners, codes)
        for row in np.flatnonzero(np.isin(pairs, examples)).tolist():
            if int(pairs[row]) in seen:
                return repeated_claims(rows.source, seen[int(pairs[row])], begin + row, repeats)
            seen[int(pairs[row])] = begin + row
        begin += pairs.size
    return _changed(rows)
