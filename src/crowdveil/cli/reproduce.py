"""`crowdveil reproduce`: the papers' tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.options import Force, Json, Threads
from crowdveil.errors import ParameterError


def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment; without one they are listed.")] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions with different seeds.")] = 10,
    first_seed: Annotated[int, typer.Option(help="The first of these seeds.")] = 1,
    data: Annotated[
        Path | None, typer.Option(help="Folder of real datasets (or CROWDVEIL_DATA).", metavar="FOLDER")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for NAME.svg and NAME.json.", metavar="FOLDER")
    ] = None,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Rerun a table or figure of a paper; the paper's own figures stand beside ours.

    Example: crowdveil reproduce priscrowd-simulated --seeds 50 -o figures
    """
    from crowdveil.cli.console import say, say_json, say_table, working
    from crowdveil.experiments.registry import EXPERIMENTS
    from crowdveil.experiments.result import Settings
    from crowdveil.files import check_new, whole_file
    from crowdveil.plain_data import to_json
    from crowdveil.report.plots import save

    if name is None:
        summaries = {key: (run.__doc__ or "").splitlines()[0] for key, run in EXPERIMENTS.items()}
        if as_json:
            say_json({"experiments": summaries})
        else:
            say_table(["experiment", "what"], [[key, summary] for key, summary in summaries.items()])
        return
    if name not in EXPERIMENTS:
        raise ParameterError(f"there is no experiment {name!r}; crowdveil reproduce lists them")
    if seeds < 1:
        raise ParameterError(f"seeds must be at least 1, not {seeds}")
    for ending in ("json", "svg") if out is not None else ():
        check_new(Path(str(out)) / f"{name}.{ending}", force=force)
    with working(threads) as engine:
        outcome = EXPERIMENTS[name](Settings(seeds, engine, data, first_seed))
    if out is not None:
        with whole_file(out / f"{name}.json", force=force) as draft:
            draft.write_text(to_json(outcome.figures), encoding="utf-8")
        with whole_file(out / f"{name}.svg", force=force) as draft:
            save(outcome.picture, draft)
    if as_json:
        say_json(outcome.figures)
        return
    say_table(outcome.header, outcome.rows)
    if outcome.remark:
        say(f"\n{outcome.remark}")
