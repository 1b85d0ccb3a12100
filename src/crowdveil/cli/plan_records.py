"""`crowdveil plan records`: what people are asked, and how far the synthetic table is from the real one."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from crowdveil.cli.options import Json


def records(
    schema: Annotated[
        Path, typer.Option(help="Public domains of the columns, JSON or YAML.", metavar="PATH")
    ],
    people: Annotated[int, typer.Option(help="People you expect, one record each.")],
    epsilon: Annotated[float, typer.Option(help="Differential privacy: how strong, for each record.")],
    label: Annotated[
        str | None, typer.Option(help="A column that matters more than others.", metavar="COLUMN")
    ] = None,
    dependence: Annotated[
        float, typer.Option(help="How much columns tell of each other, from 0 to 1, as you expect.")
    ] = 0.5,
    as_json: Json = False,
) -> None:
    """Say what people will be asked, and how far the synthetic table will be from the real one.

    No data are read: people are simulated, of four hidden classes, and tables synthesized from their reports.

    Example: crowdveil plan records --schema schema.json --people 30000 --epsilon 4
    """
    from crowdveil.cli.console import say_json, working
    from crowdveil.files import read_schema
    from crowdveil.planning.records import RecordsPlan, plan_records

    wish = RecordsPlan(read_schema(schema), people, epsilon, label, dependence)
    with working(None):
        plan = plan_records(wish)
    if as_json:
        say_json(plan)
    else:
        _report(plan, schema, wish.epsilon, label)


def _report(plan: dict[str, Any], schema: Path, epsilon: float, label: str | None) -> None:
    from crowdveil.cli.console import say, say_table
    from crowdveil.synthesis.registry import METHODS

    say_table(
        ["a question is about", "questions", "share of people"],
        [
            [f"{row['columns']} columns", f"{row['questions']:,}", f"{row['people']:.3g}"]
            for row in plan["questions"]
        ],
    )
    say("")
    say_table(
        ["method", "distance of pairs (TVD)", "bits of a report"],
        [
            *([row["method"], f"{row['distance']:.4f}", f"{row['bits']:.3g}"] for row in plan["methods"]),
            ["people asked again", f"{plan['resampled']:.4f}", ""],
        ],
    )
    if plan["fewer_people_simulated"]:
        say("Fewer people were simulated: with all of them distances are smaller.")
    say("")
    say(f"advice: {plan['advice']}, expected distance {plan['distance']:.3g}")
    more = f" --label {quote(label)}" if label and METHODS[plan["advice"]].takes("label") else ""
    say(
        f"    crowdveil synthesize records.csv -o made.csv --schema {quote(str(schema))} "
        f"--epsilon {epsilon!r} --method {plan['advice']}{more}"
    )
