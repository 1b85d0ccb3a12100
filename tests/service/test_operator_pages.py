"""Pages of operators: who may see and do what there, and that no other site can do it for them."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from crowdveil.errors import ParameterError
from crowdveil.service.state import Previews
from crowdveil.service.store import operators
from crowdveil.service.store.operators import Operator
from crowdveil.service.web import creating, drafts
from crowdveil.service.web.page import POLICY, local
from crowdveil.service.web.session import Session
from devices import KINDS, Json, create, database_of, fill, send, until
from operator_browser import KEY, browser, key_of, post, signed_in
from service_fixtures import running_server
from serving import Server

_numbers = itertools.count()
PASSWORD = "correct horse battery"

# Routes by who may use them; a form is what an owner would send, and the status is what an owner gets.
FOR_ALL = {("GET", "/sign-in"), ("POST", "/sign-in")}
OPERATORS: dict[tuple[str, str], tuple[int, Json | None]] = {
    ("GET", "/"): (200, None),
    ("GET", "/new/{kind}"): (200, None),
    ("POST", "/new/{kind}"): (303, {"title": "t", "objects": "a", "low": "0", "high": "1", "epsilon": "1"}),
    ("POST", "/new/{kind}/preview"): (200, {"title": "t", "objects": "a"}),
    ("POST", "/new/{kind}/look"): (200, {"title": "t", "objects": "a"}),
    ("POST", "/sign-out"): (303, {}),
}
VIEWERS: dict[tuple[str, str], tuple[int, Json | None]] = {
    ("GET", "/campaigns/{id}"): (200, None),
    ("GET", "/campaigns/{id}/progress"): (200, None),
    ("GET", "/campaigns/{id}/results"): (200, None),
    ("GET", "/campaigns/{id}/findings"): (200, None),
    ("GET", "/campaigns/{id}/people"): (200, None),
    ("GET", "/campaigns/{id}/record"): (200, None),
    ("GET", "/campaigns/{id}/files/{name}.{ending}"): (200, None),
}
OWNERS: dict[tuple[str, str], tuple[int, Json | None]] = {
    ("POST", "/campaigns/{id}/change"): (303, {"state": "paused"}),
    ("POST", "/campaigns/{id}/invite"): (200, {"count": "2"}),
    ("POST", "/campaigns/{id}/share"): (303, {"name": "{viewer}", "role": "viewer"}),
    ("POST", "/campaigns/{id}/delete"): (303, {"sure": "yes"}),
}
ALL_ROUTES = {*FOR_ALL, *OPERATORS, *VIEWERS, *OWNERS}
ASKING = ("nobody", "garbage", "expired", "stranger", "viewer", "owner")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow_audit)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Pages do not know which database they come from: on PostgreSQL they are tested at night."""
    yield from running_server(request, tmp_path_factory.mktemp("server"))


@dataclass(frozen=True)
class Somebody:
    """An operator with her browser and a client of the API."""

    name: str
    token: str
    page: httpx.Client
    api: httpx.Client


def somebody(server: Server) -> Somebody:
    name = f"op{next(_numbers)}"
    with database_of(server) as connection:
        token = operators.new_token(connection, operators.add(connection, name, PASSWORD))
    return Somebody(name, token, signed_in(server, name, token), server.client(token))


@dataclass(frozen=True)
class Party:
    """Everybody who asks, and a campaign with reports in it."""

    browsers: dict[str, httpx.Client]
    campaign: Json
    owner: Somebody
    viewer: Somebody

    def ask(self, who: str, method: str, path: str, fields: Json | None) -> httpx.Response:
        filled = path.replace("{id}", self.campaign["id"]).replace("{kind}", "sensing")
        filled = filled.replace("{name}.{ending}", "bundle.zip")
        client = self.browsers[who]
        if method == "GET":
            return client.get(filled)
        key = KEY.search(client.get("/").text)
        data = {name: value.replace("{viewer}", self.viewer.name) for name, value in (fields or {}).items()}
        return client.post(filled, data={"form_key": key[1] if key else "", **data})


_made: dict[str, Party] = {}


@pytest.fixture
def party(server: Server) -> Party:
    """One for each server; whatever an owner destroys is made again."""
    known = _made.get(server.database)
    if known is None or {
        known.owner.page.get(f"/campaigns/{known.campaign['id']}").status_code,
        *(known.browsers[who].get("/").status_code for who in ("stranger", "viewer")),
    } != {200}:
        known = _made[server.database] = gathered(server)
    return known


def gathered(server: Server) -> Party:
    owner, viewer, stranger = somebody(server), somebody(server), somebody(server)
    campaign = create(owner.api, admission="invited", title="Known to few")
    shared = owner.api.put(f"/campaigns/{campaign['id']}/roles/{viewer.name}", json={"role": "viewer"})
    assert shared.status_code == 200
    with database_of(server) as connection:
        old = operators.new_token(
            connection,
            operators.named(connection, owner.name),
            lifetime=timedelta(seconds=-1),
            prefix=operators.SESSION,
        )
    browsers = {
        "nobody": browser(server),
        "garbage": browser(server, Cookie="crowdveil=cvo_" + "x" * 43),
        "expired": browser(server, Cookie=f"crowdveil={old}"),
        "stranger": stranger.page,
        "viewer": viewer.page,
        "owner": owner.page,
    }
    return Party(browsers, campaign, owner, viewer)


@pytest.mark.parametrize("route", sorted({*OPERATORS, *VIEWERS, *OWNERS}), ids=" ".join)
def test_a_page_answers_only_whoever_may_ask(party: Party, route: tuple[str, str]) -> None:
    good, fields = {**OPERATORS, **VIEWERS, **OWNERS}[route]
    for who in ASKING:
        answer = party.ask(who, *route, fields)
        if who in ("nobody", "garbage", "expired"):
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/sign-in?next=")
        elif who == "stranger" and route not in OPERATORS:
            assert answer.status_code == 404
        elif who == "viewer" and route in OWNERS:
            assert answer.status_code == 403
        else:
            assert answer.status_code == good, answer.text
        if who not in ("viewer", "owner"):
            assert party.campaign["title"] not in answer.text


FORGED = ("no key", "another key", "another site", "old browser", "no origin", "json")


@pytest.mark.parametrize("route", sorted(path for method, path in ALL_ROUTES if method == "POST"))
def test_no_other_site_can_send_a_form(party: Party, server: Server, route: str) -> None:
    """The cookie comes along whoever caused the request: it is not enough."""
    signing_in = (303, {"name": party.owner.name, "secret": party.owner.token})
    _, fields = {**OPERATORS, **OWNERS}.get(("POST", route), signing_in)
    path = route.replace("{id}", party.campaign["id"]).replace("{kind}", "sensing")
    before, own = state(party), key_of(party.owner.page)
    for forged in FORGED:
        if route == "/sign-in" and forged.endswith("key"):
            continue  # nobody has a key before signing in
        key = {"no key": "", "another key": key_of(party.viewer.page)}.get(forged, own)
        headers = {
            "another site": {"Sec-Fetch-Site": "cross-site"},
            "old browser": {"Origin": "https://elsewhere.example"},
            "no origin": {},
        }.get(forged, {"Sec-Fetch-Site": "same-origin"})
        data: Json = {"form_key": key, **(fields or {})}
        body: Json = {"json": data} if forged == "json" else {"data": data}
        cookies = dict(party.owner.page.cookies)
        with httpx.Client(base_url=server.url, cookies=cookies, timeout=60) as client:
            answer = client.post(path, headers=headers, **body)
        assert answer.status_code == (415 if forged == "json" else 403), forged
        assert "set-cookie" not in answer.headers
    assert state(party) == before
    assert party.owner.page.get("/").status_code == 200  # still signed in


def state(party: Party) -> str:
    """All that a form could have changed."""
    api, id = party.owner.api, party.campaign["id"]
    parts = [api.get(f"/campaigns/{id}"), api.get(f"/campaigns/{id}/roles"), api.get("/campaigns")]
    invited = [
        entry
        for entry in api.get(f"/campaigns/{id}/journal").json()["entries"]
        if entry["action"] == "invite"
    ]
    return json.dumps([[part.json() for part in parts], invited])


def test_a_form_from_an_old_browser_is_known_by_its_origin(server: Server) -> None:
    ann = somebody(server)
    with httpx.Client(base_url=server.url, headers={"Origin": server.url, "Accept": "text/html"}) as client:
        answer = client.post("/sign-in", data={"name": ann.name, "secret": ann.token})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_the_api_does_not_look_at_cookies(server: Server) -> None:
    ann = somebody(server)
    assert ann.page.get("/").status_code == 200
    assert ann.page.get("/api/v1/campaigns").status_code == 401
    assert ann.page.post("/api/v1/campaigns", json={}).status_code == 401


@pytest.mark.parametrize("way", ["token", "password"])
def test_signing_in_and_out(server: Server, way: str) -> None:
    ann = somebody(server)
    client = browser(server)
    secret = ann.token if way == "token" else PASSWORD
    answer = client.post("/sign-in", data={"name": ann.name, "secret": secret, "next": "/new/sparse"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/new/sparse")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    session = client.cookies["crowdveil"]
    assert session not in (ann.token, PASSWORD)
    assert ann.name in client.get("/").text
    assert session not in client.get("/").text
    assert client.get("/sign-in").status_code == 303  # nobody signs in twice
    assert post(client, "/sign-out").status_code == 303
    assert browser(server, Cookie=f"crowdveil={session}").get("/").status_code == 303  # it is worthless now
    assert ann.api.get("/campaigns").status_code == 200  # the operator's own token is not


def test_a_session_serves_pages_alone_and_prolongs_nothing(server: Server) -> None:
    ann = somebody(server)
    session = ann.page.cookies["crowdveil"]
    with server.client(session) as stolen:
        assert stolen.get("/campaigns").status_code == 401
    assert browser(server, Cookie=f"crowdveil={ann.token}").get("/").status_code == 303
    short = ann.api.post("/tokens", json={"name": ann.name, "password": PASSWORD}).json()["token"]
    for secret in (session, short):
        answer = browser(server).post("/sign-in", data={"name": ann.name, "secret": secret})
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


def test_behind_an_unknown_proxy_nobody_signs_in_without_encryption(server: Server) -> None:
    ann = somebody(server)
    client = browser(server, Origin=server.url.replace("http:", "https:"))
    answer = client.post("/sign-in", data={"name": ann.name, "secret": ann.token})
    assert answer.status_code == 400
    assert "CROWDVEIL_PROXIES" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["http://[::1", "http://", "null", "ftp://{host}", "http://{host}.example"]
)
def test_an_origin_that_is_none_of_ours_is_refused(server: Server, origin: str) -> None:
    ann = somebody(server)
    with httpx.Client(base_url=server.url) as client:
        given = origin.format(host=server.url.removeprefix("http://"))
        form = {"name": ann.name, "secret": ann.token}
        assert client.post("/sign-in", data=form, headers={"Origin": given}).status_code == 403


def test_over_https_the_cookie_goes_nowhere_else(server: Server) -> None:
    ann = somebody(server)
    client = browser(server, **{"X-Forwarded-Proto": "https"})
    answer = client.post("/sign-in", data={"name": ann.name, "secret": ann.token})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-crowdveil=")
    assert "Secure" in cookie.split("; ")
    assert "Domain" not in cookie


def test_a_wrong_secret_is_refused_and_not_shown(server: Server) -> None:
    ann, bob = somebody(server), somebody(server)
    for name, secret in (
        (ann.name, "wrong password"),
        (ann.name, bob.token),  # a token of somebody else
        (bob.name, ann.token),
        ("nobody", PASSWORD),
        (ann.name, ""),
        (ann.name, "cvo_" + "x" * 2000),
    ):
        answer = browser(server).post("/sign-in", data={"name": name, "secret": secret})
        assert answer.status_code == 401
        assert "This name does not go with this password or token" in answer.text
        assert "set-cookie" not in answer.headers
        assert not secret or secret not in answer.text


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/new/sparse", "/new/sparse"),
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("/\\elsewhere.example/", "/"),
        ("", "/"),
        ("javascript:alert(1)", "/"),
        ("/\r\nX: y", "/"),
    ],
)
def test_nobody_is_led_to_another_site(asked: str, led: str) -> None:
    assert local(asked) == led


def test_whoever_signs_in_comes_back_to_the_very_page(server: Server) -> None:
    ann, path = somebody(server), "/campaigns/x/results?wave=2"
    led = browser(server).get(path).headers["location"]
    assert led == "/sign-in?next=%2Fcampaigns%2Fx%2Fresults%3Fwave%3D2"
    assert ann.page.get(led).headers["location"] == f"{path}#"


def test_pages_have_nothing_inline_and_escape_what_operators_wrote(server: Server) -> None:
    hostile = "<script>alert(1)</script>"
    for request in KINDS.values():
        ann = somebody(server)
        asked = dict(request, title=hostile)
        if "objects" in asked:
            asked["objects"] = [hostile, *asked["objects"]]
        campaign = create(ann.api, asked)
        base = f"/campaigns/{campaign['id']}"
        for path in ("/", base, f"{base}/results", f"{base}/people", f"{base}/record", f"{base}/progress"):
            answer = ann.page.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert hostile not in answer.text
            assert re.findall(r"<script(?![^>]* src=)", answer.text) == []
            assert "<style" not in answer.text
            assert re.findall(r" (?:style|on\w+)=", answer.text) == []


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_page_is_there_in_every_language(server: Server, language: str) -> None:
    ann = somebody(server)
    page = signed_in(server, ann.name, ann.token, **{"Accept-Language": language})
    for kind, request in KINDS.items():
        campaign = create(ann.api, request)
        fill(server.client(), campaign, 4)
        base = f"/campaigns/{campaign['id']}"
        until(lambda base=base: ann.api.get(f"{base}/results").json()["counted"] == 4)  # type: ignore[misc]
        new = f"/new/{request['kind']}"
        for path in ("/", new, base, f"{base}/results", f"{base}/people", f"{base}/record"):
            answer = page.get(path)
            assert answer.status_code == 200, (kind, path)
            assert answer.headers["content-language"] == language
            assert f'<html lang="{language}">' in answer.text


def test_problems_are_pages_for_people_and_json_for_programs(server: Server) -> None:
    ann = somebody(server)
    for path in ("/nothing", f"/campaigns/{'0' * 32}", "/new/other", f"/c/{'0' * 32}/results"):
        answer = ann.page.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "Nothing here" in answer.text
        assert ("Campaigns</a>" in answer.text) == (not path.startswith("/c/"))
        plain = ann.page.get(path, headers={"Accept": "*/*"})
        assert plain.headers["content-type"] == "application/problem+json"
    assert ann.page.get("/api/v1/nothing").headers["content-type"] == "application/problem+json"


def test_a_campaign_is_created_as_the_form_says(server: Server) -> None:
    ann = somebody(server)
    fields = {
        "title": "Noise",
        "objects": "Main Street | dB | 30:90\nPark\n\n",
        "low": "20",
        "high": "80",
        "epsilon": "1.5",
        "people": "300",
        "unit": "person",
        "admission": "invited",
        "waves": "2",
        "mechanism": "auto",
        "retention": "2099-01-31",
    }
    answer = post(ann.page, "/new/sensing", **fields)
    assert answer.status_code == 303
    made = ann.api.get(f"/campaigns/{answer.headers['location'].rpartition('/')[2]}").json()
    assert made["state"] == "draft"
    assert made["objects"] == [
        {"name": "Main Street", "range": [30.0, 90.0], "unit": "dB"},
        {"name": "Park", "range": [20.0, 80.0]},
    ]
    assert (made["unit"], made["admission"], made["waves"]) == ("person", "invited", 2)
    assert made["retention"][:10] == "2099-01-31"
    assert made["guarantee"]["epsilon"] <= 1.5


def test_what_cannot_be_is_said_beside_the_form_which_keeps_what_was_written(server: Server) -> None:
    ann = somebody(server)
    fields = {"title": "Noise", "objects": "Market square", "low": "5", "high": "5", "epsilon": "2"}
    answer = post(ann.page, "/new/sensing", **fields)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert "Market square" in answer.text
    assert ann.api.get("/campaigns").json()["campaigns"] == []


def test_the_preview_says_what_would_be_promised(server: Server) -> None:
    """A guess between two cases is right with e^epsilon / (1 + e^epsilon): .8808 for 2, .98202 for 4."""
    ann = somebody(server)
    fields = {"title": "", "objects": "a\nb", "low": "0", "high": "1", "epsilon": "2"}
    seen = post(ann.page, "/new/sensing/preview", **fields).text
    assert "at most 88.1" in seen
    assert "at most 98.3" in seen  # a person with two
    wrong = post(ann.page, "/new/sensing/preview", **(fields | {"epsilon": "-1"})).text
    assert "at most" not in wrong
    assert ann.api.get("/campaigns").json()["campaigns"] == []


def test_invitations_are_links_that_work_and_are_shown_once(server: Server) -> None:
    ann = somebody(server)
    campaign = create(ann.api, admission="invited")
    answer = post(ann.page, f"/campaigns/{campaign['id']}/invite", count="3")
    links = re.findall(rf"{server.url}/c/{campaign['id']}#i=[\w-]+", answer.text)
    assert len(set(links)) == 3
    token = links[0].rpartition("=")[2]
    assert token not in ann.page.get(f"/campaigns/{campaign['id']}/people").text
    place = server.client().post(f"/campaigns/{campaign['id']}/places", json={"participant": token})
    assert place.status_code == 200


@pytest.mark.parametrize("bad", ["0", "-1", "x", "", "10001", "1e3", "\u0663"])
def test_a_number_of_invitations_is_checked(server: Server, bad: str) -> None:
    ann = somebody(server)
    campaign = create(ann.api, admission="invited")
    assert post(ann.page, f"/campaigns/{campaign['id']}/invite", count=bad).status_code == 422


def test_states_waves_and_publication_are_changed_by_forms(server: Server) -> None:
    ann = somebody(server)
    campaign = create(ann.api, waves=2, state="draft")
    base = f"/campaigns/{campaign['id']}"

    def now() -> Json:
        document: Json = ann.api.get(base).json()
        return document

    for fields, name, value in (
        ({"state": "open"}, "state", "open"),
        ({"state": "paused"}, "state", "paused"),
        ({"state": "open"}, "state", "open"),
        ({"wave": "2"}, "wave", 2),
        ({"published": "yes"}, "published", True),
        ({"published": "no"}, "published", False),
        ({"state": "closed"}, "state", "closed"),
    ):
        assert post(ann.page, f"{base}/change", **fields).status_code == 303
        assert now()[name] == value
    assert post(ann.page, f"{base}/change", retention="2099-01-31").status_code == 303
    assert now()["retention"] == "2099-01-31T00:00:00.000000Z"
    assert post(ann.page, f"{base}/change", retention="").status_code == 303
    assert now()["retention"] is None
    assert post(ann.page, f"{base}/change", state="open").status_code == 409  # it stays closed
    assert post(ann.page, f"{base}/change", state="melted").status_code == 422
    assert post(ann.page, f"{base}/delete").status_code == 422  # not sure
    assert post(ann.page, f"{base}/delete", sure="yes").status_code == 303
    assert ann.api.get(base).status_code == 404


def test_files_are_those_of_the_api_and_taking_reports_is_on_record(server: Server) -> None:
    ann = somebody(server)
    campaign = create(ann.api)
    fill(server.client(), campaign, 3)
    base = f"/campaigns/{campaign['id']}"
    until(lambda: ann.api.get(f"{base}/results.csv").status_code == 200)
    assert ann.api.patch(base, json={"state": "closed"}).status_code == 200
    until(lambda: not ann.api.get(f"{base}/results").json()["provisional"])
    for name in ("results.csv", "results.parquet", "weights.csv", "reports.parquet"):
        assert ann.page.get(f"{base}/files/{name}").content == ann.api.get(f"{base}/{name}").content
    taken = [
        entry for entry in ann.api.get(f"{base}/journal").json()["entries"] if entry["action"] == "download"
    ]
    assert len(taken) == 2  # by the page and by the API
    for name in ("records.csv", "reports.csv", "journal.json", "settings.py"):
        assert ann.page.get(f"{base}/files/{name}").status_code == 404


def test_sign_ins_are_limited(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(f"sqlite:///{tmp_path}/service.sqlite3", worker=False, sign_ins_per_minute=3)
    client = browser(server)
    statuses = [client.post("/sign-in", data={"name": "a", "secret": "b"}).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]


# --- lines of objects and questions ------------------------------------------------------------------------


def test_questions_are_lines_or_the_json_of_a_schema() -> None:
    lines = "job: cook, nurse , smith\nage: 0 < 30<60.5\n smokes? : yes, no\n"
    schema = {
        "columns": {
            "job": {"values": ["cook", "nurse", "smith"]},
            "age": {"edges": [0.0, 30.0, 60.5]},
            "smokes": {"values": ["yes", "no"], "missing": True},
        }
    }
    assert drafts.schema_of(lines) == schema
    assert drafts.schema_of(json.dumps(schema)) == schema


REPEATED = '{"columns": {"a": {"values": ["x", "y"]}, "a": {"values": ["z", "w"]}}}'


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "  \n",
        "job",
        ": a, b",
        "?: a, b",
        "age: 0 < x",
        "a: 1, 2\na: 3, 4",
        "{",
        "[1]",
        "{" * 5000,
        REPEATED,
    ],
)
def test_questions_that_cannot_be_read_are_refused(lines: str) -> None:
    with pytest.raises(ParameterError):
        drafts.schema_of(lines)


@pytest.mark.parametrize(
    "lines", ["", "a | b | c | d", "a | dB | 3", "a | dB | x:y", "a | dB | 1:2:3", "a||nan:1"]
)
def test_objects_that_cannot_be_read_are_refused(lines: str) -> None:
    with pytest.raises(ParameterError):
        drafts.objects_of(lines)


def test_numbers_are_written_with_a_point_or_a_comma() -> None:
    assert drafts.objects_of("a | \N{EURO SIGN} | 4,5:9.5") == [
        {"name": "a", "unit": "\N{EURO SIGN}", "range": [4.5, 9.5]}
    ]
    for text, value in (("0,125", 0.125), ("-0.500", -0.5), ("1,5e3", 1500), (".5", 0.5), ("1500.", 1500)):
        (item,) = drafts.objects_of(f"a | dB | -9:{text}")
        assert item["range"][1] == value  # type: ignore[index]
    for text in ("1,500", "1.500", "-12.500", "1.500,5", "1,500.5", "1,2,3"):  # 1.5, or 1500?
        with pytest.raises(ParameterError, match="read differently in different languages"):
            drafts.objects_of(f"a | dB | 0:{text}")
    for text in (
        "1_000",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "\N{FULLWIDTH DIGIT ONE}",
        "inf",
        "0x1",
        "1 000",
        ".",
    ):
        with pytest.raises(ParameterError, match="must be a number"):
            drafts.objects_of(f"a | dB | 0:{text}")


def test_choices_with_commas_have_semicolons_between_them() -> None:
    assert drafts.schema_of("income: under 1,500; 1,500 or more")["columns"] == {
        "income": {"values": ["under 1,500", "1,500 or more"]}
    }


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"epsilon": ""}, "epsilon must be a number above 0"),
        ({"epsilon": "0"}, "epsilon must be a number above 0"),
        ({"waves": "0"}, "waves"),
        ({"low": ""}, "give the lowest and the highest value"),
        ({"objects": "a\nb | " + "x" * 41}, "line 2 of the list, unit"),
        ({"title": "x" * 201}, "title"),
        ({"title": " "}, "give a title"),
        ({"low": "1"}, "range"),
        ({"retention": "2020-01-01"}, "lies in the past"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_the_form(server: Server, fields: Json, said: str) -> None:
    ann = somebody(server)
    good = {"title": "t", "objects": "a", "low": "0", "high": "1", "epsilon": "1", "waves": "1"}
    answer = post(ann.page, "/new/sensing", **{**good, **fields})
    assert answer.status_code == 422
    assert said in answer.text
    assert "--" not in answer.text.replace("<!--", "")
    assert ann.api.get("/campaigns").json()["campaigns"] == []
    previewed = post(ann.page, "/new/sensing/preview", **{**good, "title": "t", **fields}).text
    assert said in previewed or "title" in fields  # a preview needs none


def test_a_preview_shows_what_was_understood(server: Server) -> None:
    ann = somebody(server)
    form = {"objects": "Park | dB | 1900:2026,5\nHarbour", "low": "0", "high": "12345", "epsilon": "2"}
    shown = post(ann.page, "/new/sensing/preview", **form).text
    assert "<li>Park: 1900 to 2026.5 dB</li>" in shown
    assert "<li>Harbour: 0 to 12345</li>" in shown
    questions = "income?: under 1,500, more\nage: 0 < 30 < 60\n" + "\n".join(
        f"q{at}: a, b" for at in range(20)
    )
    shown = post(ann.page, "/new/records/preview", questions=questions, epsilon="2").text
    assert "<li>income: under 1 \N{MIDDLE DOT} 500 \N{MIDDLE DOT} more" in shown
    assert "may be left out</li>" in shown
    assert "<li>age: 0 to 30 \N{MIDDLE DOT} 30 to 60</li>" in shown
    assert "And 10 more lines." in shown


def guessed(ann: Somebody, kind: str, **form: str) -> list[str]:
    """The levels of a preview as plain text, and the advice."""
    shown = post(ann.page, f"/new/{kind}/preview", **form).text.partition("<h3>")[0]
    lines = re.findall(r'<(?:li|p class="warned")[^>]*>(.*?)</(?:li|p)>', shown)
    return [re.sub(r"<[^>]+>", "", line) for line in lines]


def test_a_preview_tells_what_one_wave_and_all_waves_cost(server: Server) -> None:
    ann = somebody(server)
    form = {"objects": "a", "low": "0", "high": "1", "epsilon": "2", "waves": "2", "unit": "claim"}
    one, total = guessed(ann, "sensing", **form)[:2]
    assert one.startswith("each number, in one wave (epsilon 2): of two cases")
    assert "at most 88.1" in one
    assert total.startswith("each number, over all 2 waves (epsilon 4): of two cases")
    assert "at most 98.3" in total
    _, total = guessed(ann, "sensing", **{**form, "waves": "5"})[:2]
    assert total == "each number, over all 5 waves (epsilon 10): practically not protected."
    alone = guessed(ann, "sensing", **{**form, "waves": "1"})
    assert alone[0].startswith("each number (epsilon 2): ")
    assert not any("wave" in line for line in alone)


def test_advice_is_about_what_can_be_chosen(server: Server) -> None:
    ann = somebody(server)
    form = {"objects": "a", "low": "0", "high": "1", "epsilon": "8", "unit": "claim"}
    smaller, fewer, split = "A smaller epsilon", "With fewer waves", "If epsilon is to protect"

    def advice(kind: str, **fields: str) -> list[bool]:
        words = "\n".join(guessed(ann, kind, **{**form, **fields}))
        return [each in words for each in (smaller, fewer, split)]

    assert advice("sensing") == [True, False, True]
    assert advice("sensing", waves="2") == [True, True, True]
    assert advice("sensing", unit="person") == [True, False, False]
    assert advice("records", questions="a: x, y", epsilon="8") == [True, False, False]
    assert advice("records", questions="a: x, y", epsilon="1") == [False, False, False]
    campaign = create(ann.api, {**KINDS["sensing"], "epsilon": 8})
    assert smaller not in ann.page.get(f"/campaigns/{campaign['id']}").text


def test_a_delta_is_named_beside_its_epsilon(server: Server) -> None:
    ann = somebody(server)
    asked = {name: value for name, value in KINDS["sensing"].items() if name != "epsilon"}
    options = {"lambda2": 0.5, "insist": True}
    campaign = create(ann.api, asked, mechanism="gaussian-exponential-per-user", options=options)
    level = campaign["guarantee"]["all_waves"][0]
    assert level["delta"] > 0
    words = re.findall(r"\(epsilon [^)]*delta [\d.]+\)", ann.page.get(f"/campaigns/{campaign['id']}").text)
    assert words
    assert float(words[0].rpartition(" ")[2].rstrip(")")) >= level["delta"]
    assert "delta" in ann.page.get("/").text


def test_what_stands_behind_the_address_of_a_sign_in_goes_no_further(server: Server) -> None:
    ann = somebody(server)
    assert ann.page.get("/sign-in").headers["location"] == "/#"


def test_the_page_before_is_one_of_ours(server: Server) -> None:
    ann = somebody(server)
    for path, back in (("/new/sensing", "/new/sensing"), ("//evil.example/x", "/")):
        answer = ann.page.get("/campaigns/none", headers={"Referer": f"{server.url}{path}"})
        assert f'href="{back}"' in answer.text
        assert "evil" not in answer.text


def test_the_overview_tells_what_is_asked(server: Server) -> None:
    ann = somebody(server)
    campaign = create(
        ann.api, {**KINDS["records"], "schema": {"columns": {"sky": {"values": ["red", "blue"]}}}}
    )
    assert "<li>sky: red \N{MIDDLE DOT} blue</li>" in ann.page.get(f"/campaigns/{campaign['id']}").text


def test_how_many_invitations_there_are_and_that_few_reports_say_little(server: Server) -> None:
    ann = somebody(server)
    campaign = create(ann.api, {**KINDS["sensing"], "admission": "invited"})
    people = f"/campaigns/{campaign['id']}/people"
    assert "Invitations made" not in ann.page.get(people).text
    tokens = ann.api.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 3}).json()["tokens"]
    assert "Invitations made so far: 3." in ann.page.get(people).text
    with server.client() as device:
        assert send(device, campaign, tokens[0]).status_code == 201
    until(lambda: ann.api.get(f"/campaigns/{campaign['id']}/results").json()["counted"] == 1)
    assert "There are few reports yet" in ann.page.get(f"/campaigns/{campaign['id']}/results").text


def test_published_is_yes_or_no(server: Server) -> None:
    ann = somebody(server)
    campaign = create(ann.api, KINDS["sensing"])
    assert post(ann.page, f"/campaigns/{campaign['id']}/change", published="maybe").status_code == 422


def test_the_list_tells_what_all_waves_cost(server: Server) -> None:
    ann = somebody(server)
    create(ann.api, {**KINDS["sensing"], "epsilon": 1.5, "waves": 4})
    assert ">6<" in ann.page.get("/").text


def test_a_share_left_untouched_counts_for_every_mechanism(server: Server) -> None:
    ann = somebody(server)
    form = {"objects": "a\nb\nc", "low": "0", "high": "4", "epsilon": "2", "mechanism": "rr"}
    assert "answer about 40.0" in post(ann.page, "/new/sparse/preview", **form, sparsity="60").text
    for wrong in ("x", "100", "-1"):
        assert "<svg" not in post(ann.page, "/new/sparse/preview", **form, sparsity=wrong).text


class Tab:
    """A request of a page that is there, or gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.headers: Json = {}
        self.gone = gone

    async def is_disconnected(self) -> bool:
        return self.gone


def test_the_newest_preview_of_an_operator_is_computed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, begun, go_on = [], threading.Event(), threading.Event()

    def compute(kind: str, values: Json, _: object) -> Json:
        computed.append(values["epsilon"])
        begun.set()
        assert go_on.wait(20)
        return {"wrong": None}

    monkeypatch.setattr(creating, "_computed", compute)

    async def ask(service: Any, operator: int, epsilon: str, *, gone: bool = False) -> Any:
        session = Session(Operator(operator, "x"), "token")
        return await creating._preview(Tab(gone=gone), service, session, "sensing", {"epsilon": epsilon})  # type: ignore[arg-type]

    async def all_at_once() -> list[Any]:
        service = SimpleNamespace(previews=Previews())
        first = asyncio.create_task(ask(service, 1, "first"))
        await asyncio.to_thread(begun.wait, 20)
        others = [
            asyncio.create_task(ask(service, 1, "overtaken")),
            asyncio.create_task(ask(service, 1, "newest")),
            asyncio.create_task(ask(service, 2, "of another")),
            asyncio.create_task(ask(service, 3, "gone", gone=True)),
        ]
        await asyncio.sleep(0.05)
        assert computed == ["first"]  # one at a time
        go_on.set()
        answers = await asyncio.gather(first, *others)
        assert service.previews.newest == {}
        return answers

    answers = asyncio.run(all_at_once())
    assert computed == ["first", "newest", "of another"]
    assert [answer["wrong"] is None for answer in answers] == [True, False, True, True, False]
