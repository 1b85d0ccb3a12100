"""Whatever a registry names has its page and is attacked: a new method that lacks either fails here."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest

from crowdveil.audit.registry import AUDITS
from crowdveil.local.oracle_registry import ORACLES
from crowdveil.local.registry import MECHANISMS
from crowdveil.releases.registry import RELEASES
from crowdveil.synthesis.registry import METHODS as SYNTHESES
from crowdveil.truth.registry import METHODS as TRUTHS

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[str, tuple[Collection[str], str]] = {
    "release method": (RELEASES, "guarantees"),
    "local mechanism": (MECHANISMS, "guarantees"),
    "oracle": (ORACLES, "guarantees"),
    "synthesis method": (SYNTHESES, "guarantees"),
    "truth method": (TRUTHS, "methods"),
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_method_is_on_a_page(kind: str) -> None:
    registry, folder = PAGES[kind]
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / folder).glob("*.md")).lower()
    missing = [name for name in registry if not re.search(rf"\b{re.escape(name.lower())}\b", text)]
    assert missing == []


def test_every_release_method_that_promises_an_epsilon_is_audited() -> None:
    audits = list(AUDITS)
    for name in RELEASES:
        assert any(name in audit for audit in audits) or name == "uniform", name
