"""`crowdveil ledger`: what was spent on each dataset, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdveil.cli.options import Json
from crowdveil.errors import InputError

if TYPE_CHECKING:
    from crowdveil.ledger import Charge, Ledger, Total
    from crowdveil.operations.spending import Account

LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger (default: in your state folder).", metavar="FILE"),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="Name of the data (default: the input's path).", metavar="NAME"),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget", help="The most epsilon to spend on the data; the first one stands.", metavar="E"
    ),
]


def account_of(file: Path | None, dataset: str | None, source: str, budget: float | None) -> Account:
    """Where an operation on the data in `source` is charged; a name that is nearly on record is told."""
    from crowdveil.cli.console import warn
    from crowdveil.ledger import Ledger, dataset_key, default_path
    from crowdveil.operations.spending import Account

    account = Account(Ledger(file or default_path()), dataset_key(dataset, source), budget)
    alike = account.ledger.named_alike(account.dataset)
    if alike is not None:
        warn(
            f"the ledger knows {alike!r}, and {account.dataset!r} has an account of its own: if these are "
            f"the same data, use one name (--dataset {alike!r})"
        )
    return account


def ledger(
    file: LedgerFile = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Show this dataset only.", metavar="NAME")
    ] = None,
    export_key: Annotated[
        Path | None,
        typer.Option(
            "--export-key",
            help="Write the public key of what you publish, and show its fingerprint.",
            metavar="FILE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was spent on each dataset, its budget and what is left, and every entry.

    With --export-key: write the public half of the key that signs releases, for `crowdveil explain --key`.

    Example: crowdveil ledger --dataset side-effects
    """
    from crowdveil.cli.console import say_json
    from crowdveil.ledger import Ledger, default_path

    if file is not None and not file.exists():
        raise InputError(f"{file}: there is no such ledger")
    book = Ledger(file or default_path())
    if export_key is not None:
        _export(book, export_key, as_json=as_json)
        return
    totals, entries = book.statement(dataset)
    if as_json:
        say_json(
            {
                "ledger": str(book.path),
                "datasets": [total.to_dict() for total in totals],
                "entries": [entry.to_dict() for entry in entries],
            }
        )
        return
    _show(book.path, dataset, totals, entries)


def _export(book: Ledger, out: Path, *, as_json: bool) -> None:
    from crowdveil.cli.console import say, say_json
    from crowdveil.files import keep_apart
    from crowdveil.files.public_keys import write_public_key

    keep_apart([out], {}, ledger=book.path)
    key = book.key().public
    write_public_key(key, out)
    if as_json:
        say_json({"ledger": str(book.path), "out": str(out), "fingerprint": key.fingerprint})
        return
    say(f"The public key of {book.path} is in {out}. Its fingerprint, for whoever compares it:")
    say(key.fingerprint)


def _show(path: Path, dataset: str | None, totals: list[Total], entries: list[Charge]) -> None:
    from crowdveil.cli.console import say, say_table

    say(f"Ledger {path}\n")
    if not entries:
        say("Nothing is recorded yet." if dataset is None else f"Nothing is recorded about {dataset!r}.")
        return
    header = ["dataset", "protects", "epsilon spent", "delta spent", "budget", "left"]
    say_table(header, [row for total in totals for row in _total_rows(total)])
    say("")
    remarks = [remark for total in totals for remark in _remarks(total)]
    remarks += _about_rows(totals)
    for remark in remarks:
        say(remark)
    if remarks:
        say("")
    say_table(["time (UTC)", "dataset", "method", "epsilon", "delta", "privacy", "status"], _rows(entries))


def _total_rows(total: Total) -> list[list[str]]:
    """A row for each scope, in each of which every release counts; the rows cannot be added."""
    from crowdveil.ledger import plain

    if total.without_guarantee:
        return [[total.dataset, "nobody", "unbounded", "unbounded", "none", "-"]]
    rows = []
    for spending in total.spent:
        counted = total.budget is not None and total.budget.scope == spending.scope
        budget = plain(total.budget.epsilon) if total.budget and counted else "none"
        left = plain(total.left) if total.left is not None and counted else "-"
        delta = plain(spending.delta) if spending.bounded else "not bounded"
        rows.append([total.dataset, str(spending.scope), spending.in_words(), delta, budget, left])
    return rows or [[total.dataset, "-", "0", "0", "none", "-"]]


def _remarks(total: Total) -> list[str]:
    from crowdveil.ledger import LARGE_DELTA, plain

    remarks = []
    if total.without_guarantee:
        remarks.append(
            f"{total.dataset}: releases without a differential privacy guarantee: {total.without_guarantee}. "
            "No epsilon bounds what was given away."
        )
    elif any(spending.delta >= 1 for spending in total.spent):
        remarks.append(f"{total.dataset}: deltas add up to 1 or more. Nothing is promised there any longer.")
    else:
        remarks += [
            f"{total.dataset}: deltas for {spending.scope} add up to {plain(spending.delta)}. With up to "
            "that probability epsilon bounds nothing: this is nearly no guarantee."
            for spending in total.spent
            if spending.bounded and spending.delta > LARGE_DELTA
        ]
    if not total.without_guarantee and any(spending.not_bounded for spending in total.spent):
        remarks.append(f"{total.dataset}: where a total is not bounded, some release promises nothing there.")
    if total.seeded:
        remarks.append(
            f"{total.dataset}: seeded runs: {total.seeded}. They are NOT PRIVATE: do not publish them."
        )
    if total.not_released:
        remarks.append(
            f"{total.dataset}: charges whose release was not written: {total.not_released}. "
            "They stay charged: noise may have been drawn."
        )
    return remarks


def _about_rows(totals: list[Total]) -> list[str]:
    """What to know about the rows of users and of add-remove, and about rows beside each other."""
    shown = [spending for total in totals if not total.without_guarantee for spending in total.spent]
    remarks = []
    if any(spending.bounded and spending.per_claim for spending in shown):
        remarks.append("k is the number of claims of a user, on which no public bound is on record.")
    if any(spending.scope.unit == "user" for spending in shown):
        remarks.append("A user is a name: a person with two names is two users.")
    if any(spending.scope.adjacency == "add-remove" for spending in shown):
        remarks.append(
            "add-remove is about whether a claim or a user is there. What it says is hidden less well, by "
            "up to twice the epsilon: see the row of replace-one."
        )
    if any(len(total.spent) > 1 for total in totals):
        remarks.append("Every release counts in each row of its dataset, by what it costs there.")
    return remarks


def _rows(entries: list[Charge]) -> list[list[str]]:
    from crowdveil.ledger import plain

    return [
        [
            entry.time.removesuffix("+00:00").replace("T", " "),
            entry.dataset,
            entry.method,
            "-" if entry.epsilon is None else plain(entry.epsilon),
            "-" if entry.delta is None else plain(entry.delta),
            entry.privacy,
            entry.status,
        ]
        for entry in entries
    ]
