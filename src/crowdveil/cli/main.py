"""`crowdveil`: the commands, and what becomes of errors.

Exit codes: 0 done, 2 bad input or usage (one line), 1 a bug, 130 on Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from crowdveil.cli import (
    audit,
    bench,
    discover,
    evaluate,
    explain,
    ledger,
    operator,
    perturb,
    plan,
    release,
    reproduce,
    send,
    serve,
    simulate,
    synthesize,
)
from crowdveil.errors import CrowdveilError
from crowdveil.version import __version__

app = typer.Typer(
    name="crowdveil",
    help="Collect, combine and publish crowdsourced data without giving anybody away.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"crowdveil {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


app.command("demo")(release.demo)
app.command("release")(release.release)
app.command("evaluate")(evaluate.evaluate)
app.command("perturb")(perturb.perturb)
app.command("discover")(discover.discover)
app.command("synthesize")(synthesize.synthesize)
app.command("explain")(explain.explain)
app.command("ledger")(ledger.ledger)
app.command("audit")(audit.audit)
app.command("reproduce")(reproduce.reproduce)
app.command("bench")(bench.bench)
app.command("send")(send.send)
app.command("serve")(serve.serve)
app.add_typer(operator.app, name="operator")
app.add_typer(plan.app, name="plan")
app.add_typer(simulate.app, name="simulate")


def main() -> NoReturn:
    """The entry point."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        code = app(standalone_mode=False, prog_name="crowdveil")
    except TyperException as error:
        where = getattr(error, "ctx", None)
        command = where.command_path if where else "crowdveil"
        code = _complain(f"{error.format_message()} (see {command} --help)", error.exit_code)
    except CrowdveilError as error:
        code = _complain(str(error), 2)
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        # Drafts are removed by now; a loop that still runs in a thread is not worth waiting for.
        os._exit(code)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"crowdveil: error: {line}\n")
    return code


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
