"""`crowdveil perturb`: claims as people's own devices would send them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile
from crowdveil.cli.options import Force, Json, ObjectColumn, Seed, UserColumn, ValueColumn, parse_range
from crowdveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from crowdveil.local.described import Description
    from crowdveil.local.perturbed import Perturbed


HOLDER = "This holds against whoever sees that file alone: whoever ran this had the raw claims."


class Noise(StrEnum):
    """Names of mechanisms."""

    laplace = "laplace"
    gaussian_exponential = "gaussian-exponential"


def perturb(
    claims: Annotated[str, typer.Argument(help="CSV or Parquet; - is standard input.")],
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", help="Noisy claims: CSV or .parquet; - is standard output.", metavar="PATH"
        ),
    ],
    range: Annotated[str, typer.Option(help="Public range of values.", metavar="LOW:HIGH")],
    mechanism: Annotated[Noise, typer.Option(help="Which noise.")] = Noise.laplace,
    epsilon: Annotated[float | None, typer.Option(help="How strong, for each claim.")] = None,
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
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    budget: Budget = None,
    object: ObjectColumn = None,
    user: UserColumn = None,
    value: ValueColumn = None,
    seed: Seed = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Add noise to every claim, as its user's own device would before sending it.

    Claims are clamped to the range and rounded; the file says how it was made, so that `discover` can make
    the best of it. Whoever runs this holds the raw claims: in a campaign, devices do it themselves.

    Example: crowdveil perturb claims.csv -o noisy.parquet --epsilon 1 --range 0:10
    """
    from crowdveil import local
    from crowdveil.cli.console import announce_compiling, randomness, say, say_json
    from crowdveil.files import check_reports, read_claims, read_description, write_reports
    from crowdveil.files.writing import STDOUT
    from crowdveil.ledger import Ledger, dataset_key, default_path

    if as_json and out == STDOUT:
        raise ParameterError("--json and noisy claims on standard output exclude each other: add -o PATH")
    description = _described(mechanism, epsilon, lambda2, variance_per_user, floor, delta, range, resolution)
    parameters = description.build()
    check_reports(out, force=force)
    announce_compiling()
    table = read_claims(claims, object=object, user=user, value=value)  # and all that is wrong with the file
    if read_description(claims) is not None:
        raise InputError(f"{claims}: these claims are noisy already")
    book = Ledger(ledger or default_path())
    charge = book.charge(
        dataset_key(dataset, claims),
        parameters.claim_level(),
        method=f"perturb {description.mechanism}",
        seeded=seed is not None,
        budget=budget,
    )
    made = local.perturb(table, parameters, rng=randomness(seed))
    write_reports(made, description, out, force=force)
    book.completed(charge)
    told = _told(made, description, out)
    if as_json:
        say_json(told)
    elif out != STDOUT:
        for line in _lines(told):
            say(line)


def _described(
    mechanism: Noise,
    epsilon: float | None,
    lambda2: float | None,
    variance_per_user: bool,
    floor: float | None,
    delta: float | None,
    range_text: str,
    resolution: float | None,
) -> Description:
    """The mechanism that the options name; what does not go together is refused."""
    from crowdveil.local.described import Description

    limits = parse_range(range_text)
    assert limits is not None
    public: dict[str, Any] = {"range": [limits.low, limits.high]}
    if resolution is not None:
        public["resolution"] = resolution
    if mechanism is Noise.laplace:
        if lambda2 is not None or variance_per_user or floor is not None or delta is not None:
            raise ParameterError(
                "--lambda2, --variance-per-user, --floor and --delta go with --mechanism gaussian-exponential"
            )
        if epsilon is None:
            raise ParameterError("how strong? Add --epsilon E")
        return Description("laplace", {"epsilon": epsilon, **public})
    if (epsilon is None) == (lambda2 is None) or (variance_per_user and lambda2 is None):
        raise ParameterError(
            "--variance-per-user needs --lambda2 (crowdveil plan sensing finds it)"
            if variance_per_user
            else "--mechanism gaussian-exponential takes either --epsilon or --lambda2"
        )
    if not variance_per_user:
        if floor is not None or delta is not None:
            raise ParameterError("--floor and --delta go with --variance-per-user")
        strength = {"rate": lambda2} if epsilon is None else {"epsilon": epsilon}
        return Description("gaussian-exponential", {**strength, **public})
    if delta is not None and floor is None:
        raise ParameterError("--delta goes with --floor: without one the promise is told at epsilon = 1")
    rest = {name: given for name, given in (("floor", floor), ("delta", delta)) if given is not None}
    return Description("gaussian-exponential-per-user", {"rate": lambda2, **public, **rest})


def _told(made: Perturbed, description: Description, out: str) -> dict[str, Any]:
    return {
        "out": out,
        "mechanism": description.mechanism,
        "parameters": dict(description.parameters),
        "claims": len(made.claims),
        "users": len(made.claims.users),
        "clamped": made.clamped,
        "noise_deviation": made.law.variance**0.5,
        "private": not made.seeded,
        "promise": made.promise.to_dict(),
        "user_promise": made.user_promise.to_dict(),
    }


def _lines(told: dict[str, Any]) -> list[str]:
    clamped = f", {told['clamped']} of them clamped to the range" if told["clamped"] else ""
    lines = [
        f"{told['claims']} noisy claims of {told['users']} users in {told['out']}{clamped}",
        f"standard deviation of the noise {told['noise_deviation']:.4g}",
        f"each claim: {told['promise']['sentence']}",
        f"each user:  {told['user_promise']['sentence']}",
        HOLDER,
    ]
    if not told["private"]:
        lines.insert(0, "NOT PRIVATE: drawn from a fixed seed")
    return lines
