"""What docs/guarantees/records.md prints is what its own code prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from crowdveil.audit.registry import AUDITS

PAGES = Path(__file__).parents[2] / "docs" / "guarantees"


def test_the_code_on_the_page_of_records_prints_its_table() -> None:
    page = (PAGES / "records.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for code in blocks:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) > 1
        assert done.stdout in page


def test_both_pages_tell_the_same_of_audits_of_records() -> None:
    """Figures of `crowdveil audit --all --seed 1`."""
    records, audits = ((PAGES / name).read_text() for name in ("records.md", "audits.md"))
    told = dict(re.findall(r"^\| `([a-z-]+)` .*\| ε ([\d.]+) \| 100,000 \|", audits, re.MULTILINE))
    names = [name for name, audit in AUDITS.items() if audit.unit == "a record, local"]
    assert names
    for name in names:
        assert re.search(rf"`{name}`[^`]*: (measured at least )?{re.escape(told[name])}\b", records), name
