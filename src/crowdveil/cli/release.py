"""`crowdveil release` and `crowdveil demo`: from a claims file to a release bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile, account_of
from crowdveil.cli.options import (
    Force,
    Json,
    ObjectColumn,
    Out,
    Seed,
    Threads,
    UserColumn,
    ValueColumn,
    parse_range,
)
from crowdveil.cli.release_parameters import (
    Adjacency,
    Estimator,
    Loss,
    Normaliser,
    Unit,
    parameters_for,
)
from crowdveil.releases.registry import RELEASES

if TYPE_CHECKING:
    from crowdveil.operations.release import Released

    Method = str
else:
    Method = Literal[tuple(RELEASES)]  # Typer shows these in --help and refuses others


def release(
    claims: Annotated[str, typer.Argument(help="CSV (also gzipped) or Parquet; - is standard input.")],
    out: Out,
    method: Annotated[
        Method | None,
        typer.Option(help="Default with --epsilon: certified. priscrowd and uniform promise no epsilon."),
    ] = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    range: Annotated[
        str | None, typer.Option(help="Public range of values; claims are clamped to it.", metavar="LOW:HIGH")
    ] = None,
    resolution: Annotated[
        float | None, typer.Option(help="Smallest step that matters [range / 1000; certified: range / 2000].")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Differential privacy: how strong.")] = None,
    unit: Annotated[Unit | None, typer.Option(help="certified: who is protected [claim].")] = None,
    cap: Annotated[int | None, typer.Option(help="certified, unit user: claims used of each user.")] = None,
    adjacency: Annotated[
        Adjacency | None, typer.Option(help="certified: what neighbours differ in [replace-one].")
    ] = None,
    objects: Annotated[
        Path | None,
        typer.Option(help="certified, add-remove: file with the names of all objects, one in a line."),
    ] = None,
    pooled: Annotated[
        bool | None, typer.Option("--pooled", help="certified: one distribution of all objects together.")
    ] = None,
    estimator: Annotated[
        Estimator | None, typer.Option(help="certified: how densities are estimated [bayes].")
    ] = None,
    background: Annotated[
        bool | None,
        typer.Option("--background", help="certified: keep claims that look like an even background."),
    ] = None,
    reliability: Annotated[
        float | None,
        typer.Option(help="certified, histogram: share spent on weighing users [0, or 0.7 if it pays]."),
    ] = None,
    insist: Annotated[
        bool, typer.Option("--insist", help="certified: go on where claims and epsilon are too few.")
    ] = False,
    per_object: Annotated[int | None, typer.Option(help="Claims to release for each object [30].")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Plausible seeds a claim needs [5].")] = None,
    gamma: Annotated[float | None, typer.Option(help="How alike plausible seeds are [4].")] = None,
    epsilon0: Annotated[float | None, typer.Option(help="Rate of the test's noise [1].")] = None,
    require_k: Annotated[
        bool | None, typer.Option("--require-k", help="Require k seeds without noise as well.")
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option(help="smoothed, attempts: public width of the kernel.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="smoothed, attempts [1e-6]; certified for users [0].")
    ] = None,
    lam: Annotated[float | None, typer.Option(help="smoothed: share of draws from no claim [0.2].")] = None,
    attempts: Annotated[int | None, typer.Option(help="attempts: tries for each object [5].")] = None,
    eta: Annotated[float | None, typer.Option(help="attempts: share of tries made to fail [0.1].")] = None,
    loss: Annotated[Loss | None, typer.Option(help="A user's loss over its claims [mean].")] = None,
    normaliser: Annotated[Normaliser | None, typer.Option(help="What losses are divided by [sum].")] = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    budget: Budget = None,
    seed: Seed = None,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Publish synthetic claims instead of people's own.

    Writes OUT (claims.parquet, claims.csv, certificate.json, public.html: for publication) and OUT-private
    (steward.html, statuses.csv, weights.csv: for your eyes only), both or neither.

    Example: crowdveil release claims.csv --object drug --user patient --value severity --range 0:10
    --epsilon 2 -o out
    """
    from crowdveil.cli.console import announce_compiling, randomness, working
    from crowdveil.files import read_names
    from crowdveil.operations.release import release as run

    options = {
        "per_object": per_object,
        "k": k,
        "gamma": gamma,
        "epsilon0": epsilon0,
        "require_k": require_k,
        "loss": loss,
        "normaliser": normaliser,
        "epsilon": epsilon,
        "unit": unit,
        "cap": cap,
        "adjacency": adjacency,
        "pooled": pooled,
        "objects": None if objects is None else read_names(objects),
        "estimator": estimator,
        "background": background,
        "reliability": reliability,
        "bandwidth": bandwidth,
        "delta": delta,
        "lam": lam,
        "attempts": attempts,
        "eta": eta,
        "range": parse_range(range),
        "resolution": resolution,
    }
    parameters = parameters_for(method, {name: v for name, v in options.items() if v is not None})
    announce_compiling()
    with working(threads) as engine:
        released = run(
            claims,
            parameters,
            out,
            account_of(ledger, dataset, claims, budget),
            columns={"object": object, "user": user, "value": value},
            rng=randomness(seed),
            engine=engine,
            insist=insist,
            force=force,
        )
    _show(released, as_json=as_json)


def _show(released: Released, *, as_json: bool) -> None:
    from crowdveil.cli.console import say, say_json, say_table, warn

    result = released.to_dict()
    if result["seeded"]:
        warn("drawn with --seed: this release is NOT PRIVATE and not for publication")
    if as_json:
        say_json(result)
        return
    kind = "synthetic" if result["synthetic"] else "noisy"
    claims, objects = result["released_claims"], result["objects"]
    say(f"{claims:,} {kind} claims, from claims about {objects:,} objects ({result['method']})\n")
    say_table(["status", "objects"], [[name, f"{count:,}"] for name, count in result["statuses"].items()])
    say(f"\n{result['promise']['sentence']}")
    outside = result["for_you_only"]["clamped_claims"]
    if outside:
        say(f"For you only: claims outside the range, pulled into it: {outside:,}")
    files = "public.html, claims.csv, claims.parquet, certificate.json"
    say(f"\n{'NOT PRIVATE ' if result['seeded'] else 'to publish  '} {result['out']}/: {files}")
    say(f"for you only {result['private_out']}/: steward.html")


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write.")] = Path("crowdveil-demo"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Release the bundled sample: 40 drugs, 120 patients, the severity of side effects (simulated).

    Example: crowdveil demo
    """
    from importlib.resources import as_file, files

    from crowdveil.cli.console import announce_compiling, say, working
    from crowdveil.ledger import Ledger, default_path
    from crowdveil.operations.release import release as run
    from crowdveil.operations.spending import Account
    from crowdveil.public_range import Range
    from crowdveil.releases.certified import Certified

    if not as_json:
        say("crowdveil release side_effects.csv --object drug --user patient --value severity \\")
        say(f"    --range 0:10 --epsilon 2 -o {out}\n")
    announce_compiling()
    account = Account(Ledger(default_path()), "crowdveil demo")
    columns = {"object": "drug", "user": "patient", "value": "severity"}
    with as_file(files("crowdveil") / "samples" / "side_effects.csv") as sample, working(None) as engine:
        released = run(
            *(str(sample), Certified(2.0, Range(0, 10)), out, account),
            columns=columns,
            engine=engine,
            force=force,
        )
    _show(released, as_json=as_json)
