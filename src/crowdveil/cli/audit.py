"""`crowdveil audit`: attack what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crowdveil.cli.options import Json, Threads
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.audit.run import Outcome


SHOWN = 0.1  # of the claimed delta: if less of it is measured, epsilon says more


def audit(
    mechanism: Annotated[
        str | None, typer.Argument(help="What to attack; without it they are listed.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Attack every mechanism.")] = False,
    draws: Annotated[
        int | None, typer.Option(help="Draws from each of the two inputs; half of them pick the event.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Chance of refuting a true claim, for each audit.")] = 1e-3,
    seed: Annotated[int | None, typer.Option(help="Repeatable draws.", show_default=False)] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Attack a mechanism: draw from two neighbouring inputs and look for what tells them apart.

    Says "refuted" or "not refuted"; no audit can prove a claim. Claims of a paper that are not ours have
    "paper" in their name. Exit code 1 when one of ours is refuted.

    Example: crowdveil audit --all
    """
    from crowdveil.audit.registry import AUDITS, audit_named
    from crowdveil.audit.run import run_audits
    from crowdveil.cli.console import say, say_json, say_table, working

    if mechanism is not None and every:
        raise ParameterError("give a mechanism or --all, not both")
    if mechanism is None and not every:
        if as_json:
            say_json({"mechanisms": list(AUDITS)})
        else:
            say_table(
                ["mechanism", "whose claim", "protects"],
                [[audit.name, audit.whose, audit.unit] for audit in AUDITS.values()],
            )
        return
    chosen = list(AUDITS.values()) if mechanism is None else [audit_named(mechanism)]
    with working(threads) as engine:
        outcomes = run_audits(
            chosen, draws=draws, alpha=alpha, seed=seed, threads=threads, progress=engine.progress
        )
    if as_json:
        say_json({"audits": [outcome.to_dict() for outcome in outcomes]})
    else:
        say_table(
            ["mechanism", "claimed", "measured", "tested draws", "verdict"],
            [_row(outcome) for outcome in outcomes],
        )
        say(f"\nMeasured: at least so much, with confidence {1 - alpha:g} for each row.")
    if any(outcome.refuted and outcome.audit.whose == "ours" for outcome in outcomes):
        raise typer.Exit(1)


def _row(outcome: Outcome) -> list[str]:
    claim, shown = outcome.audit, outcome.measured
    claimed = f"epsilon {claim.epsilon:.3f}" + (f", delta {claim.delta:.5f}" if claim.delta else "")
    if isinstance(shown["delta"], float) and shown["delta"] > SHOWN * claim.delta > 0:
        measured = f"delta {shown['delta']:.5f}"
    elif isinstance(shown["epsilon"], float):
        measured = f"epsilon {max(0.0, shown['epsilon']):.3f}"
    else:
        measured = "nothing" if shown["epsilon"] is None else "epsilon infinite"
    if outcome.ratios is not None:
        measured += ", exact" if not claim.delta else ""
    return [claim.name, claimed, measured, f"{outcome.counts.draws:,}", outcome.verdict]
