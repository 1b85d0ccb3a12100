"""`crowdveil serve`: campaigns over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        help="sqlite:////path or postgresql+psycopg://... (default: a file in the state folder). A "
        "password is better given in CROWDVEIL_DATABASE: a command line can be seen by others.",
        metavar="URL",
        show_default=False,
    ),
]


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (127.0.0.1).", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one (8000).", show_default=False)
    ] = None,
    database: DatabaseUrl = None,
    processes: Annotated[int | None, typer.Option(help="Server processes (1).", show_default=False)] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Three sample campaigns in which simulated people answer; nothing is kept."
        ),
    ] = False,
) -> None:
    """Run the service: campaigns in which people's own devices perturb what they say.

    Reports are on the disk before they are acknowledged, and counted once. Several servers can share one
    database; one of them does the background work. Everything can be set by the environment too:
    CROWDVEIL_HOST, CROWDVEIL_DATABASE and so on (docs/deploy.md). Logs are JSON on standard error.

    With --demo there are three sample campaigns, answered by simulated people through the real API, in a
    database that is gone afterwards; the address of the operator's page is printed.

    Example: crowdveil serve --demo
    """
    from crowdveil.cli.extras import needs_service

    needs_service()
    from pydantic import ValidationError

    from crowdveil.errors import ParameterError
    from crowdveil.service.run import run, run_demo
    from crowdveil.service.settings import Settings

    if demo and database is not None:
        raise ParameterError(
            "--demo has a database of its own, which is gone afterwards: leave out --database"
        )
    given = {"host": host, "port": port, "database": database, "processes": processes}
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        names = sorted({str(one["loc"][0]) for one in error.errors(include_input=False)})
        raise ParameterError(f"this cannot be the {' or '.join(names)} of a server") from None
    run_demo(settings) if demo else run(settings)
