"""`crowdveil evaluate`: how good a release is, or a table of synthetic records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.evaluate_records import RecordsAsked, evaluate_records
from crowdveil.cli.options import Force, Json, ObjectColumn, UserColumn, ValueColumn
from crowdveil.errors import ParameterError


def evaluate(
    released: Annotated[str, typer.Argument(help="A release folder, its claims file, or synthetic records.")],
    truths: Annotated[
        str | None, typer.Option(help="Known truths: object, value and perhaps spread.", metavar="PATH")
    ] = None,
    claims: Annotated[
        str | None, typer.Option(help="The raw claims (the result is then private).", metavar="PATH")
    ] = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    real: Annotated[
        str | None, typer.Option(help="Real records (the result is then private).", metavar="PATH")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Domains of the records' columns, JSON or YAML.", metavar="PATH")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of records that models learn.", metavar="COLUMN")
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(help="Real records to test models on (default: a fifth of --real).", metavar="PATH"),
    ] = None,
    clamp: Annotated[
        bool, typer.Option("--clamp", help="Numbers beyond the edges count for the bins at the ends.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the tables, questions and rows that are drawn.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Page (.html) or picture (.svg) about records.", metavar="PATH"),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare released claims with known truths or with the raw claims, or synthetic records with real ones.

    Example: crowdveil evaluate out --truths truths.csv

    Example: crowdveil evaluate made.csv --real records.csv --schema schema.json --label income -o page.html
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, say_table, warn
    from crowdveil.evaluation import releases
    from crowdveil.files import read_claims, read_released, read_truths

    if real is not None:
        if truths is not None or claims is not None:
            raise ParameterError("--real is for records, --truths and --claims are for claims: give one kind")
        if schema is None:
            raise ParameterError("records need the public domains of their columns: give --schema PATH")
        asked = RecordsAsked(released, real, schema, label, held_out, clamp, seed, out, force)
        evaluate_records(asked, as_json=as_json)
        return
    if schema is not None or label is not None or held_out is not None or out is not None:
        raise ParameterError("--schema, --label, --held-out and -o are for records: give --real PATH too")
    if truths is None and claims is None:
        raise ParameterError("give --truths PATH, --claims PATH, or both to compare with")
    announce_compiling()
    found = releases.evaluate(
        read_released(released),
        truths=None if truths is None else read_truths(truths),
        raw=None if claims is None else read_claims(claims, object=object, user=user, value=value),
    )
    if as_json:
        say_json(found)
        return
    say(f"{found['claims_released']:,} released claims about {found['objects_released']:,} objects\n")
    rows = [row for part in ("truths", "raw") if part in found for row in _rows(part, found[part])]
    say_table(["measure", "figure"], rows)
    if claims is not None:
        warn("these figures look at raw claims: keep them private")


def _rows(part: str, figures: dict[str, Any]) -> list[list[str]]:
    rows = []
    for name, figure in figures.items():
        if isinstance(figure, dict):
            rows += _rows(part, figure)
        else:
            if isinstance(figure, bool):
                continue
            shown = f"{figure:,}" if isinstance(figure, int) else f"{figure:.5g}"
            rows.append([f"against {part}: {name.replace('_', ' ')}", shown])
    return rows
