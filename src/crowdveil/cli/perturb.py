"""`crowdveil perturb`: claims, or answers, as people's own devices would send them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile, account_of
from crowdveil.cli.options import (
    EngineName,
    Force,
    Json,
    Master,
    Memory,
    ObjectColumn,
    Seed,
    Threads,
    UserColumn,
    ValueColumn,
    parse_range,
)
from crowdveil.errors import ParameterError
from crowdveil.local.registry import MECHANISMS

if TYPE_CHECKING:
    Mechanism = str
else:
    Mechanism = StrEnum("Mechanism", {name: name for name in MECHANISMS})
LAPLACE = Mechanism("laplace")

HOLDER = "This holds against whoever sees that file alone: whoever ran this had the raw claims."


def perturb(
    claims: Annotated[str, typer.Argument(help="CSV or Parquet; - is standard input.")],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            help="Noisy claims: CSV or .parquet, - is standard output; reports about every cell: .parquet.",
            metavar="PATH",
        ),
    ],
    range: Annotated[
        str, typer.Option(help="Public range of values; every cell: whole numbers.", metavar="LOW:HIGH")
    ],
    mechanism: Annotated[
        Mechanism,
        typer.Option(help="laplace, gaussian-exponential(-per-user): noise on claims; others: every cell."),
    ] = LAPLACE,
    epsilon: Annotated[
        float | None, typer.Option(help="How strong, for each claim or cell (slots: for each user).")
    ] = None,
    lambda2: Annotated[
        float | None, typer.Option(help="gaussian-exponential: the rate of variances, in place of epsilon.")
    ] = None,
    variance_per_user: Annotated[
        bool,
        typer.Option("--variance-per-user", help="gaussian-exponential: one variance for a user's claims."),
    ] = False,
    floor: Annotated[float | None, typer.Option(help="--variance-per-user: the least variance.")] = None,
    delta: Annotated[float | None, typer.Option(help="--floor: the delta to promise (1e-6).")] = None,
    resolution: Annotated[
        float | None, typer.Option(help="Claims are rounded to it (default: a thousandth of the range).")
    ] = None,
    objects: Annotated[
        Path | None, typer.Option(help="Every cell: file with the names of all objects, one in a line.")
    ] = None,
    users: Annotated[
        Path | None, typer.Option(help="Every cell: file with the names of all users, one in a line.")
    ] = None,
    sparsity: Annotated[
        float | None, typer.Option(help="auto, slots: the share of cells without an answer that you expect.")
    ] = None,
    null: Annotated[
        int | None, typer.Option(help="lp: the answer in place of none (default: a random one).")
    ] = None,
    dimensions: Annotated[int | None, typer.Option(help="mf, mf-sound: of profiles (1).")] = None,
    ridge: Annotated[float | None, typer.Option(help="mf, mf-sound: pulls profiles to zero.")] = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    budget: Budget = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    seed: Seed = None,
    engine: EngineName = "local",
    master: Master = None,
    threads: Threads = None,
    memory: Memory = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Randomize what people said, as each one's own device would before sending it.

    laplace and gaussian-exponential add noise to the claims that were made; who made claims about what shows.
    The others report about every cell (a user and an object), so that nobody learns who answered about what
    either: auto chooses from epsilon, range and expected sparsity; slots protects all of a user's answers
    with one epsilon. The file says how it was made, so that `discover` can make the best of it. Whoever runs
    this holds the raw claims: in a campaign, devices do it themselves.

    Example: crowdveil perturb claims.csv -o noisy.parquet --epsilon 1 --range 0:10
    """
    from crowdveil.cli.console import announce_compiling, say, say_json, warn, warn_outside, working_on
    from crowdveil.files.writing import STDOUT
    from crowdveil.operations.perturb import NoisyClaims, Request
    from crowdveil.operations.perturb import perturb as perturb_file

    if as_json and out == STDOUT:
        raise ParameterError("--json and noisy claims on standard output exclude each other: add -o PATH")
    options = {
        **{"lambda2": lambda2, "variance_per_user": variance_per_user, "floor": floor, "delta": delta},
        **{"resolution": resolution, "sparsity": sparsity},
        **{"null": null, "dimensions": dimensions, "ridge": ridge},
    }
    limits = parse_range(range)
    assert limits is not None
    columns = {"object": object, "user": user, "value": value}
    request = Request(claims, str(mechanism), limits, epsilon, options, objects, users, columns, seed)
    account = account_of(ledger, dataset, claims, budget)
    announce_compiling()
    bar = not (out == STDOUT and sys.stdout.isatty())
    with working_on(engine, master, threads, memory, bar=bar, bounded=True) as chosen:
        result = perturb_file(request, account, out, force=force, engine=chosen)
    for message in result.warnings:
        warn(message)
    if isinstance(result, NoisyClaims):
        warn_outside(result.perturbed.clamped, len(result.perturbed.claims))
    else:
        warn_outside(result.moved, result.answered, "are not on the scale and count as its nearest value")
    if as_json:
        say_json(result.to_dict())
    else:
        tell = warn if out == STDOUT else say
        for line in _lines(result.to_dict()):
            tell(line)


def _lines(result: dict[str, Any]) -> list[str]:
    """What is said about a result."""
    from crowdveil.files.writing import STDOUT

    where = "standard output" if result["out"] == STDOUT else result["out"]
    assumed = result["promise"].get("assumptions", ())
    if "claims" in result:
        unit = "claim"
        lines = [
            f"{result['claims']} noisy claims of {result['users']} users in {where}",
            f"standard deviation of the noise {result['noise_deviation']:.4g}",
        ]
    else:
        unit = "cell"
        shown = ", ".join(
            f"{name} {value}" for name, value in result["parameters"].items() if name != "range"
        )
        lines = [
            f"reports of {result['users']} users about {result['objects']} objects in {where}",
            f"{result['mechanism']}: {shown}",
        ]
    lines += [
        f"each {unit}: {result['promise']['sentence']}",
        f"each user:  {result['user_promise']['sentence']}",
        *([f"It rests on this: {'; '.join(assumed)}."] if assumed else []),
        HOLDER,
    ]
    if not result["private"]:
        lines.insert(0, "NOT PRIVATE: drawn from a fixed seed")
    return lines
