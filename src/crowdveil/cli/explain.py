"""`crowdveil explain`: what a certificate promises, in plain words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.options import Json


def explain(
    certificate: Annotated[
        str, typer.Argument(help="The folder of a release, or certificate.json; - is standard input.")
    ],
    key: Annotated[
        Path | None,
        typer.Option(help="The publisher's public key, which must have signed it.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say in plain words who is protected by a release, from whom, how strongly, and what is not promised.

    What was edited is refused: a certificate whose signature or numbers are wrong, and in a folder a file
    that is not the one that was published.

    Example: crowdveil explain out/certificate.json
    """
    from crowdveil.cli.console import say_json
    from crowdveil.report import explanation

    explained = explanation.explain(certificate, key)
    if as_json:
        say_json(explained.to_dict())
    else:
        sys.stdout.write(explained.text())
