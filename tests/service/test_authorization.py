"""Who may do what: every route of the application, asked by everybody.

Routes are read from the application, so that a route that nobody thought of fails here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from test_operator_pages import ALL_ROUTES as OPERATOR_PAGES

from crowdveil.service.app import create_app
from crowdveil.service.settings import Settings
from crowdveil.service.store.operators import of_token
from devices import Json, create, database_of, fill, operator, send, until
from serving import Server

BASE = "/api/v1"
ONE = f"{BASE}/campaigns/{{id}}"

# Routes by who may use them. A body is what an owner would send; the status is what an owner gets.
PUBLIC = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", f"{BASE}/openapi.json"),
    ("POST", f"{BASE}/tokens"),
    ("GET", ONE),
    ("POST", f"{ONE}/places"),
    ("POST", f"{ONE}/places/batch"),
    ("POST", f"{ONE}/reports"),
    ("POST", f"{ONE}/reports/batch"),
    ("DELETE", f"{ONE}/reports/{{participant:path}}"),
    ("GET", "/c/{id}/results"),  # where an owner published it
}
PAGES = {  # no part of the API: for everybody, and those of operators (test_operator_pages.py)
    *OPERATOR_PAGES,
    ("GET", "/c/{id}"),
    ("GET", "/c/worker.js"),
    ("GET", "/static/{version}/{name:path}"),
}
OPERATORS: dict[tuple[str, str], tuple[int, Any]] = {
    ("GET", f"{BASE}/campaigns"): (200, None),
    ("POST", f"{BASE}/campaigns"): (
        201,
        {"title": "t", "kind": "sensing", "objects": ["a"], "range": [0, 1], "epsilon": 1},
    ),
    ("DELETE", f"{BASE}/tokens"): (204, None),
}
VIEWERS: dict[tuple[str, str], tuple[int, Any]] = {
    ("GET", f"{ONE}/results"): (200, None),
    ("GET", f"{ONE}/results.{{ending}}"): (200, None),
    ("GET", f"{ONE}/weights.{{ending}}"): (200, None),
    ("GET", f"{ONE}/records.{{ending}}"): (404, None),  # a sensing campaign has none
    ("GET", f"{ONE}/reports.parquet"): (200, None),
    ("GET", f"{ONE}/bundle.zip"): (200, None),
    ("GET", f"{ONE}/roles"): (200, None),
    ("GET", f"{ONE}/ledger"): (200, None),
}
OWNERS: dict[tuple[str, str], tuple[int, Any]] = {
    ("PATCH", ONE): (200, {"state": "paused"}),
    ("DELETE", ONE): (204, None),
    ("POST", f"{ONE}/invitations"): (201, {"count": 1}),
    ("PUT", f"{ONE}/roles/{{name}}"): (200, {"role": "viewer"}),
    ("GET", f"{ONE}/journal"): (200, None),
}
ASKING = ("nobody", "garbage", "expired", "stranger", "viewer", "owner")


def routes() -> set[tuple[str, str]]:
    """Every method and path of the application."""

    def walk(listed: Any) -> Iterator[tuple[str, str]]:
        for route in listed:
            inner = getattr(route, "original_router", None)
            if inner is not None:
                yield from walk(inner.routes)
            else:
                for method in route.methods - {"HEAD"}:
                    yield method, route.path

    app = create_app(Settings(database="sqlite:////tmp/never-opened.sqlite3"))
    return set(walk(app.routes))


def test_every_route_is_in_one_list() -> None:
    listed = [*PUBLIC, *PAGES, *OPERATORS, *VIEWERS, *OWNERS]
    assert len(listed) == len(set(listed))
    assert routes() == set(listed)


def test_every_route_is_in_the_openapi_document_with_its_security() -> None:
    app = create_app(Settings(database="sqlite:////tmp/never-opened.sqlite3"))
    documented = {
        (method.upper(), path): "security" in operation
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    }
    expected = {
        (method, path.replace(":path}", "}")): (method, path) not in PUBLIC
        for method, path in routes() - PAGES - {("GET", f"{BASE}/openapi.json")}
    }
    assert documented == expected


@dataclass(frozen=True)
class Party:
    """Everybody who asks, and a campaign with reports in it."""

    clients: dict[str, httpx.Client]
    campaign: Json
    viewer: str

    def ask(self, who: str, method: str, path: str, body: Any, *, id: str | None = None) -> httpx.Response:
        filled = path.replace("{id}", id or self.campaign["id"]).replace("{ending}", "csv")
        filled = filled.replace("{name}", self.viewer).replace("{participant:path}", "person0")
        content: dict[str, Any] = {} if body is None else {"json": body}
        client = self.clients[who]
        return client.request(method, f"{client.base_url.copy_with(path=filled)}", **content)


_made: dict[str, Party] = {}


@pytest.fixture
def party(server: Server) -> Party:
    """One for each server; whatever an owner destroys is made again."""
    known = _made.get(server.database)
    if (
        known is None
        or known.clients["owner"].get(f"/campaigns/{known.campaign['id']}/roles").status_code != 200
    ):
        known = _made[server.database] = gathered(server)
    return known


def gathered(server: Server) -> Party:
    owner, viewer, stranger = operator(server), operator(server), operator(server)
    campaign = create(owner, admission="invited")
    tokens = owner.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 3}).json()["tokens"]
    for token in tokens:
        assert send(server.client(), campaign, token).status_code == 201
    fill(server.client(), create(stranger), 1)
    name = name_of(server, viewer)
    shared = owner.put(f"/campaigns/{campaign['id']}/roles/{name}", json={"role": "viewer"})
    assert shared.status_code == 200
    computed(owner, campaign)
    clients = {
        "nobody": server.client(),
        "garbage": server.client("cvo_" + "x" * 43),
        "expired": operator(server, lifetime=timedelta(seconds=-1)),
        "stranger": stranger,
        "viewer": viewer,
        "owner": owner,
    }
    return Party(clients, campaign, name)


def name_of(server: Server, client: httpx.Client) -> str:
    """The name of the operator whose token a client has."""
    with database_of(server) as connection:
        found = of_token(connection, client.headers["authorization"].split()[1])
    assert found is not None
    return found.name


def computed(owner: httpx.Client, campaign: Json) -> None:
    """Wait until there is a result."""
    until(lambda: owner.get(f"/campaigns/{campaign['id']}/results.csv").status_code == 200)


CASES = [(method, path, who) for method, path in sorted({*OPERATORS, *VIEWERS, *OWNERS}) for who in ASKING]


@pytest.mark.parametrize(("method", "path", "who"), CASES, ids=[" ".join(case) for case in CASES])
def test_a_route_answers_only_whoever_may_ask(
    server: Server, party: Party, method: str, path: str, who: str
) -> None:
    (good, body) = ({**OPERATORS, **VIEWERS, **OWNERS})[method, path]
    if (method, path) == ("DELETE", f"{BASE}/tokens") and who in ("stranger", "viewer", "owner"):
        again = operator(server)
        assert again.delete("/tokens").status_code == 204
        assert again.delete("/tokens").status_code == 401
        return
    answer = party.ask(who, method, path, body)
    assert answer.status_code == expected(method, path, who, good), answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert party.campaign["title"] not in answer.text


def expected(method: str, path: str, who: str, good: int) -> int:
    """By the rules: first whose token it is, then whether there is a campaign, then what the role allows."""
    if who in ("nobody", "garbage", "expired"):
        return 401
    if (method, path) in OPERATORS:
        return good
    if who == "stranger":
        return 404
    return 403 if who == "viewer" and (method, path) in OWNERS else good


PRIVATE = sorted({*VIEWERS, *OWNERS})


@pytest.mark.parametrize(("method", "path"), PRIVATE, ids=[" ".join(route) for route in PRIVATE])
def test_for_a_stranger_a_campaign_is_not_there(party: Party, method: str, path: str) -> None:
    _, body = ({**VIEWERS, **OWNERS})[method, path]
    there = party.ask("stranger", method, path, body)
    nowhere = party.ask("stranger", method, path, body, id="0" * 32)
    assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)
    for answer in (there, nowhere):
        del answer.headers["x-request-id"]
    assert there.headers == nowhere.headers


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
def test_bad_bodies_tell_a_stranger_no_more(party: Party, method: str) -> None:
    for verb, path in OWNERS:
        if verb == method:
            there = party.ask("stranger", verb, path, {"nonsense": 1})
            nowhere = party.ask("stranger", verb, path, {"nonsense": 1}, id="0" * 32)
            assert there.status_code == 404
            assert there.content == nowhere.content


def test_no_list_shows_the_campaign_of_another_operator(party: Party) -> None:
    listed = party.clients["stranger"].get("/campaigns").json()["campaigns"]
    assert party.campaign["id"] not in {campaign["id"] for campaign in listed}
    assert party.campaign["id"] in {
        each["id"] for each in party.clients["viewer"].get("/campaigns").json()["campaigns"]
    }


PUBLIC_CASES = [(method, path) for method, path in sorted(PUBLIC) if "{id}" in path]


@pytest.mark.parametrize(("method", "path"), PUBLIC_CASES, ids=[" ".join(route) for route in PUBLIC_CASES])
def test_on_public_routes_an_operator_is_like_everybody(party: Party, method: str, path: str) -> None:
    body = {"participant": "nobody-invited", "key": "k", "report": {}}
    answers = {who: party.ask(who, method, path, body if method == "POST" else None) for who in ASKING}
    assert len({(answer.status_code, answer.content) for answer in answers.values()}) == 1
    assert answers["nobody"].status_code not in (401, 500)


def test_an_invitation_or_a_participants_token_is_no_operators_token(server: Server, party: Party) -> None:
    owner = party.clients["owner"]
    made = owner.post(f"/campaigns/{party.campaign['id']}/invitations", json={"count": 1})
    token = made.json()["tokens"][0]
    assert server.client(token).get("/campaigns").status_code == 401
