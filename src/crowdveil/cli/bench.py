"""`crowdveil bench`: ours against peers, and against what is promised."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.options import Json
from crowdveil.errors import InputError, ParameterError


def bench(
    name: Annotated[str | None, typer.Argument(help="A benchmark; without one all of them.")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Runs of each contestant [5; slow ones 3; quick 1].")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: to see that it works, the figures mean little.")
    ] = False,
    without_peers: Annotated[
        bool, typer.Option("--without-peers", help="Ours alone; nothing is installed.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Folder for NAME.json and NAME.svg [./bench-results; quick: none].",
            metavar="FOLDER",
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1 when a bar is missed.")] = False,
    as_json: Json = False,
) -> None:
    """Measure releases, noise and start-up against peers and against stated bars.

    Runs from a source checkout. Peers are installed once, each into an environment of its own in your cache
    folder. Exit code 1 also when a contestant fails or answers wrongly.

    Example: crowdveil bench noise --quick
    """
    from crowdveil.cli.console import say_json, warn

    if repeats is not None and repeats < 1:
        raise ParameterError(f"repeats must be at least 1, not {repeats}")
    root = checkout(Path(__file__).parents[3], Path.cwd())
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    import_module("crowdveil.report.plots")  # first: it says what to install where matplotlib is missing
    registry, harness = import_module("benchmarks.registry"), import_module("benchmarks.harness")
    chosen = registry.named(name)
    settings = harness.Settings(repeats, quick, not without_peers, say=warn)
    folder = out or (None if quick else Path("bench-results"))
    all_results = []
    for benchmark in chosen:
        results = registry.run(benchmark, settings, folder)
        if not as_json:
            _show(results)
        all_results.append(results)
    if as_json:
        say_json({"benchmarks": all_results})
    if any(results["failures"] or (check and results["missed"]) for results in all_results):
        raise typer.Exit(1)


def checkout(*places: Path) -> Path:
    """The first of these that is a source checkout: where the package is installed from, where we stand."""
    for root in places:
        if (root / "benchmarks" / "harness.py").is_file():
            return root
    raise InputError("benchmarks come with the source checkout: run this from its folder")


def _show(results: dict[str, Any]) -> None:
    from crowdveil.cli.console import say, say_table

    machine = results["machine"]
    say(f"{results['benchmark']}: {results['title']}{' (quick)' if results['quick'] else ''}")
    say(f"on {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}\n")
    header = ["contestant", "seconds", "least", "most", "CPU seconds", "peak MB", "times", "scaled from"]
    for work in results["works"]:
        if work["contestants"]:
            say(f"{work['name']} ({work['size']})")
            say_table(header, [_row(contestant) for contestant in work["contestants"]])
            say("")
    for failure in results["failures"]:
        say(f"FAILED {failure}")
    say_table(["bar", "required", "measured", "met"], [_bar(bar) for bar in results["bars"]])
    say("")


def _row(contestant: dict[str, Any]) -> list[str]:
    if contestant["error"] is not None or contestant["seconds"] is None:
        return [contestant["name"], "failed", "", "", "", "", "", ""]
    seconds = [f"{contestant['seconds'][which]:.4g}" for which in ("median", "min", "max")]
    ratio = "" if contestant["ratio"] is None else f"{contestant['ratio']:.3g}"
    cpu_seconds = f"{contestant['cpu_seconds']['median']:.4g}"
    peak_megabytes = f"{contestant['peak_bytes']['median'] / 1e6:.0f}"
    return [contestant["name"], *seconds, cpu_seconds, peak_megabytes, ratio, contestant["scaled_from"] or ""]


def _bar(bar: dict[str, Any]) -> list[str]:
    def figure(value: float) -> str:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"

    required = [
        f"{word} {figure(bar[key])}"
        for word, key in ((">=", "at_least"), ("<=", "at_most"))
        if bar[key] is not None
    ]
    measured = (
        "not measured" if bar["measured"] is None else f"{figure(bar['measured'])} {bar['unit']}".rstrip()
    )
    met = {True: "yes", False: "NO", None: ""}[bar["met"]]
    return [bar["what"], " ".join(required), measured, met]
