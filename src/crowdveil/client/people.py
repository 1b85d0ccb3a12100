"""Whose answers there are: people and what they say, read from files before anything is drawn.

Errors name files, columns and rows, never a cell, a name or a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Kind
from crowdveil.campaigns.records import RecordsKind
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.sparse import Sparse
from crowdveil.cells import refuse
from crowdveil.claims import Claims
from crowdveil.client.delivery import TOKEN, Person
from crowdveil.errors import InputError, ParameterError
from crowdveil.files import read_frame
from crowdveil.files.reading import as_text, read_columns
from crowdveil.names import similar_names
from crowdveil.operations.raw_claims import SIMILAR_NAMES, read_raw_claims
from crowdveil.records import Records, Schema
from crowdveil.sources import STDIN

NAMES_OF_PEOPLE = ("user", "participant", "person", "id")
WHO = (
    "which column tells who answered? Name it with --user COLUMN: without names the same person could answer "
    "twice, each time with fresh noise, and be protected less than promised"
)
INVITED = (
    "this campaign is by invitation: give --participants FILE, a table with the columns user and participant"
)
FROM_ANSWERS = (
    "people were read off the answers, so that each of them has an answer is not hidden: list all of them, "
    "also those without one, with --participants"
)
ALIKE = (
    "names of people that differ only by case or blanks: {count:,}. Whoever has two names answers twice, "
    "each time with fresh noise: write names alike, or say --distinct-names if they are different people. "
    "Nothing was drawn"
)
OUTSIDE = "lie outside the range and count as its nearest end"
OFF_SCALE = "are not on the scale and count as its nearest value"


@dataclass(frozen=True, eq=False)
class People:
    """Who takes part, and what whoever holds the raw answers should know about them.

    Parameters
    ----------
    people:
        Everybody, with an answer and perhaps an invitation.
    outside:
        How many values were outside the public range; private.
    values:
        How many values there are; private.
    moved:
        What becomes of values outside, in words.
    warnings:
        For whoever holds the file.

    """

    people: tuple[Person, ...]
    outside: int
    values: int
    moved: str = OUTSIDE
    warnings: tuple[str, ...] = ()


def read_people(
    campaign: Campaign, source: str, columns: Mapping[str, str | None], participants: Path | None
) -> People:
    """The people of a file, as far as the campaign can take what they say."""
    if campaign.admission == "invited" and participants is None:
        raise ParameterError(INVITED)
    if source == STDIN and str(participants) == STDIN:
        raise ParameterError("the answers and --participants cannot both be read from standard input")
    tokens = None if participants is None else read_participants(participants)
    kind = campaign.kind
    if isinstance(kind, RecordsKind):
        return _with_tokens(_from_records(kind, source, columns), tokens, everybody=False)
    assert isinstance(kind, Sensing | Sparse)
    everybody = kind.name == "sparse"  # whether there is an answer is private, too
    claims, warnings = read_raw_claims(
        source, columns, if_any=everybody and tokens is not None, in_range=True
    )
    if everybody and tokens is None:
        warnings = (*warnings, FROM_ANSWERS)
    return _with_tokens(_from_claims(kind, claims, source, warnings), tokens, everybody=everybody)


def check_distinct(campaign: Campaign, people: People) -> None:
    """Refuse names that are maybe one person's, where no invitation tells people apart."""
    names = pl.Series([person.name for person in people.people], dtype=pl.String)
    if campaign.admission == "open" and (similar := similar_names(names)):
        raise InputError(ALIKE.format(count=similar))


def read_participants(path: Path) -> dict[str, str]:
    """The token of each person, from a table with the columns user and participant."""
    frame, label = read_columns(str(path), ["user", "participant"])
    names, tokens = as_text(frame["user"]), as_text(frame["participant"]).str.strip_chars()
    _check_names(names, label, "user")
    refuse(
        ~tokens.fill_null("").str.contains(f"^{TOKEN.pattern}$"),
        label,
        "participant",
        "is no token (1 to 200 printable ASCII characters, no blanks)",
    )
    refuse(tokens.is_duplicated(), label, "participant", "has a token twice, which is for one person,")
    return dict(zip(names.to_list(), tokens.to_list(), strict=True))


def _check_names(names: pl.Series, source: str, column: str) -> None:
    refuse((names.fill_null("").str.strip_chars() == ""), source, column, "is empty")
    refuse(names.is_duplicated(), source, column, "names somebody twice, who can answer once,")


# --- claims -------------------------------------------------------------------------------------------------


def _from_claims(kind: Sensing | Sparse, claims: Claims, source: str, warnings: tuple[str, ...]) -> People:
    objects = as_text(claims.objects)
    unlisted = np.array([name not in kind.items.codes for name in objects.to_list()], dtype=np.bool_)
    if unlisted.any():
        rows = int(claims.counts()[unlisted].sum())
        label = "standard input" if source == STDIN else source
        raise InputError(f"{label}: claims about objects that the campaign does not list: {rows:,} rows")
    answers: list[dict[str, float]] = [{} for _ in range(len(claims.users))]
    owners = objects.gather(claims.owners())
    for user, name, value in zip(
        claims.user_codes.tolist(), owners.to_list(), claims.values.tolist(), strict=True
    ):
        answers[user][name] = value
    people = tuple(map(Person, as_text(claims.users).to_list(), answers))
    outside, moved = _outside(kind, claims, owners)
    return People(people, outside, len(claims), moved, warnings)


def _outside(kind: Kind, claims: Claims, objects: pl.Series) -> tuple[int, str]:
    """How many claims lie outside the range of their object, or off the scale."""
    if isinstance(kind, Sparse):
        domain = kind.cell_mechanism.domain
        nearest = np.clip(np.rint(claims.values), domain.low, domain.high)
        return int(np.count_nonzero(nearest != claims.values)), OFF_SCALE
    assert isinstance(kind, Sensing)
    lows, highs = (
        np.array([getattr(kind.ranges[name], end) for name in objects.to_list()]) for end in ("low", "high")
    )
    return int(np.count_nonzero((claims.values < lows) | (claims.values > highs))), OUTSIDE


# --- records ------------------------------------------------------------------------------------------------


def _from_records(kind: RecordsKind, source: str, columns: Mapping[str, str | None]) -> People:
    for role in ("object", "value"):
        if columns.get(role) is not None:
            raise ParameterError(f"--{role} goes with sensing and sparse campaigns")
    frame, label = read_frame(source), "standard input" if source == STDIN else source
    column = _column_of_people(frame, kind.schema, columns.get("user"), label)
    names = as_text(frame[column])
    _check_names(names, label, column)
    records = Records.from_frame(frame, kind.schema, source=label, clamp=True)
    labels = [each.labels() for each in kind.schema.columns]
    people = tuple(
        Person(
            name,
            {
                column: texts[code]
                for column, texts, code in zip(kind.schema.names, labels, codes, strict=True)
            },
        )
        for name, codes in zip(names.to_list(), records.codes.tolist(), strict=True)
    )
    similar = similar_names(names)
    warnings = (SIMILAR_NAMES.format(count=similar),) if similar else ()
    outside = _beyond_edges(frame, kind.schema)
    return People(people, outside, len(records) * len(kind.schema.columns), OUTSIDE, warnings)


def _column_of_people(frame: pl.DataFrame, schema: Schema, given: str | None, label: str) -> str:
    """The column that tells who answered; no question of the campaign is taken for it unasked."""
    if given is not None:
        if given not in frame.columns:
            raise InputError(f"{label}: there is no column {given!r}")
        return given
    for guess in NAMES_OF_PEOPLE:
        matching = [
            name for name in frame.columns if name.strip().lower() == guess and name not in schema.names
        ]
        if matching:
            return matching[0]
    raise InputError(f"{label}: {WHO}")


def _beyond_edges(frame: pl.DataFrame, schema: Schema) -> int:
    """How many numbers lie beyond the edges of their columns."""
    beyond = 0
    for column in schema.columns:
        if column.edges is not None and column.name in frame.columns:
            numbers = frame[column.name].cast(pl.Float64, strict=False)
            beyond += int(
                (~numbers.is_between(column.edges[0], column.edges[-1])).fill_null(value=False).sum()
            )
    return beyond


# --- invitations --------------------------------------------------------------------------------------------


def _with_tokens(read: People, tokens: Mapping[str, str] | None, *, everybody: bool) -> People:
    """People with their tokens; with `everybody`, whoever is listed and said nothing takes part, too."""
    if tokens is None:
        return read
    unlisted = sum(person.name not in tokens for person in read.people)
    if unlisted:
        raise InputError(f"people who are not in --participants: {unlisted:,}. Nothing was drawn")
    people = [Person(person.name, person.answer, tokens[person.name]) for person in read.people]
    silent = tokens.keys() - {person.name for person in people}
    warnings = read.warnings
    if everybody:
        people += [Person(name, {}, tokens[name]) for name in tokens if name in silent]
    elif silent:
        warnings = (
            *warnings,
            f"people in --participants without an answer, who do not take part: {len(silent):,}",
        )
    return People(tuple(people), read.outside, read.values, read.moved, warnings)
