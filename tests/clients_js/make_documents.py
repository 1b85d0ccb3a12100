"""Public documents and questions for the tests of the JavaScript client; run this file to write them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from campaign_cases import asked, document
from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked

FILE = Path(__file__).parents[2] / "clients" / "js" / "test" / "documents.json"


def campaigns() -> dict[str, Campaign]:
    """One of each kind, and some that must be refused beside them."""
    weak: dict[str, Any] = {"mechanism": "gaussian-exponential-per-user", "epsilon": None}
    return {
        "sensing": asked(),
        "sensing_dearer": asked(epsilon=2.0),
        "waves": asked("sensing waves"),
        "weak": asked(**weak, options={"lambda2": 0.01, "insist": True}),
        "sparse": asked("sparse"),
        "slots": asked("slots"),
        "records": asked("records"),
        "records_dearer": asked("records", epsilon=2.0),
    }


def documents() -> dict[str, Any]:
    """The document of each campaign, and what place 4 is asked."""
    return {
        name: {"document": document(campaign), "question": campaign.kind.question(1, Asked(4), {})}
        for name, campaign in campaigns().items()
    }


def to_text() -> str:
    """As it is kept."""
    return json.dumps(documents(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_text(), encoding="utf-8")
