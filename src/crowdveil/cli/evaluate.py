"""`crowdveil evaluate`: how good a release is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from crowdveil.cli.options import Json, ObjectColumn, UserColumn, ValueColumn
from crowdveil.errors import ParameterError


def evaluate(
    released: Annotated[str, typer.Argument(help="A release folder or its claims file.")],
    truths: Annotated[
        str | None, typer.Option(help="Known truths: object, value and perhaps spread.", metavar="PATH")
    ] = None,
    claims: Annotated[
        str | None, typer.Option(help="The raw claims (the result is then private).", metavar="PATH")
    ] = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    as_json: Json = False,
) -> None:
    """Compare released claims with known truths, or with the raw claims.

    Example: crowdveil evaluate out --truths truths.csv
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, say_table, warn
    from crowdveil.files import read_claims, read_released, read_truths
    from crowdveil.release import evaluation

    if truths is None and claims is None:
        raise ParameterError("give --truths PATH, --claims PATH, or both to compare with")
    announce_compiling()
    found = evaluation.evaluate(
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
