"""`crowdveil explain`: what a certificate promises, in plain words."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crowdveil.cli.options import Json


def explain(
    certificate: Annotated[
        str, typer.Argument(help="certificate.json, or the folder of a release; - is standard input.")
    ],
    as_json: Json = False,
) -> None:
    """Say in plain words who is protected by a release, from whom, how strongly, and what is not promised.

    Example: crowdveil explain out/certificate.json
    """
    from crowdveil.cli.console import say_json
    from crowdveil.report import explanation

    explained = explanation.explain(certificate)
    if as_json:
        say_json(explained.to_dict())
    else:
        sys.stdout.write(explained.text())
