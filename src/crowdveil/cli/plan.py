"""`crowdveil plan`: which method and parameters a wish takes, and the error to expect; no data are read."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any

import typer

from crowdveil.cli.options import Json, Unit, parse_range
from crowdveil.cli.plan_records import records
from crowdveil.cli.plan_sensing import sensing
from crowdveil.cli.plan_sparse import sparse

app = typer.Typer(
    help="From a wish to parameters and an expected error.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    pass


app.command("sensing")(sensing)
app.command("sparse")(sparse)
app.command("records")(records)


@app.command("release")
def release(
    claims_per_object: Annotated[int, typer.Option(help="Claims you expect about each object.")],
    range: Annotated[str, typer.Option(help="Public range of values.", metavar="LOW:HIGH")],
    epsilon: Annotated[float, typer.Option(help="Differential privacy: how strong.")],
    delta: Annotated[float, typer.Option(help="smoothed, attempts: the delta that goes with it.")] = 1e-6,
    unit: Annotated[Unit, typer.Option(help="Who is protected.")] = "user",
    claims_per_user: Annotated[
        int | None, typer.Option(help="Unit user: claims you expect of each user [the cap, or 1].")
    ] = None,
    cap: Annotated[
        int | None, typer.Option(help="Unit user: claims used of each user [that with the least error].")
    ] = None,
    objects: Annotated[int, typer.Option(help="Objects you expect.")] = 50,
    spread: Annotated[
        float | None, typer.Option(help="Spread of an object's claims (default: a tenth of the range).")
    ] = None,
    per_object: Annotated[int, typer.Option(help="Claims to release for each object.")] = 30,
    as_json: Json = False,
) -> None:
    """Say which method to use for a release, and how large its error will be.

    No data are read: claims are simulated as you expect them. Parameters that a method's epsilon follows from
    are chosen so that it costs no more than you wish.

    Example: crowdveil plan release --claims-per-object 30 --range 0:10 --epsilon 1
    """
    from crowdveil.cli.console import say_json, working
    from crowdveil.planning.releases import ReleasePlan, plan_release

    limits = parse_range(range)
    assert limits is not None
    wish = ReleasePlan(
        *(objects, claims_per_object, limits, epsilon, spread, per_object, delta, unit, cap, claims_per_user)
    )
    with working(None) as engine:
        plan = plan_release(wish, engine=engine)
    if as_json:
        say_json(plan)
    else:
        _report(plan, claims_per_object)


def _report(plan: dict[str, Any], claims_per_object: int) -> None:
    from crowdveil.cli.console import say, say_table

    header = ["method", "density error", "error of the centre", "epsilon", "delta", "parameters"]
    rows = [header, *(_cells(row) for row in plan["methods"])]
    rows.append(["no release", *_errors(plan["without_release"]), "", "", "only the range is known"])
    for row in plan["methods"]:
        if row["method"] == "pooled" and row["possible"]:
            errors = _errors(row["without_release"])
            rows.append(["no release, pooled", *errors, "", "", "pooled: all claims together"])
    widest = max(len(row[-1]) for row in rows)
    for row in rows:
        row[-1] = row[-1].ljust(widest)
    say_table(rows[0], rows[1:])
    words = {
        "pooled": "no method shows single objects at this epsilon: release one distribution of all of them",
        "none": "too few claims for this epsilon: nothing is clearly better than no release. "
        "Ask more people, or spend more",
    }
    if plan["claims_per_user"]:
        count = plan["claims_per_user"]
        say(f"\nEach user is expected to make {count:,} claim{'s'[: count > 1]} (--claims-per-user).")
    say(f"\nadvice: {words.get(plan['advice'], plan['advice'])}")
    if plan["command"]:
        say(f"    {plan['command']}")
    if plan["advice"] in ("smoothed", "attempts"):
        say(f"It costs more where an object has fewer than {claims_per_object:,} claims.")


def _cells(row: dict[str, Any]) -> list[str]:
    """A method's row of the table."""
    if not row["possible"]:
        return [row["method"], *"----", f"not possible: {row['why']}"]
    epsilon = ceil(row["epsilon"] * 1e4) / 1e4  # a promise may look weaker than it is, never stronger
    shown = [
        f"{name.replace('_', '-')} {value}".removesuffix(".0")
        for name, value in row["parameters"].items()
        if name not in ("epsilon", "delta") and not isinstance(value, bool)
    ]
    return [row["method"], *_errors(row), f"{epsilon:.10g}", f"{row['delta']:g}", ", ".join(shown)]


def _errors(row: dict[str, Any]) -> list[str]:
    return [f"{row['relative_ise']:.3f}", f"{row['centre_error']:.4g}"]
