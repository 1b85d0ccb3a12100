"""`crowdveil send`: perturb answers here, and send the reports to a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.options import Json, ObjectColumn, UserColumn, ValueColumn

if TYPE_CHECKING:
    from crowdveil.client.delivery import Tally
    from crowdveil.client.send import Prepared, Sent


def send(
    answers: Annotated[
        str,
        typer.Argument(
            help="CSV or Parquet; - is standard input. Claims (object, user, value), or for records a row "
            "for each person.",
            metavar="IN",
        ),
    ],
    to: Annotated[
        str,
        typer.Option("--to", help="http://HOST/c/ID, or http://HOST/api/v1/campaigns/ID.", metavar="URL"),
    ],
    participants: Annotated[
        Path | None,
        typer.Option(
            help="Table with the columns user and participant (a token): needed where people are invited.",
            metavar="FILE",
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            help="Where drawn reports are kept before they are sent (default: in the state folder). Keep it "
            "as long as the campaign lasts.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    max_epsilon: Annotated[
        float | None,
        typer.Option(help="Refuse a campaign that costs more in its own unit, over all its waves."),
    ] = None,
    max_person_epsilon: Annotated[
        float | None,
        typer.Option(help="Refuse a campaign that costs a person more, over all its waves."),
    ] = None,
    max_delta: Annotated[
        float, typer.Option(help="Refuse a campaign whose promise may fail more often.")
    ] = 0.01,
    patience: Annotated[
        float, typer.Option(help="Seconds to try again without progress before giving up.")
    ] = 300.0,
    distinct_names: Annotated[
        bool,
        typer.Option(
            "--distinct-names",
            help="Names that differ only by case or blanks are different people; else an open campaign "
            "counts them as one person, who answers once.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent; draw, keep and send nothing.")
    ] = False,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    as_json: Json = False,
) -> None:
    """Randomize answers on this machine, and send only the reports to a campaign.

    The campaign's promise is computed here and compared with what it says. Each report is drawn once and
    kept in the memory before it is sent: run again with the same memory, nobody answers twice with fresh
    noise, and nothing is counted twice. Names and raw answers stay here; in open campaigns people take part
    under tokens that are made up.

    Example: crowdveil send answers.csv --to http://127.0.0.1:8000/c/4f1c --max-epsilon 1
    """
    from crowdveil.cli.console import announce_compiling, say_json, warn, warn_outside, working
    from crowdveil.client.campaign_client import CampaignClient
    from crowdveil.client.limits import Limits
    from crowdveil.client.memory import Memory
    from crowdveil.client.send import Request, prepare, preview
    from crowdveil.client.send import send as send_answers

    columns = {"object": object, "user": user, "value": value}
    limits = Limits(max_epsilon, max_person_epsilon, max_delta)
    request = Request(answers, participants, limits, columns, distinct_names)
    announce_compiling()
    with CampaignClient(to, patience=patience, on_wait=_first_wait(patience)) as client:
        prepared = prepare(request, client)
        for message in prepared.warnings:
            warn(message)
        warn_outside(prepared.people.outside, prepared.people.values, prepared.people.moved)
        if not as_json:
            _say_promise(prepared)
        if dry_run:
            shown = preview(prepared)
            say_json(shown) if as_json else _say_preview(shown)
            return
        with working(None) as engine:
            sent = send_answers(prepared, client, Memory(memory), request, engine.progress)
    if sent.unanswered:
        warn(
            f"reports that an earlier run drew for others, and that were never acknowledged: "
            f"{sent.unanswered:,}. Run again with the file that these people are in"
        )
    say_json(sent.to_dict()) if as_json else _say_sent(sent)


def _first_wait(patience: float) -> Any:
    """Tells of the first wait, and not of those that follow."""
    from crowdveil.cli.console import warn

    told = False

    def tell(why: str, _seconds: float) -> None:
        nonlocal told
        if not told:
            warn(f"{why}: trying again for up to {patience:g} s")
        told = True

    return tell


def _say_promise(prepared: Prepared) -> None:
    from crowdveil.cli.console import say

    guarantee = prepared.campaign.guarantee
    say(f"{prepared.campaign.title}: {guarantee['sentence']}")
    for level in guarantee["all_waves"]:
        say(f"  {level['sentence']}")
    if guarantee["assumptions"]:
        say(f"It rests on this: {'; '.join(guarantee['assumptions'])}.")
    say("Not promised:")
    for text in guarantee["not_promised"]:
        say(f"  {text}")


def _say_preview(shown: dict[str, Any]) -> None:
    from crowdveil.cli.console import say
    from crowdveil.plain_data import to_json

    mechanism = shown["mechanism"]
    told = ", ".join(f"{name} {value}" for name, value in mechanism["parameters"].items())
    say(f"{shown['people']:,} reports would be sent, by {mechanism['name']}: {told}")
    if "noise_deviation" in shown:
        unit = " of the range" if shown["noise_unit"] != "value" else ""
        say(f"standard deviation of the noise {shown['noise_deviation']:.4g}{unit}")
    say("an example, from a made-up answer that is nobody's:")
    say(to_json(shown["example"]).rstrip())
    say("Nothing was drawn for anybody, kept or sent.")


def _say_sent(sent: Sent) -> None:
    from crowdveil.cli.console import say

    _say_tally(sent.tally)
    if sent.earlier.sent + sent.earlier.already + sent.earlier.refused:
        say("of earlier waves, drawn then and never answered:")
        _say_tally(sent.earlier)
    say(f"drawn reports are in {sent.memory}: keep it as long as the campaign lasts")


def _say_tally(tally: Tally) -> None:
    from crowdveil.cli.console import say
    from crowdveil.client.delivery import WHY_REFUSED

    say(f"sent {tally.sent:,}, already there {tally.already:,}, refused {tally.refused:,}")
    for reason, count in sorted(tally.reasons.items()):
        why = f" ({WHY_REFUSED[reason]})" if reason in WHY_REFUSED else ""
        say(f"  refused because of {reason}: {count:,}{why}")
