"""`crowdveil plan`: what a wish would be worth, before anybody is asked anything."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdveil.cli.options import Json, parse_range

app = typer.Typer(
    help="From a wish to parameters and an expected error.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    pass


@app.command("release")
def release(
    claims_per_object: Annotated[int, typer.Option(help="Claims you expect about an object.")],
    range: Annotated[str, typer.Option(help="Public range of values.", metavar="LOW:HIGH")],
    epsilon: Annotated[float, typer.Option(help="Differential privacy for each claim: how strong.")],
    objects: Annotated[int, typer.Option(help="Objects you expect.")] = 50,
    spread: Annotated[
        float | None, typer.Option(help="Spread of an object's claims (default: a tenth of the range).")
    ] = None,
    per_object: Annotated[int, typer.Option(help="Claims to release for each object.")] = 30,
    as_json: Json = False,
) -> None:
    """Say which method to use for a release, and how large its error will be.

    No data are read: claims are simulated as you expect them.

    Example: crowdveil plan release --claims-per-object 30 --range 0:10 --epsilon 1
    """
    from crowdveil.cli.console import say, say_json, say_table, working
    from crowdveil.experiments.planning import ReleasePlan, plan_release

    limits = parse_range(range)
    assert limits is not None
    with working(None) as engine:
        found = plan_release(
            ReleasePlan(objects, claims_per_object, limits, epsilon, spread, per_object), engine=engine
        )
    if as_json:
        say_json(found)
        return
    say_table(
        ["method", "density error (1: useless)", "error of the centre"],
        [[r["method"], f"{r['relative_ise']:.3f}", f"{r['centre_error']:.4g}"] for r in found["methods"]],
    )
    words = {
        "pooled": "objects have too few claims for this epsilon: release one distribution of all of them",
        "none": "too few claims for this epsilon: ask more people, or spend more",
    }
    say(f"\nadvice: {words.get(found['advice'], found['advice'])}")
    if found["command"]:
        say(f"    {found['command']}")
