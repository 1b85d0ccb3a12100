"""`crowdveil plan sensing`: which noise people's devices should add, and the error to expect of truths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.options import Force, Json, Unit, parse_range
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.planning.sensing import SensingPlan


def sensing(
    users: Annotated[int, typer.Option(help="People you expect.")],
    range: Annotated[str, typer.Option(help="Public range of values.", metavar="LOW:HIGH")],
    epsilon: Annotated[float, typer.Option(help="Differential privacy: how strong.")],
    objects: Annotated[int, typer.Option(help="Objects that they measure.")] = 30,
    claims_per_user: Annotated[
        int | None, typer.Option(help="Claims of each (default: one about every object).")
    ] = None,
    spread: Annotated[
        float | None, typer.Option(help="Spread of people's errors (default: a tenth of the range).")
    ] = None,
    delta: Annotated[float, typer.Option(help="For mechanisms that need one; 0 for none.")] = 1e-6,
    unit: Annotated[Unit, typer.Option(help="Protect each claim, or all claims of a user.")] = "claim",
    error: Annotated[float | None, typer.Option(help="Mean absolute error that you want.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Picture of what privacy asks for and utility allows.", metavar="PATH.svg"
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say which noise people's devices should add, and how large the error of the truths will be.

    No data are read: claims are simulated as you expect them, perturbed and combined. With an error that you
    want it says how many people that takes.

    Example: crowdveil plan sensing --users 500 --range 0:10 --epsilon 2 --error 0.2
    """
    from crowdveil.cli.console import say_json, working
    from crowdveil.files import check_new, keep_apart
    from crowdveil.planning.sensing import SensingPlan, plan_sensing

    limits = parse_range(range)
    assert limits is not None
    wish = SensingPlan(
        *(users, limits, epsilon, objects, claims_per_user, spread, delta), unit=unit, error=error
    )
    if out is not None:
        if out.suffix.lower() != ".svg":
            raise ParameterError(f"the picture is an SVG: give a name that ends in .svg, not {str(out)!r}")
        keep_apart([out], {})
        check_new(out, force=force)
        import crowdveil.report.plots  # noqa: F401, before anything is simulated: is matplotlib there?
    with working(None) as engine:
        plan = plan_sensing(wish, engine=engine)
    if out is not None:
        _draw(wish, out, force=force)
    if as_json:
        say_json(plan)
    else:
        _report(plan, wish)


def _draw(wish: SensingPlan, out: Path, *, force: bool) -> None:
    """Write the picture of the trade-off."""
    from crowdveil.files import whole_file
    from crowdveil.report.plots import save
    from crowdveil.report.trade_off_picture import trade_off_picture

    picture = trade_off_picture(wish.theory, epsilon=wish.epsilon, delta=wish.delta)
    with whole_file(out, force=force) as draft:
        save(picture, draft)


_NAMES = {
    "laplace": "laplace",
    "variance-per-user": "one variance per user",
    "variance-per-user-floor": "the same with a floor",
}


def _report(plan: dict[str, Any], wish: SensingPlan) -> None:
    from crowdveil.cli.console import say, say_table

    promises = ["a claim (epsilon, delta)", f"a user of {wish.claims:,}"]
    header = ["mechanism", "average noise", *promises, "error", "gtm", "mean", "parameters"]
    rows = [_cells(row) for row in plan["mechanisms"]]
    without_noise = _errors(plan["without_noise"])
    rows.append(["without noise", "0", "nothing", "nothing", *without_noise, ""])
    middle = f"{plan['range_only']['error']:.4g}"
    rows.append(["nobody is asked", *[""] * 3, *[middle] * 3, "the middle of the range for everything"])
    widest = max(len(row[-1]) for row in rows)
    say_table([*header[:-1], header[-1].ljust(widest)], [[*row[:-1], row[-1].ljust(widest)] for row in rows])
    say("Truths are taken to lie two spreads inside the range: those nearer to an end are pulled inwards.")
    say("")
    for line in _advice(plan, wish):
        say(line)


def _cells(row: dict[str, Any]) -> list[str]:
    """A mechanism's row of the table."""
    name = _NAMES[row["mechanism"]]
    if not row["possible"]:
        return [name, *"------", f"not possible: {row['why']}"]
    shown = [
        f"{key} {value:.6g}"
        for key, value in row["parameters"].items()
        if key in ("epsilon", "lambda2", "floor")
    ]
    promises = [_promise(row["claim"]), _promise(row["user"])]
    return [name, f"{row['average_noise']:.4g}", *promises, *_errors(row["errors"]), ", ".join(shown)]


def _promise(promise: dict[str, Any]) -> str:
    """Epsilon and delta, rounded up: a promise may look weaker than it is, never stronger."""
    from crowdveil.guarantee import rounded_up

    if promise["kind"] != "differential privacy":
        return "nothing"
    return f"{rounded_up(promise['epsilon'], 4)}, {rounded_up(promise['delta'], 3)}"


def _errors(errors: dict[str, dict[str, float]]) -> list[str]:
    return [f"{errors[method]['error']:.4g}" for method in ("noise-aware", "gtm", "mean")]


def _advice(plan: dict[str, Any], wish: SensingPlan) -> list[str]:
    """What to do, in a few lines."""
    lines = []
    needed, people = plan["claims_per_object_needed"], plan["people_needed"]
    more = f"about {needed:,} claims per object ({people:,} people)" if needed else None
    if plan["advice"] == "none":
        one_meets = any(row["meets"] for row in plan["mechanisms"])
        why = "with so much noise, the middle of the range would be hardly worse"
        lines.append(f"advice: none: {why if one_meets else 'no mechanism can make this promise'}")
    else:
        name = _NAMES[plan["advice"]]
        lines.append(f"advice: {name}, expected error {plan['error']:.3g} by {plan['method']}")
        lines += [f"    {plan['command']}", f"    {plan['then']}"]
    if more:
        what = "be of use" if wish.error is None else "reach the error you want"
        lines.append(f"ask more people: {more} would {what}; or spend more epsilon")
    elif plan["reached"] is False:
        lines.append(
            "more people alone will not reach the error you want: what lies beyond the range is clamped, so "
            "declare a wider one"
        )
    if plan["one_claim_each"] is not None:
        lines.append(
            "if each person made one claim only, all of epsilon could go to it: expected error "
            f"{plan['one_claim_each']['error']:.3g} (--claims-per-user 1)"
        )
    if plan["extrapolated"]:
        lines.append("errors are extrapolated: so many claims per object are not simulated")
    if any(row["possible"] and row["mechanism"] == "variance-per-user" for row in plan["mechanisms"]):
        lines.append(
            "one variance per user: its truths lean on those whose noise came out small, and everybody else "
            "can find these people too; that is why its delta is so large"
        )
    return lines
