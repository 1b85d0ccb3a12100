"""Writes docs/cli.md from the commands' own help; `--check` only says whether it is current."""

import io
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path

from crowdveil.cli.main import app

COMMANDS = [
    "demo",
    "release",
    "evaluate",
    "perturb",
    "discover",
    "synthesize",
    "explain",
    "ledger",
    "serve",
    "operator add",
    "operator token",
    "operator password",
    "operator list",
    "operator remove",
    "send",
    "audit",
    "bench",
    "plan release",
    "plan sensing",
    "plan sparse",
    "plan records",
    "simulate claims",
    "simulate sensing",
    "simulate sparse",
    "simulate records",
    "reproduce",
]
PAGE = Path(__file__).with_name("cli.md")


def page() -> str:
    """The whole page."""
    parts = ["# Commands\n\nMade from `--help`; see CONTRIBUTING.md.\n"]
    for command in COMMANDS:
        text = io.StringIO()
        with redirect_stdout(text), suppress(SystemExit):
            app(
                [*command.split(), "--help"], prog_name="crowdveil", terminal_width=100, max_content_width=100
            )
        lines = "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())
        parts.append(f"\n## crowdveil {command}\n\n```text\n{lines}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text(encoding="utf-8") == page() else "docs/cli.md is old: python docs/make_cli.py"
        )
    PAGE.write_text(page(), encoding="utf-8")
