"""Requests to the service with what it answered, in the order in which they can be made.

docs/http.md shows them; tests/docs/test_service_documentation.py makes them, on both databases.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SERVER = "http://127.0.0.1:8000"
ID = "9926bd9fa62c4e27593e8a2eb16bbaab"
"""Of the campaign in the examples; a server makes up its own."""
REPORT = {"v": 1, "mechanism": "laplace", "payload": [["Elm Street", 347], ["Station", 89]]}
OTHER = {"v": 1, "mechanism": "laplace", "payload": [["Elm Street", 290], ["Station", 103]]}


@dataclass(frozen=True)
class Example:
    """A request, its status, and its answer or those fields of it that are shown."""

    method: str
    route: str
    status: int
    answer: Any = None
    body: Any = None
    signed_in: bool = False
    participant: str = ""

    @property
    def path(self) -> str:
        """The route with the values of the example."""
        return self.route.replace("{id}", ID).replace("{participant}", self.participant)

    @property
    def lines(self) -> bool:
        """Whether body and answer are NDJSON."""
        return isinstance(self.body, list)

    def content(self) -> str:
        """The body as it is sent."""
        return "\n".join(map(json.dumps, self.body)) if self.lines else json.dumps(self.body)

    def command(self) -> str:
        """A command line that sends it."""
        parts = [f"$ curl -s {SERVER}{self.path}"]
        if self.method not in ("GET", "POST"):
            parts.append(f"-X {self.method}")
        if self.signed_in:
            parts.append('-H "Authorization: Bearer $TOKEN"')
        if self.body is not None:
            kind = "application/x-ndjson" if self.lines else "application/json"
            parts.append(f"-H 'Content-Type: {kind}'")
            parts.append(f"--data-{'binary' if self.lines else 'raw'} '{self.content()}'")
        return " \\\n    ".join(parts)

    def shown(self) -> str:
        """The answer, with three dots where fields are left out."""
        if self.lines:
            return "\n".join(json.dumps(each, separators=(",", ":")) for each in self.answer)
        return json.dumps(self.answer, indent=2) if self.answer else f"({self.status})"


_BASE = "/api/v1/campaigns"
EXAMPLES = [
    Example(
        "POST",
        _BASE,
        201,
        {"id": ID, "state": "draft", "mechanism": {"name": "laplace", "wire": 1}},
        {
            "title": "Noise at night",
            "kind": "sensing",
            "objects": [{"name": "Elm Street", "unit": "dB"}, {"name": "Station", "unit": "dB"}],
            "range": [30, 90],
            "epsilon": 1,
        },
        signed_in=True,
    ),
    Example(
        "GET",
        f"{_BASE}/{{id}}",
        200,
        {
            "guarantee": {
                "unit": "claim",
                "epsilon": 1.0,
                "delta": 0.0,
                "levels": [
                    {"hidden": "each claim", "epsilon": 1.0},
                    {"hidden": "a person with 2 claims, and nobody has more", "epsilon": 2.0},
                ],
            }
        },
    ),
    Example("PATCH", f"{_BASE}/{{id}}", 200, {"id": ID, "state": "open"}, {"state": "open"}, signed_in=True),
    Example(
        "POST",
        f"{_BASE}/{{id}}/places",
        200,
        {"place": 0, "wave": 1, "round": 0, "reported": False},
        {"participant": "device-5b1c"},
    ),
    Example(
        "POST",
        f"{_BASE}/{{id}}/reports",
        201,
        {"status": "accepted"},
        {"participant": "device-5b1c", "key": "3f0c-1", "report": REPORT},
    ),
    Example(
        "POST",
        f"{_BASE}/{{id}}/reports",
        200,
        {"status": "known"},
        {"participant": "device-5b1c", "key": "3f0c-1", "report": REPORT},
    ),
    Example(
        "POST",
        f"{_BASE}/{{id}}/reports",
        409,
        {
            "type": "urn:crowdveil:problem:reported",
            "title": "Not in this state",
            "status": 409,
            "detail": "this participant has reported already in this wave",
        },
        {"participant": "device-5b1c", "key": "3f0c-2", "report": OTHER},
    ),
    Example(
        "POST",
        f"{_BASE}/{{id}}/reports/batch",
        200,
        [{"status": 201}, {"status": 200}],
        [
            {"participant": "device-77aa", "key": "90d1-1", "report": OTHER},
            {"participant": "device-5b1c", "key": "3f0c-1", "report": REPORT},
        ],
    ),
    Example(
        "DELETE",
        f"{_BASE}/{{id}}/reports/{{participant}}",
        200,
        {"withdrawn": 1},
        participant="device-77aa",
    ),
    Example(
        "GET",
        f"{_BASE}/{{id}}/results",
        200,
        {"state": "open", "wave": 1, "provisional": True, "participants": 2, "reports": 1, "withdrawn": 1},
        signed_in=True,
    ),
]
