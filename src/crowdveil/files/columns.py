"""Which column of a table has which role: the one that an option names, or else one with a usual name."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence

from crowdveil.errors import InputError

# Names by which the column of a role is guessed if no option names it, in this order.
GUESSES = {
    "object": ("object", "item", "task", "entity", "question", "subject", "drug", "place"),
    "user": ("user", "worker", "source", "annotator", "participant", "respondent", "patient", "person"),
    "value": ("value", "claim", "answer", "rating", "score", "measurement", "severity", "label"),
}


def nfc(name: str) -> str:
    """A name in Unicode normal form C."""
    return unicodedata.normalize("NFC", name)


def column_of_role(
    role: str, given: str | None, columns: Sequence[str], label: str, twice: Collection[str] = ()
) -> str:
    """The column of a role, named `given` or guessed; `twice` are names that several columns have.

    Errors do not list the headers: in a file without a header they would show data.
    """
    if given is not None:
        matching = [column for column in columns if nfc(column) == nfc(given)]
        if not matching:
            raise InputError(f"{label}: there is no column {given!r}")
        return _only(matching, role, label, twice)
    for guess in GUESSES[role]:
        matching = [column for column in columns if column.strip().lower() == guess]
        if matching:
            return _only(matching, role, label, twice)
    raise InputError(f"{label}: which column is the {role}? Name it with --{role}")


def _only(matching: Sequence[str], role: str, label: str, twice: Collection[str]) -> str:
    if len(matching) > 1 or nfc(matching[0]) in twice:
        raise InputError(f"{label}: several columns could be the {role}; rename all but one")
    return matching[0]


def three_columns(
    columns: Sequence[str],
    label: str,
    given: Mapping[str, str | None],
    twice: Collection[str] = (),
) -> dict[str, str]:
    """The three different columns of the roles object, user and value."""
    found = {role: column_of_role(role, given.get(role), columns, label, twice) for role in GUESSES}
    if len(set(found.values())) < len(found):
        raise InputError(f"{label}: object, user and value must be three different columns")
    return found
