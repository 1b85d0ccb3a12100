"""`crowdveil perturb`: claims, or answers, as people's own devices would send them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.ledger import Budget, Dataset, LedgerFile
from crowdveil.cli.options import Force, Json, ObjectColumn, Seed, UserColumn, ValueColumn, parse_range
from crowdveil.cli.perturb_parameters import (
    Noise,
    check_options,
    for_cells,
    of_cells,
    of_claims,
    whole_domain,
)
from crowdveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from crowdveil.claims import Claims
    from crowdveil.guarantee import Promise
    from crowdveil.ledger import Charge, Ledger
    from crowdveil.local.described import Description
    from crowdveil.public_range import Range


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
        Noise, typer.Option(help="laplace, gaussian-exponential: noise on claims; others: every cell.")
    ] = Noise.laplace,
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
    from crowdveil.cli.console import announce_compiling, say, say_json
    from crowdveil.files.writing import STDOUT

    if as_json and out == STDOUT:
        raise ParameterError("--json and noisy claims on standard output exclude each other: add -o PATH")
    given = {
        **{"lambda2": lambda2, "variance_per_user": variance_per_user, "floor": floor, "delta": delta},
        **{"resolution": resolution, "objects": objects, "users": users, "sparsity": sparsity},
        **{"null": null, "dimensions": dimensions, "ridge": ridge},
    }
    check_options(mechanism, given)
    limits = parse_range(range)
    assert limits is not None
    columns = {"object": object, "user": user, "value": value}
    asked = _Asked(
        *(claims, out, mechanism, epsilon, limits, given, columns, seed, force, ledger, dataset, budget)
    )
    announce_compiling()
    told = _report_cells(asked) if of_cells(mechanism) else _perturb_claims(asked)
    if as_json:
        say_json(told)
    elif out != STDOUT:
        for line in _lines(told):
            say(line)


@dataclass(frozen=True)
class _Asked:
    """What the command was asked for."""

    source: str
    out: str
    mechanism: Noise
    epsilon: float | None
    limits: Range
    given: dict[str, Any]
    columns: dict[str, str | None]
    seed: int | None
    force: bool
    ledger: Path | None
    dataset: str | None
    budget: float | None

    def read(self) -> Claims:
        """The raw claims, and all that is wrong with the file."""
        from crowdveil.files import read_cell_reports, read_claims, read_description

        if read_cell_reports(self.source) is not None:
            raise InputError(f"{self.source}: these are reports already")
        table = read_claims(self.source, **self.columns)
        if read_description(self.source) is not None:
            raise InputError(f"{self.source}: these claims are noisy already")
        return table

    def charge(self, promise: Promise, description: Description) -> tuple[Ledger, Charge]:
        """Pay before anything is drawn."""
        from crowdveil.ledger import Ledger, dataset_key, default_path

        book = Ledger(self.ledger or default_path())
        paid = book.charge(
            dataset_key(self.dataset, self.source),
            promise,
            method=f"perturb {description.mechanism}",
            seeded=self.seed is not None,
            budget=self.budget,
        )
        return book, paid


def _perturb_claims(asked: _Asked) -> dict[str, Any]:
    """Noise on each claim that was made."""
    from crowdveil import local
    from crowdveil.cli.console import randomness
    from crowdveil.files import check_reports, write_reports

    description = of_claims(asked.mechanism, asked.epsilon, asked.limits, asked.given)
    parameters = description.build()
    check_reports(asked.out, force=asked.force)
    table = asked.read()
    book, paid = asked.charge(parameters.claim_level(), description)
    made = local.perturb(table, parameters, rng=randomness(asked.seed))
    write_reports(made, description, asked.out, force=asked.force)
    book.completed(paid)
    return {
        "out": asked.out,
        "mechanism": description.mechanism,
        "parameters": dict(description.parameters),
        "claims": len(made.claims),
        "users": len(made.claims.users),
        "for_your_eyes": {"clamped": made.clamped},
        "noise_deviation": made.law.variance**0.5,
        "private": not made.seeded,
        "promise": made.promise.to_dict(),
        "user_promise": made.user_promise.to_dict(),
    }


def _report_cells(asked: _Asked) -> dict[str, Any]:
    """A report about every cell, whether there is an answer or not."""
    from crowdveil.answers import Answers
    from crowdveil.cli.console import randomness, warn
    from crowdveil.files import check_cell_reports, read_names, write_cell_reports
    from crowdveil.local.factorization import Factorization
    from crowdveil.local.reports import promised, report

    domain = whole_domain(asked.limits)
    check_cell_reports(asked.out, force=asked.force)
    lists = {name: asked.given[name] and read_names(asked.given[name]) for name in ("objects", "users")}
    answers = Answers.from_claims(asked.read(), domain, **lists)
    size = {"users": len(answers.users), "objects": len(answers.objects)}
    description = for_cells(asked.mechanism, asked.epsilon, domain, asked.given, **size)
    mechanism = description.build_for_cells()
    whole = asked.mechanism is Noise.slots
    promise = mechanism.user_level(size["objects"]) if whole else mechanism.cell_level()
    if isinstance(mechanism, Factorization):
        mechanism.check(answers)  # nothing is spent on what would be refused
    book, paid = asked.charge(promised(promise, declared=answers.declared), description)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        made = report(answers, mechanism, rng=randomness(asked.seed))
    for message in sorted({str(each.message) for each in raised}):
        warn(message)
    write_cell_reports(made, description, asked.out, force=asked.force)
    book.completed(paid)
    if not made.declared:
        warn(
            "objects and users were read off the claims, so that each of them has an answer is not hidden: "
            "list them all with --objects and --users"
        )
    return {
        "out": asked.out,
        "mechanism": description.mechanism,
        "parameters": dict(description.parameters),
        **size,
        "bytes": int(made.rows.nbytes),
        "for_your_eyes": {"clamped": answers.moved},
        "declared": made.declared,
        "private": not made.seeded,
        "promise": made.promise.to_dict(),
        "user_promise": made.user_promise.to_dict(),
    }


def _lines(told: dict[str, Any]) -> list[str]:
    moved = told["for_your_eyes"]["clamped"]
    if "claims" in told:
        unit, clamped = (
            "claim",
            f", {moved} of them clamped to the range" if moved else "",
        )
        lines = [
            f"{told['claims']} noisy claims of {told['users']} users in {told['out']}{clamped}",
            f"standard deviation of the noise {told['noise_deviation']:.4g}",
        ]
    else:
        unit, clamped = "cell", f" ({moved} answers moved to the scale)" if moved else ""
        shown = ", ".join(f"{name} {value}" for name, value in told["parameters"].items() if name != "range")
        lines = [
            f"reports of {told['users']} users about {told['objects']} objects in {told['out']}{clamped}",
            f"{told['mechanism']}: {shown}",
        ]
    lines += [
        f"each {unit}: {told['promise']['sentence']}",
        f"each user:  {told['user_promise']['sentence']}",
        HOLDER,
    ]
    if not told["private"]:
        lines.insert(0, "NOT PRIVATE: drawn from a fixed seed")
    return lines
