"""`crowdveil serve --demo`: a service with three sample campaigns, in which simulated people answer.

Its database and everything else lie in a folder that is gone when the server stops. The people are a process
of their own (`demo_people`): they speak with the service over HTTP, as everybody does.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from crowdveil.errors import ParameterError
from crowdveil.service.settings import Settings
from crowdveil.service.store import campaigns, operators
from crowdveil.service.store.database import Database

NAME = "demo"
STREETS = {
    "Station": 74.0,
    "Main Street": 71.0,
    "Harbour": 68.0,
    "Market": 65.0,
    "Ring Road": 77.0,
    "School Lane": 58.0,
    "Mill Street": 62.0,
    "Old Town": 55.0,
    "Garden Way": 49.0,
    "Church Square": 52.0,
    "Riverside": 46.0,
    "Park": 43.0,
}
EFFECTS = (
    *("tiredness", "headache", "dizziness", "nausea", "dry mouth", "trouble sleeping", "rash", "itching"),
    *("cough", "back pain", "cold hands", "sweating", "blurred vision", "ringing in the ears"),
    *("stomach ache", "loss of appetite", "weight gain", "low mood", "restlessness", "palpitations"),
)
SCHEMA: dict[str, Any] = {
    "columns": {
        "age": {"edges": [16, 30, 45, 60, 100]},
        "way to work": {"values": ["on foot", "bicycle", "bus or train", "car"]},
        "distance": {"edges": [0, 2, 10, 50]},
        "content": {"values": ["yes", "partly", "no"]},
    }
}
SAMPLES: tuple[dict[str, Any], ...] = (
    {
        "title": "Noise in our streets at night (simulated)",
        "kind": "sensing",
        "objects": [{"name": name, "unit": "dB"} for name in STREETS],
        "range": [30, 90],
        "epsilon": 2.0,
    },
    {
        "title": "Side effects of a medicine, from 0 (hardly) to 4 (severe) (simulated)",
        "kind": "sparse",
        "objects": list(EFFECTS),
        "range": [0, 4],
        "epsilon": 3.0,
        "options": {"sparsity": 0.75},
    },
    {
        "title": "How people come to work (simulated)",
        "kind": "records",
        "schema": SCHEMA,
        "epsilon": 4.0,
        "people": 600,
    },
)


@dataclass(frozen=True)
class Demo:
    """The campaigns of a demonstration by id, with their titles, and the token of its operator."""

    folder: Path
    token: str
    campaigns: dict[str, str]

    def words(self, url: str) -> list[str]:
        """What whoever started the demonstration should know."""
        return [
            "",
            "This is a demonstration: three campaigns in which simulated people answer, and nothing is kept.",
            f"  Operator's page:  {url}/sign-in#{NAME}:{self.token}",
            f"  (or sign in at {url}/ as {NAME}, with the token after the colon)",
            "  Take part yourself:",
            *(f"    {title}:  {url}/c/{id}" for id, title in self.campaigns.items()),
            "Ctrl-C ends it, and deletes everything in it.",
        ]


def settings_of(settings: Settings, folder: Path) -> Settings:
    """Settings for a demonstration: on this machine alone, with a database that goes away."""
    try:
        loopback = settings.host == "localhost" or ip_address(settings.host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ParameterError("a demonstration is for this machine alone: leave --host at 127.0.0.1")
    return settings.model_copy(
        update={"database": f"sqlite:///{folder / 'demo.sqlite3'}", "worker": True, "demo": True}
    )


def prepare(settings: Settings, folder: Path) -> Demo:
    """An operator, and the three campaigns, open."""
    database = Database(settings.database)
    try:
        database.migrate()
        with database.writing() as connection:
            operator = operators.add(connection, NAME)
            opened = {}
            for request in SAMPLES:
                asked = campaigns.asked(request)
                kept = campaigns.create(connection, operator, asked, retention=None, round_hours=None)
                operators.note(connection, NAME, "create", kept.id)
                campaigns.move(connection, kept, "open")
                operators.note(connection, NAME, "change", kept.id, "state: open")
                opened[kept.id] = asked.title
            return Demo(folder, operators.new_token(connection, operator), opened)
    finally:
        database.close()
