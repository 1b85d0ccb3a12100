"""`crowdveil release` and `crowdveil demo`: from a claims file to a release bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdveil.cli import release_options as options
from crowdveil.cli.ledger import Budget, Dataset, LedgerFile, account_of
from crowdveil.cli.options import (
    EngineName,
    Force,
    Json,
    Master,
    Memory,
    ObjectColumn,
    Out,
    Seed,
    Threads,
    UserColumn,
    ValueColumn,
    parse_range,
)
from crowdveil.cli.release_parameters import parameters_for

if TYPE_CHECKING:
    from crowdveil.operations.release import Released


_FILES = ("public.html", "claims.csv", "claims.parquet", "certificate.json")


def release(
    claims: options.ClaimsFile,
    out: Out,
    method: options.Method = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    range: options.Range = None,
    resolution: options.Resolution = None,
    epsilon: options.Epsilon = None,
    unit: options.Unit = None,
    cap: options.Cap = None,
    adjacency: options.Adjacency = None,
    objects: options.Objects = None,
    pooled: options.Pooled = None,
    estimator: options.Estimator = None,
    background: options.Background = None,
    reliability: options.Reliability = None,
    insist: options.Insist = False,
    spread: options.Spread = None,
    per_object: options.PerObject = None,
    k: options.K = None,
    gamma: options.Gamma = None,
    epsilon0: options.Epsilon0 = None,
    require_k: options.RequireK = None,
    bandwidth: options.Bandwidth = None,
    delta: options.Delta = None,
    lam: options.Lam = None,
    attempts: options.Attempts = None,
    eta: options.Eta = None,
    loss: options.Loss = None,
    normaliser: options.Normaliser = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    budget: Budget = None,
    seed: Seed = None,
    csv: options.Csv = None,
    engine: EngineName = "local",
    master: Master = None,
    threads: Threads = None,
    memory: Memory = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Publish synthetic claims instead of people's own.

    Writes OUT (claims.parquet, claims.csv, certificate.json, public.html: for publication) and OUT-private
    (steward.html, statuses.csv, weights.csv: for your eyes only), both or neither.

    Example: crowdveil release claims.csv --object drug --user patient --value severity --range 0:10
    --epsilon 1 -o out
    """
    from crowdveil.cli.console import announce_compiling, randomness, warn, working_on
    from crowdveil.files import read_names
    from crowdveil.operations.release import release as run

    given = {
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
    parameters = parameters_for(method, {name: v for name, v in given.items() if v is not None})
    announce_compiling()
    account = account_of(ledger, dataset, claims, budget)
    with working_on(engine, master, threads, memory, bounded=True) as chosen:
        released = run(
            claims,
            parameters,
            out,
            account,
            columns={"object": object, "user": user, "value": value},
            rng=randomness(seed),
            engine=chosen,
            insist=insist,
            force=force,
            spread=spread,
            objects_file=objects,
            csv=csv,
            tell=warn,
        )
    _show(released, as_json=as_json)


def _show(released: Released, *, as_json: bool) -> None:
    from crowdveil.cli.console import say, say_json, say_table, warn, warn_outside

    result = released.to_dict()
    for message in released.warnings:
        warn(message)
    warn_outside(released.outside, released.claims)
    if released.unlisted:
        warn(
            f"FOR YOUR EYES ONLY: {released.unlisted:,} of {released.claims:,} claims are about objects that "
            "are not listed, and were not used: are the names in --objects written as in the claims?"
        )
    if result["seeded"]:
        warn("drawn with --seed: this release is NOT PRIVATE and not for publication")
    if as_json:
        say_json(result)
        return
    kind = "synthetic" if result["synthetic"] else "noisy"
    claims, objects = result["released_claims"], result["objects"]
    about = "object" if objects == 1 else "objects"
    say(f"{claims:,} {kind} claims, from claims about {objects:,} {about} ({result['method']})\n")
    say_table(["status", "objects"], [[name, f"{count:,}"] for name, count in result["statuses"].items()])
    say(f"\n{result['promise']['sentence']}")
    for level in result["levels"]:
        say(f"  {level['sentence']}")
    if result["cap"] is not None:
        say(f"Of each person at most {result['cap']} claims were used, chosen without looking at values.")
    files = ", ".join(name for name in _FILES if (released.out / name).exists())
    say(f"\n{'NOT PRIVATE ' if result['seeded'] else 'to publish  '} {result['out']}/: {files}")
    weights = "" if released.release.weights is None else ", weights.csv"
    say(f"for you only {result['private_out']}/: steward.html, statuses.csv{weights}")
    if result["signed_by"]:
        say(f"signed by    {result['signed_by']} (crowdveil ledger --export-key FILE)")


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write.")] = Path("crowdveil-demo"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Release the bundled sample: 40 drugs, 3,000 patients, the severity of side effects (simulated).

    Example: crowdveil demo
    """
    from importlib.resources import as_file, files

    from crowdveil.cli.console import announce_compiling, say, warn, working
    from crowdveil.ledger import Ledger, default_path
    from crowdveil.operations.release import release as run
    from crowdveil.operations.spending import Account
    from crowdveil.public_range import Range
    from crowdveil.releases.certified import Certified

    if not as_json:
        say("crowdveil release side_effects.csv --object drug --user patient --value severity \\")
        say(f"    --range 0:10 --epsilon 1 -o {out}\n")
    announce_compiling()
    account = Account(Ledger(default_path()), "crowdveil demo")
    columns = {"object": "drug", "user": "patient", "value": "severity"}
    with as_file(files("crowdveil") / "samples" / "side_effects.csv") as sample, working(None) as engine:
        released = run(
            *(str(sample), Certified(1.0, Range(0, 10)), out, account),
            columns=columns,
            engine=engine,
            force=force,
            tell=warn,
        )
    _show(released, as_json=as_json)
