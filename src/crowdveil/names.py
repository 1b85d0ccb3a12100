"""Names of objects and users, text or whole numbers: their forms, codes and hashes, and what is refused."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes
from crowdveil.cells import Refuse, refuse
from crowdveil.errors import InputError


def listed_names(objects: Iterable[str | int], kind: Any) -> pl.Series:
    """A list of objects as distinct names of this type, ascending."""
    spelled = sorted({unicodedata.normalize("NFC", str(name)) for name in objects})
    names = pl.Series("object", spelled, dtype=pl.String).cast(kind, strict=False).unique().sort()
    if names.null_count() or names.is_empty():
        raise InputError("the list of objects is empty, or its names are not of the claims' kind")
    return names


def similar_names(names: pl.Series) -> int:
    """How many names differ from another one only by case or blanks: maybe one person under several names."""
    if names.dtype != pl.String:
        return 0
    return int(folded_names(names).is_duplicated().sum())


def folded_names(names: pl.Series) -> pl.Series:
    """Texts without what may differ where one person is meant: case, blanks and forms of letters."""
    return names.str.replace_all(r"\s+", " ").str.strip_chars().str.normalize("NFKC").str.to_lowercase()


def name_hashes(names: pl.Series) -> NDArray[np.uint64]:
    """A 64-bit hash of each name (text or number), the same on every machine and in every version."""
    digests = [hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in names.to_list()]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def names_of(names: pl.Series, column: str, source: str, *, refuse: Refuse = refuse) -> pl.Series:
    """The names as text or as 64-bit integers; they may be spelled in any normal form yet."""
    refuse(names.is_null(), source, column, "has no name")
    if names.dtype.is_integer() or (isinstance(names.dtype, pl.Decimal) and names.dtype.scale == 0):
        numbers = names.cast(pl.Int64, strict=False)
        refuse(numbers.is_null(), source, column, "holds a number past 64 bits")
        return numbers
    if not isinstance(names.dtype, (pl.String, pl.Categorical, pl.Enum)):
        raise InputError(f"{source}: names in column {column!r} are neither text nor whole numbers")
    return names.cast(pl.String)


def normalized(
    spellings: pl.Series, names: pl.Series, column: str, source: str, *, refuse: Refuse = refuse
) -> pl.Series:
    """The spellings of these names in Unicode normal form C; none may be empty."""
    plain = (spellings.str.len_bytes() == spellings.str.len_chars()).all()  # ASCII has one form
    forms = spellings if plain else spellings.str.normalize("NFC")
    if (forms.str.strip_chars() == "").any():
        refuse(names.str.strip_chars() == "", source, column, "has an empty name")
    return forms


def coded(names: pl.Series, column: str, source: str) -> tuple[Codes, pl.Series]:
    """The code of each name, and the distinct names in ascending order that codes index."""
    names = names_of(names, column, source)
    if names.dtype.is_integer():
        distinct = names.unique().sort().alias(column)
        return _looked_up(names, distinct), distinct
    spellings = names.unique()
    forms = normalized(spellings, names, column, source)
    distinct = forms.unique().sort().alias(column)
    code_of_spelling = distinct.search_sorted(forms).cast(pl.Int32).to_numpy()
    return code_of_spelling[names.cast(pl.Enum(spellings)).to_physical().to_numpy()], distinct


def _looked_up(numbers: pl.Series, distinct: pl.Series) -> Codes:
    """Index of each number among the distinct ones."""
    table = distinct.to_frame("name").with_row_index("code")
    joined = numbers.to_frame("name").join(table, on="name", how="left", maintain_order="left")
    return joined["code"].cast(pl.Int32).to_numpy(writable=True)
