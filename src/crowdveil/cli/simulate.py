"""`crowdveil simulate`: the papers' simulated data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.options import Force, Json, parse_range
from crowdveil.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from crowdveil.answers import Domain

Out = Annotated[str, typer.Option("-o", "--out", help="CSV or .parquet; - is standard output.")]
TruthsOut = Annotated[str | None, typer.Option(help="Also write the truths here.", metavar="PATH")]
Users = Annotated[int, typer.Option(help="How many users.")]
Objects = Annotated[int, typer.Option(help="How many objects.")]
Share = Annotated[float, typer.Option(help="Share of the objects that each user makes claims about.")]
DataSeed = Annotated[int, typer.Option(help="Another seed, other data.")]

app = typer.Typer(help="The papers' simulated data, seeded.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    pass


@app.command("claims")
def claims(
    out: Out,
    truths: TruthsOut = None,
    users: Users = 30,
    objects: Objects = 50,
    unreliable: Annotated[float, typer.Option(help="Share of users who claim anything.")] = 0.3,
    share: Share = 1.0,
    seed: DataSeed = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """PrisCrowd's simulation: reliable users claim N(5, 0.5), unreliable ones U(0, 10).

    Example: crowdveil simulate claims --unreliable 0.2 -o claims.csv --truths truths.csv
    """
    from crowdveil.randomness import seeded
    from crowdveil.simulation.claims import SimulatedClaims

    simulation = SimulatedClaims(users=users, objects=objects, unreliable=unreliable, share=share)
    facts = {"unreliable": simulation.liars} if as_json else None
    _write(simulation.frame(rng=seeded(seed)), simulation.truths(), out, truths, force=force, facts=facts)


@app.command("sensing")
def sensing(
    out: Out,
    truths: TruthsOut = None,
    users: Users = 150,
    objects: Objects = 30,
    lambda1: Annotated[
        float, typer.Option(help="Rate of users' error variances: their mean is 1/lambda1.")
    ] = 1.0,
    share: Share = 1.0,
    seed: DataSeed = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The sensing paper's simulation: truths U(0, 10), users' errors normal with exponential variances.

    Example: crowdveil simulate sensing --lambda1 2 -o claims.csv --truths truths.csv
    """
    from crowdveil.randomness import seeded
    from crowdveil.simulation.sensing import SimulatedSensing

    simulation = SimulatedSensing(users=users, objects=objects, lambda1=lambda1, share=share)
    rng = seeded(seed)
    facts = {"lambda1": lambda1} if as_json else None
    _write(simulation.frame(rng=rng), simulation.truths(rng=rng), out, truths, force=force, facts=facts)


@app.command("sparse")
def sparse(
    out: Out,
    truths: TruthsOut = None,
    users: Users = 2000,
    objects: Objects = 200,
    sparsity: Annotated[float, typer.Option(help="Share of the cells without an answer.")] = 0.9,
    range: Annotated[
        str, typer.Option(help="Whole numbers that answers can be.", metavar="LOW:HIGH")
    ] = "0:9",
    wide: Annotated[
        bool, typer.Option("--wide", help="Truths anywhere in the range, not N(LOW, 1).")
    ] = False,
    lists: Annotated[
        bool, typer.Option("--lists", help="Also write all names, to objects.txt and users.txt beside it.")
    ] = False,
    seed: DataSeed = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The sparse paper's simulation: truths N(0, 1), users' sigma 1 or 5, most cells empty.

    Example: crowdveil simulate sparse --sparsity 0.5 -o answers.csv --truths truths.csv --lists
    """
    from crowdveil.files import check_new, keep_apart, whole_file
    from crowdveil.files.writing import STDOUT
    from crowdveil.randomness import seeded
    from crowdveil.simulation.sparse import SimulatedAnswers

    simulation = SimulatedAnswers(users, objects, sparsity, "wide" if wide else "paper", _domain(range))
    rng = seeded(seed)
    facts = {"users": users, "objects": objects, "sparsity": sparsity} if as_json else None
    if lists and out == STDOUT:
        raise ParameterError("--lists goes beside a file: add -o PATH")
    beside = [Path(out).parent / name for name in ("objects.txt", "users.txt")] if lists else []
    keep_apart([out, truths, *beside], {})
    for path in beside:
        check_new(path, force=force)
    for path, names in zip(beside, simulation.names(), strict=False):
        with whole_file(path, force=force) as draft:
            draft.write_text("\n".join(names) + "\n", encoding="utf-8")
    _write(simulation.frame(rng=rng), simulation.truth_frame(rng=rng), out, truths, force=force, facts=facts)


@app.command("records")
def records(
    out: Out,
    schema: Annotated[
        Path | None, typer.Option(help="Also write the schema here, JSON or YAML.", metavar="PATH")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many people.")] = 10_000,
    columns: Annotated[int, typer.Option(help="How many columns.")] = 8,
    values: Annotated[int, typer.Option(help="Values of each column.")] = 5,
    dependence: Annotated[
        float, typer.Option(help="Chance that a value is the one typical of a person's class.")
    ] = 0.5,
    classes: Annotated[int, typer.Option(help="Hidden classes of people.")] = 4,
    seed: DataSeed = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Records whose dependence is known: people of hidden classes, each with values typical of it.

    Example: crowdveil simulate records --rows 5000 -o records.csv --schema schema.json
    """
    from crowdveil.cli.console import say_json
    from crowdveil.files import check_new, keep_apart, write_records, write_schema
    from crowdveil.files.writing import STDOUT
    from crowdveil.randomness import seeded
    from crowdveil.simulation.records import SimulatedRecords

    simulation = SimulatedRecords(rows, columns, values, dependence, classes)
    if as_json and out == STDOUT:
        raise ParameterError("--json and a table on standard output exclude each other")
    if schema is not None and str(schema) == STDOUT:
        raise ParameterError("records and their schema need files of their own")
    keep_apart([out, schema], {})
    if out != STDOUT:
        check_new(Path(out), force=force)
    simulated = simulation.records(rng=seeded(seed))
    if schema is not None:
        write_schema(simulated.schema, schema, force=force)
    write_records(simulated, out, force=force)
    if as_json:
        places = {"out": out, "schema": None if schema is None else str(schema)}
        facts = {"rows": rows, "columns": columns, "values": values}
        say_json({**places, **facts, "dependence": dependence, "classes": classes})


def _domain(text: str) -> Domain:
    """LOW:HIGH as a domain of whole numbers."""
    from crowdveil.answers import Domain

    limits = parse_range(text)
    assert limits is not None
    if not (limits.low.is_integer() and limits.high.is_integer()):
        raise ParameterError(f"--range takes two whole numbers, like 0:9, not {text!r}")
    return Domain(int(limits.low), int(limits.high))


def _write(
    claims: pl.DataFrame,
    truths: pl.DataFrame,
    out: str,
    truths_out: str | None,
    *,
    force: bool,
    facts: dict[str, Any] | None,
) -> None:
    """Write both tables if their places are free; print the places and `facts`, if given, as JSON."""
    from crowdveil.cli.console import say_json
    from crowdveil.files import check_new, keep_apart, write_table
    from crowdveil.files.writing import STDOUT

    if facts is not None and STDOUT in (out, truths_out):
        raise ParameterError("--json and a table on standard output exclude each other")
    if truths_out == out == STDOUT:
        raise ParameterError("claims and truths need files of their own")
    keep_apart([out, truths_out], {})
    for path in (out, truths_out):
        if path not in (None, STDOUT):
            check_new(Path(str(path)), force=force)
    write_table(claims, out, force=force)
    if truths_out is not None:
        write_table(truths, truths_out, force=force)
    if facts is not None:
        say_json({"out": out, "truths": truths_out, "claims": claims.height, **facts})
