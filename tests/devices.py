"""Operators, campaigns and people's devices for the tests of the service."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import Connection, func, select

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.randomness import seeded
from crowdveil.service.store import operators
from crowdveil.service.store.database import Database
from crowdveil.service.store.schema import metadata
from serving import Server

Json = dict[str, Any]

SCHEMA = {"columns": {"job": {"values": ["cook", "nurse", "smith"]}, "age": {"edges": [0, 30, 60, 120]}}}
SENSING: Json = {
    "title": "Noise",
    "kind": "sensing",
    "objects": ["east", "west"],
    "range": [0, 10],
    "epsilon": 2,
}
SPARSE: Json = {
    "title": "Effects",
    "kind": "sparse",
    "objects": ["a", "b", "c", "d"],
    "range": [1, 5],
    "epsilon": 2,
}
SLOTS: Json = {**SPARSE, "unit": "person"}
RECORDS: Json = {"title": "Work", "kind": "records", "schema": SCHEMA, "epsilon": 2, "people": 40}
KINDS: dict[str, Json] = {"sensing": SENSING, "sparse": SPARSE, "slots": SLOTS, "records": RECORDS}

_ANSWERS: dict[str, Json] = {
    "sensing": {"east": 3.0, "west": 7.0},
    "sparse": {"a": 2, "c": 5},
    "records": {"job": "nurse", "age": 44},
}
_numbers = itertools.count()


@contextmanager
def database_of(server: Server) -> Iterator[Connection]:
    """The database of a server, reached around it."""
    database = Database(server.database)
    try:
        with database.writing() as connection:
            yield connection
    finally:
        database.close()


def operator(server: Server, *, lifetime: timedelta | None = None, name: str | None = None) -> httpx.Client:
    """A client with the token of a new operator."""
    with database_of(server) as connection:
        added = operators.add(connection, name or f"operator{next(_numbers)}")
        token = operators.new_token(connection, added, lifetime=lifetime)
    return server.client(token)


def create(client: httpx.Client, request: Json = SENSING, *, state: str = "open", **more: Any) -> Json:
    """The public document of a new campaign in that state."""
    made = client.post("/campaigns", json={**request, **more})
    assert made.status_code == 201, made.text
    for step in {"draft": [], "open": ["open"]}.get(state, ["open", state]):
        assert client.patch(f"/campaigns/{made.json()['id']}", json={"state": step}).status_code == 200
    document: Json = client.get(f"/campaigns/{made.json()['id']}").json()
    return document


def report(document: Json, place: Mapping[str, Any] | None = None, answer: Json | None = None) -> Json:
    """What a device sends: the answer is perturbed here."""
    place = place or {"place": 0, "round": 0}
    kind = Campaign.from_dict(document).kind
    said = _ANSWERS[document["kind"]] if answer is None else answer
    asked = Asked(place["place"], place["round"])
    return kind.report_one(said, asked, place.get("question"), rng=seeded(next(_numbers)))


def submission(
    client: httpx.Client, document: Json, participant: str, *, answer: Json | None = None, **more: Any
) -> Json:
    """All that a device sends about one participant; it asks for a place where it must."""
    place = None
    if Campaign.from_dict(document).kind.asks_by_place:
        wanted = {"participant": participant, **({"wave": more["wave"]} if "wave" in more else {})}
        given = client.post(f"/campaigns/{document['id']}/places", json=wanted)
        assert given.status_code == 200, given.text
        place = given.json()
    body = {
        "participant": participant,
        "key": f"key-{participant}",
        "report": report(document, place, answer),
    }
    return {**body, **more}


def send(client: httpx.Client, document: Json, participant: str, **more: Any) -> httpx.Response:
    """The answer to a report of one participant."""
    return client.post(
        f"/campaigns/{document['id']}/reports", json=submission(client, document, participant, **more)
    )


def fill(client: httpx.Client, document: Json, count: int, **more: Any) -> None:
    """Reports of that many people."""
    for person in range(count):
        answer = send(client, document, f"person{person}", **more)
        assert answer.status_code == 201, answer.text


WORKERS = ("leases", "plans", "results", "result_files")


def rows(server: Server, *, without: tuple[str, ...] = ()) -> dict[str, int]:
    """How many rows each table has, but for those into which the worker writes when it likes."""
    with database_of(server) as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
            if table.name not in (*WORKERS, *without)
        }


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is true."""
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, "it did not become true"
        time.sleep(0.05)


def assert_problem(answer: httpx.Response, status: int, code: str | None = None) -> None:
    """That an answer is a problem of that status, with all fields."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (
        {"type", "title", "status", "detail"}
        <= said.keys()
        <= {"type", "title", "status", "detail", "errors"}
    )
    assert said["status"] == status
    assert said["type"].startswith("urn:crowdveil:problem:")
    assert said["title"]
    assert said["detail"]
    if code is not None:
        assert said["type"] == f"urn:crowdveil:problem:{code}"
