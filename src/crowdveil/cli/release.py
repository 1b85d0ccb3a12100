"""`crowdveil release` and `crowdveil demo`: from a claims file to a release bundle."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    from crowdveil.claims import Claims
    from crowdveil.release.basic import Basic
    from crowdveil.release.priscrowd import PrisCrowd


class Method(StrEnum):
    """How claims are released."""

    priscrowd = "priscrowd"
    uniform = "uniform"
    basic = "basic"


class Loss(StrEnum):
    """How a user's distances are put together."""

    mean = "mean"
    sum = "sum"


class Normaliser(StrEnum):
    """What users' losses are divided by."""

    sum = "sum"
    max = "max"


def release(
    claims: Annotated[str, typer.Argument(help="CSV (also gzipped) or Parquet; - is standard input.")],
    out: Out,
    method: Annotated[Method | None, typer.Option(help="priscrowd and uniform promise no epsilon.")] = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    range: Annotated[
        str | None, typer.Option(help="Public range of values; claims are clamped to it.", metavar="LOW:HIGH")
    ] = None,
    resolution: Annotated[
        float | None, typer.Option(help="Smallest step that matters (default: range / 1000).")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="basic: privacy parameter for each claim.")] = None,
    per_object: Annotated[int | None, typer.Option(help="Claims to release for each object [30].")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Plausible seeds a claim needs [5].")] = None,
    gamma: Annotated[float | None, typer.Option(help="How alike plausible seeds are [4].")] = None,
    epsilon0: Annotated[float | None, typer.Option(help="Rate of the test's noise [1].")] = None,
    require_k: Annotated[
        bool | None, typer.Option("--require-k", help="Require k seeds without noise as well.")
    ] = None,
    loss: Annotated[Loss | None, typer.Option(help="A user's loss over its claims [mean].")] = None,
    normaliser: Annotated[Normaliser | None, typer.Option(help="What losses are divided by [sum].")] = None,
    seed: Seed = None,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Publish synthetic claims instead of people's own.

    Writes OUT (claims.parquet, claims.csv, certificate.json, public.html: for publication) and OUT-private
    (steward.html, statuses.csv, weights.csv: for your eyes only), both or neither.

    Example: crowdveil release claims.csv --object drug --user patient --value severity --range 0:10
    --method priscrowd -o out
    """
    given = {
        "per_object": per_object,
        "k": k,
        "gamma": gamma,
        "epsilon0": epsilon0,
        "require_k": require_k,
        "loss": loss,
        "normaliser": normaliser,
        "epsilon": epsilon,
    }
    parameters = _parameters(
        method, {name: v for name, v in given.items() if v is not None}, range, resolution
    )
    from crowdveil.files import read_claims
    from crowdveil.report.bundle import check_bundle

    check_bundle(out, force=force)
    table = read_claims(claims, object=object, user=user, value=value)
    result = _release(table, parameters, out, seed=seed, threads=threads, force=force)
    _report(result, as_json=as_json)


_TESTED = ("per_object", "k", "gamma", "epsilon0", "require_k")
_TAKES = {
    Method.priscrowd: (*_TESTED, "loss", "normaliser"),
    Method.uniform: _TESTED,
    Method.basic: ("epsilon",),
}


def _parameters(
    method: Method | None, given: dict[str, Any], range_text: str | None, resolution: float | None
) -> PrisCrowd | Basic:
    from crowdveil.release.basic import Basic
    from crowdveil.release.deniability import PrivacyTest
    from crowdveil.release.priscrowd import PrisCrowd

    public_range = parse_range(range_text)
    if method is None and "epsilon" in given:
        raise ParameterError("--epsilon needs a --method that keeps it: --method basic --range LOW:HIGH")
    if method is None:
        raise ParameterError(
            "choose what is promised: --method basic --epsilon E (differential privacy for each claim), "
            "or --method priscrowd (no differential privacy guarantee)"
        )
    for name in given:
        if name not in _TAKES[method]:
            raise ParameterError(f"--{name.replace('_', '-')} does not apply to --method {method}")
    if method is Method.basic:
        if public_range is None or "epsilon" not in given:
            raise ParameterError("--method basic needs --epsilon E and --range LOW:HIGH")
        return Basic(given["epsilon"], public_range, resolution)
    test = {name: given[name] for name in ("k", "gamma", "epsilon0", "require_k") if name in given}
    rest = {name: given[name] for name in ("per_object", "loss", "normaliser") if name in given}
    weighting: Any = "reliability" if method is Method.priscrowd else "uniform"
    return PrisCrowd(
        test=PrivacyTest(**test), range=public_range, resolution=resolution, weighting=weighting, **rest
    )


def _release(
    claims: Claims,
    parameters: PrisCrowd | Basic,
    out: Path,
    *,
    seed: int | None,
    threads: int | None,
    force: bool,
) -> dict[str, Any]:
    """Release, write the bundle, and say what was done."""
    from crowdveil.cli.console import randomness, working
    from crowdveil.release import basic, priscrowd
    from crowdveil.report.bundle import private_folder, write_bundle

    rng = randomness(seed)
    outside = 0
    if parameters.range is not None:
        claims, outside = claims.clamped(parameters.range.low, parameters.range.high)
    with working(threads) as engine:
        if isinstance(parameters, basic.Basic):
            weights = None
            made = basic.release(claims, parameters, rng=rng, engine=engine)
        else:
            weights = priscrowd.estimate(claims, parameters, engine=engine)
            made = priscrowd.release(claims, parameters, weights=weights, rng=rng, engine=engine)
        engine.progress("writing", 0.0)
        write_bundle(out, made, claims, weights, force=force)
    return {
        "out": str(out),
        "private_out": str(private_folder(out)),
        "method": made.method,
        "seeded": made.seeded,
        "promise": made.promise.to_dict(),
        "objects": len(claims.objects),
        "released_claims": len(made),
        "statuses": made.status_counts(),
        "clamped_claims": outside,
    }


def _report(result: dict[str, Any], *, as_json: bool) -> None:
    from crowdveil.cli.console import say, say_json, say_table, warn

    if as_json:
        say_json(result)
        return
    claims, objects = result["released_claims"], result["objects"]
    say(f"{claims:,} synthetic claims about {objects:,} objects ({result['method']})\n")
    say_table(["status", "objects"], [[name, f"{count:,}"] for name, count in result["statuses"].items()])
    say(f"\n{result['promise']['sentence']}")
    if result["clamped_claims"]:
        say(f"Claims outside the range, pulled into it: {result['clamped_claims']:,}")
    say(f"\nto publish   {result['out']}/public.html, claims.csv, claims.parquet, certificate.json")
    say(f"for you only {result['private_out']}/steward.html")
    if result["seeded"]:
        warn("drawn with --seed: this release is NOT PRIVATE")


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write.")] = Path("crowdveil-demo"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Release the bundled sample: 40 drugs, 120 patients, the severity of side effects (simulated).

    Example: crowdveil demo
    """
    from importlib.resources import as_file, files

    from crowdveil.cli.console import say
    from crowdveil.files import read_claims
    from crowdveil.release.priscrowd import PrisCrowd
    from crowdveil.release.result import Range
    from crowdveil.report.bundle import check_bundle

    check_bundle(out, force=force)
    with as_file(files("crowdveil") / "samples" / "side_effects.csv") as sample:
        claims = read_claims(str(sample), object="drug", user="patient", value="severity")
    if not as_json:
        say("crowdveil release side_effects.csv --object drug --user patient --value severity \\")
        say(f"    --range 0:10 --method priscrowd -o {out}\n")
    result = _release(claims, PrisCrowd(range=Range(0, 10)), out, seed=None, threads=None, force=force)
    _report(result, as_json=as_json)
