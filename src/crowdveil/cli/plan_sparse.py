"""`crowdveil plan sparse`: which mechanism hides who answered what, and the error to expect of its truths."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from crowdveil.cli.options import Json, parse_range


class Unit(StrEnum):
    """Who is protected."""

    cell = "cell"
    user = "user"


def sparse(
    users: Annotated[int, typer.Option(help="People you expect.")],
    objects: Annotated[int, typer.Option(help="Objects that they may answer about.")],
    range: Annotated[str, typer.Option(help="Whole numbers that answers can be.", metavar="LOW:HIGH")],
    epsilon: Annotated[float, typer.Option(help="Differential privacy: how strong.")],
    sparsity: Annotated[float, typer.Option(help="The share of cells without an answer that you expect.")],
    spread: Annotated[
        float | None, typer.Option(help="Spread of people's errors (default: a tenth of the range).")
    ] = None,
    unit: Annotated[Unit, typer.Option(help="Protect each cell, or all answers of a user.")] = Unit.cell,
    as_json: Json = False,
) -> None:
    """Say which mechanism hides who answered what, and how large the error of the truths will be.

    No data are read: answers are simulated as you expect them, with truths anywhere in the range, reported
    and combined.

    Example: crowdveil plan sparse --users 2000 --objects 200 --range 0:9 --epsilon 2 --sparsity 0.9
    """
    from crowdveil.cli.console import say_json, working
    from crowdveil.local.request import whole_domain
    from crowdveil.planning.sparse import SparsePlan, plan_sparse

    limits = parse_range(range)
    assert limits is not None
    wish = SparsePlan(
        users, objects, whole_domain(limits), epsilon, sparsity, spread, "user" if unit == "user" else "cell"
    )
    with working(None) as engine:
        plan = plan_sparse(wish, engine=engine)
    if as_json:
        say_json(plan)
    else:
        _report(plan, objects)


def _report(plan: dict[str, Any], objects: int) -> None:
    from crowdveil.cli.console import say, say_table
    from crowdveil.guarantee import rounded_up

    rows = []
    for row in plan["mechanisms"]:
        if not row["possible"]:
            rows.append([row["mechanism"], *"---", f"not possible: {row['why']}"])
            continue
        epsilons = [rounded_up(row[level], 4) for level in ("cell_epsilon", "user_epsilon")]
        rows.append([row["mechanism"], *epsilons, f"{row['bytes']:,}", f"{row['error']:.3f}"])
    rows.append(["without noise", "nothing", "nothing", "", f"{plan['without_noise']['error']:.3f}"])
    rows.append(["nobody is asked", "", "", "", f"{plan['range_only']['error']:.3f}"])
    say_table(
        ["mechanism", "epsilon of a cell", f"of a user ({objects:,} cells)", "bytes of a report", "error"],
        rows,
    )
    say(f"About {plan['answers_per_object']:,.4g} answers per object; truths anywhere in the range.")
    if plan["fewer_users_simulated"]:
        say("Fewer users were simulated: with all of them errors are smaller.")
    say("")
    if plan["advice"] == "none":
        say("advice: none: the middle of the range would be hardly worse; ask more people, or spend more")
        return
    say(f"advice: {plan['advice']}, expected error {plan['error']:.3g}")
    say(f"    {plan['command']}")
    say(f"    {plan['then']}")
