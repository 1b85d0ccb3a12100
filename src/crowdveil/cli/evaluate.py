"""`crowdveil evaluate`: how good a release is, or a table of synthetic records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
    from crowdveil.cli.console import announce_compiling, say_json, warn
    from crowdveil.cli.evaluate_records import show_records
    from crowdveil.operations.evaluate import evaluate_records, evaluate_release

    announce_compiling()
    if real is not None:
        if truths is not None or claims is not None:
            raise ParameterError("--real is for records, --truths and --claims are for claims: give one kind")
        if schema is None:
            raise ParameterError("records need the public domains of their columns: give --schema PATH")
        records = evaluate_records(
            released,
            real=real,
            schema=schema,
            label=label,
            held_out=held_out,
            clamp=clamp,
            seed=seed,
            out=out,
            force=force,
        )
        show = say_json if as_json else show_records
        show(records.to_dict())
        for warning in records.warnings:
            warn(warning)
        return
    if schema is not None or label is not None or held_out is not None or out is not None:
        raise ParameterError("--schema, --label, --held-out and -o are for records: give --real PATH too")
    release = evaluate_release(released, truths=truths, claims=claims, object=object, user=user, value=value)
    if as_json:
        say_json(release.to_dict())
        return
    _show_release(release.to_dict())
    for warning in release.warnings:
        warn(warning)


def _show_release(figures: dict[str, Any]) -> None:
    from crowdveil.cli.console import say, say_table

    say(f"{figures['claims_released']:,} released claims about {figures['objects_released']:,} objects\n")
    rows = [row for part in ("truths", "raw") if part in figures for row in _rows(part, figures[part])]
    say_table(["measure", "figure"], rows)


def _rows(part: str, figures: dict[str, Any]) -> list[list[str]]:
    """A row for each measure, nested ones included; flags are for machines."""
    rows = []
    for name, figure in figures.items():
        if isinstance(figure, dict):
            rows += _rows(part, figure)
        elif not isinstance(figure, bool):
            shown = f"{figure:,}" if isinstance(figure, int) else f"{figure:.5g}"
            rows.append([f"against {part}: {name.replace('_', ' ')}", shown])
    return rows
