"""`crowdveil simulate`: the papers' simulated data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.options import Force, Json
from crowdveil.errors import ParameterError

app = typer.Typer(help="The papers' simulated data, seeded.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    pass


@app.command("claims")
def claims(
    out: Annotated[str, typer.Option("-o", "--out", help="CSV or .parquet; - is standard output.")],
    truths: Annotated[str | None, typer.Option(help="Also write the truths here.", metavar="PATH")] = None,
    users: Annotated[int, typer.Option(help="How many users.")] = 30,
    objects: Annotated[int, typer.Option(help="How many objects.")] = 50,
    unreliable: Annotated[float, typer.Option(help="Share of users who claim anything.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Another seed, other data.")] = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """PrisCrowd's simulation: reliable users claim N(5, 0.5), unreliable ones U(0, 10).

    Example: crowdveil simulate claims --unreliable 0.2 -o claims.csv --truths truths.csv
    """
    from crowdveil.cli.console import say_json
    from crowdveil.experiments.simulation import SimulatedClaims
    from crowdveil.files import check_new, write_table
    from crowdveil.files.writing import STDOUT
    from crowdveil.randomness import seeded

    simulation = SimulatedClaims(users=users, objects=objects, unreliable=unreliable)
    if truths == out:
        raise ParameterError("claims and truths need files of their own")
    for path in (out, truths):
        if path not in (None, STDOUT):
            check_new(Path(str(path)), force=force)
    write_table(simulation.frame(rng=seeded(seed)), out, force=force)
    if truths is not None:
        write_table(simulation.truths(), truths, force=force)
    if as_json and out != STDOUT:
        say_json({"out": out, "truths": truths, "claims": users * objects, "unreliable": simulation.liars})
