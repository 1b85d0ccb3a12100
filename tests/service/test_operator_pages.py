"""Pages of operators: who may see and do what there, and that no other site can do it for them."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from collections.abc import Callable
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
from crowdveil.service.web import creating, drafts, sign_in
from crowdveil.service.web.page import POLICY
from crowdveil.service.web.session import Session
from devices import KINDS, Json, create, database_of, fill, until
from operator_browser import KEY, browser, key_of, post, signed_in
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
        assert "No operator has this name and password" in answer.text
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
    assert sign_in.local(asked) == led


def test_whoever_signs_in_comes_back_to_the_very_page(server: Server) -> None:
    ann, path = somebody(server), "/campaigns/x/results?wave=2"
    led = browser(server).get(path).headers["location"]
    assert led == "/sign-in?next=%2Fcampaigns%2Fx%2Fresults%3Fwave%3D2"
    assert ann.page.get(led).headers["location"] == path


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
        "about": "opinions",
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
    assert (made["about"], made["retention"][:10]) == ("opinions", "2099-01-31")
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


def test_the_preview_counts_all_waves(server: Server) -> None:
    """Two waves at 2 are 4 for whoever reports in both: .98202 by the same formula, rounded up."""
    ann = somebody(server)
    fields = {"objects": "a", "low": "0", "high": "1", "epsilon": "2", "waves": "2"}
    seen = post(ann.page, "/new/sensing/preview", **fields).text
    assert "at most 98.3" in seen
    assert "at most 88.1" not in seen


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


@pytest.mark.parametrize(
    "lines",
    ["", "  \n", "job", ": a, b", "?: a, b", "age: 0 < x", "a: 1, 2\na: 3, 4", "{", "[1]", "{" * 5000],
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
    for text in ("1,500", "1.500,5", "1,500.5", "1,2,3"):  # a thousand and a half, or one and a half?
        with pytest.raises(ParameterError, match="between thousands"):
            drafts.objects_of(f"a | dB | 0:{text}")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"epsilon": ""}, "epsilon is a number above 0"),
        ({"epsilon": "0"}, "epsilon is a number above 0"),
        ({"waves": "0"}, "waves"),
        ({"low": ""}, "give the lowest and the highest value"),
        ({"objects": "a\nb | " + "x" * 41}, "line 2 of the list, unit"),
        ({"title": "x" * 201}, "title"),
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
