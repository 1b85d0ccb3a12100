"""`crowdveil release` and `crowdveil demo`: from a claims file to a release bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile
from crowdveil.cli.options import (
    Force,
    Json,
    ObjectColumn,
    Out,
    Seed,
    Threads,
    UserColumn,
    ValueColumn,
)
from crowdveil.cli.release_parameters import (
    Adjacency,
    Estimator,
    Loss,
    Method,
    Normaliser,
    Unit,
    parameters_for,
)
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.claims import Claims
    from crowdveil.cli.release_parameters import Parameters
    from crowdveil.guarantee import Promise


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
    from crowdveil.files import read_names

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
    }
    parameters = parameters_for(
        method, {name: v for name, v in given.items() if v is not None}, range, resolution
    )
    from crowdveil.cli.console import announce_compiling
    from crowdveil.files import read_claims
    from crowdveil.report.bundle import check_bundle

    check_bundle(out, claims, force=force)
    announce_compiling()
    table = read_claims(claims, object=object, user=user, value=value)
    if not insist:
        _refuse_useless(table, parameters)
    account = _Account(ledger, dataset, claims, budget)
    result = _release(table, parameters, out, account, seed=seed, threads=threads, force=force)
    _report(result, as_json=as_json)


@dataclass(frozen=True)
class _Account:
    """Where a release is charged."""

    ledger: Path | None
    dataset: str | None
    source: str
    budget: float | None


def _refuse_useless(claims: Claims, parameters: Parameters) -> None:
    """Say before anything is spent that nothing useful would come of it.

    Not where claims come and go: a refusal would tell how many there are.
    """
    from crowdveil.releases.certified import USEFUL, Certified, usefulness

    if not isinstance(parameters, Certified) or parameters.adjacency == "add-remove":
        return
    if usefulness(claims, parameters) < USEFUL:
        pooled = "" if parameters.pooled else "--pooled releases one distribution of all objects, "
        raise ParameterError(
            "too few claims for this epsilon: the release would be little but noise "
            f"({pooled}a larger --epsilon helps, --insist goes on regardless)"
        )


def _cost(parameters: Parameters, claims: Claims) -> Promise:
    """What a release would promise, before anything is drawn."""
    from crowdveil.releases.attempts import Attempts
    from crowdveil.releases.smoothed import Smoothed

    if isinstance(parameters, (Attempts, Smoothed)):
        return parameters.cost(claims.counts())
    return parameters.cost()


def _release(
    claims: Claims,
    parameters: Parameters,
    out: Path,
    account: _Account,
    *,
    seed: int | None,
    threads: int | None,
    force: bool,
) -> dict[str, Any]:
    """Charge, release, write the bundle, and say what was done."""
    from crowdveil.cli.console import randomness, working
    from crowdveil.ledger import Ledger, dataset_key, default_path
    from crowdveil.releases import attempts, basic, certified, priscrowd, smoothed
    from crowdveil.report.bundle import private_path, write_bundle

    rng = randomness(seed)
    outside = 0
    if parameters.range is not None:
        claims, outside = claims.clamped(parameters.range.low, parameters.range.high)
    weights = None
    book = Ledger(account.ledger or default_path())
    with working(threads) as engine:
        key = dataset_key(account.dataset, account.source)
        charge = book.charge(
            key,
            _cost(parameters, claims),
            method=parameters.method,
            seeded=seed is not None,
            budget=account.budget,
        )
        if isinstance(parameters, certified.Certified):
            claims = certified.used(claims, parameters)
            made = certified.release(claims, parameters, rng=rng, engine=engine)
        elif isinstance(parameters, basic.Basic):
            made = basic.release(claims, parameters, rng=rng, engine=engine)
        elif isinstance(parameters, smoothed.Smoothed):
            made = smoothed.release(claims, parameters, rng=rng, engine=engine)
        elif isinstance(parameters, attempts.Attempts):
            made = attempts.release(claims, parameters, rng=rng, engine=engine)
        else:
            weights = priscrowd.estimate(claims, parameters, engine=engine)
            made = priscrowd.release(claims, parameters, weights=weights, rng=rng, engine=engine)
        engine.progress("writing", 0.0)
        write_bundle(out, made, claims, weights, force=force)
        book.completed(charge)
    return {
        "out": str(out),
        "private_out": str(private_path(out)),
        "method": made.method,
        "seeded": made.seeded,
        "synthetic": made.synthetic,
        "promise": made.promise.to_dict(),
        "objects": len(claims.objects),
        "released_claims": len(made),
        "statuses": made.status_counts(),
        "for_you_only": {"clamped_claims": outside},
    }


def _report(result: dict[str, Any], *, as_json: bool) -> None:
    from crowdveil.cli.console import say, say_json, say_table, warn

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

    from crowdveil.cli.console import announce_compiling, say
    from crowdveil.files import read_claims
    from crowdveil.public_range import Range
    from crowdveil.releases.certified import Certified
    from crowdveil.report.bundle import check_bundle

    with as_file(files("crowdveil") / "samples" / "side_effects.csv") as sample:
        check_bundle(out, str(sample), force=force)
        announce_compiling()
        claims = read_claims(str(sample), object="drug", user="patient", value="severity")
    if not as_json:
        say("crowdveil release side_effects.csv --object drug --user patient --value severity \\")
        say(f"    --range 0:10 --epsilon 2 -o {out}\n")
    account = _Account(None, "crowdveil demo", "sample", None)
    parameters = Certified(2.0, Range(0, 10))
    result = _release(claims, parameters, out, account, seed=None, threads=None, force=force)
    _report(result, as_json=as_json)
