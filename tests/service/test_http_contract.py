"""The HTTP contract of the service, on both databases: campaigns, their states, who may see them, errors."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx
import pytest

from devices import KINDS, RECORDS, SENSING, SPARSE, assert_problem, create, operator, rows, send
from serving import Server

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def test_each_kind_of_campaign_is_created_with_its_guarantee(server: Server) -> None:
    ann = operator(server)
    units = {"sensing": "claim", "sparse": "cell", "slots": "person", "records": "record"}
    for name, request in KINDS.items():
        made = ann.post("/campaigns", json=request)
        assert made.status_code == 201, made.text
        campaign = made.json()
        assert campaign["id"]
        assert campaign["state"] == "draft"
        assert campaign["unit"] == campaign["guarantee"]["unit"] == units[name]
        assert {"name", "parameters", "wire"} <= campaign["mechanism"].keys()
        guarantee = campaign["guarantee"]
        assert 0 < guarantee["epsilon"] <= 2
        assert guarantee["sentence"]
        assert guarantee["not_promised"]
        assert len(guarantee["levels"]) >= 1
        assert campaign["links"]["self"] == f"/api/v1/campaigns/{campaign['id']}"
        assert campaign["links"]["page"] == f"/c/{campaign['id']}"


def test_both_levels_are_stated_in_numbers(server: Server) -> None:
    guarantee = create(operator(server), SENSING)["guarantee"]
    levels = {level["hidden"]: level["epsilon"] for level in guarantee["levels"]}
    assert len(levels) == 2
    one, all_of_a_person = sorted(level for level in levels.values() if level is not None)
    assert one == guarantee["epsilon"] == pytest.approx(2)
    assert all_of_a_person == pytest.approx(4)  # two objects


def test_units_that_a_mechanism_cannot_protect_are_refused(server: Server) -> None:
    ann = operator(server)
    for request, unit in ((SENSING, "cell"), (SPARSE, "claim"), (RECORDS, "cell")):
        assert_problem(ann.post("/campaigns", json={**request, "unit": unit}), 422)
    for request in (SENSING, SPARSE, RECORDS):
        made = ann.post("/campaigns", json={**request, "unit": "person"})
        assert made.status_code == 201, made.text
        assert made.json()["guarantee"]["unit"] == "person"


def test_objects_have_ranges_and_units_of_their_own(server: Server) -> None:
    objects = [{"name": "heat", "range": [-40, 60], "unit": "°C"}, {"name": "ph", "range": [0, 14]}]
    request = {"title": "t", "kind": "sensing", "objects": objects, "epsilon": 1}
    seen = create(operator(server), request)
    assert seen["objects"] == [
        {"name": "heat", "range": [-40.0, 60.0], "unit": "°C"},
        {"name": "ph", "range": [0.0, 14.0]},
    ]


def test_an_operator_lists_her_own_campaigns_the_newest_first(server: Server) -> None:
    ann, bob = operator(server), operator(server)
    made = [create(ann, title=title)["id"] for title in ("one", "two")]
    create(bob)
    listed = ann.get("/campaigns").json()["campaigns"]
    assert [campaign["id"] for campaign in listed] == made[::-1]
    assert {campaign["role"] for campaign in listed} == {"owner"}


def test_everybody_sees_all_that_a_device_needs(server: Server) -> None:
    campaign = create(operator(server), RECORDS)
    seen = server.client().get(f"/campaigns/{campaign['id']}")
    assert seen.status_code == 200
    assert seen.json() == campaign
    assert campaign["schema"]["columns"].keys() == {"job", "age"}


@pytest.mark.parametrize(
    ("moves", "last"),
    [
        (["open"], 200),
        (["open", "paused", "open", "closed"], 200),
        (["open", "open"], 200),
        (["open", "paused", "closed"], 200),
        (["paused"], 409),
        (["closed"], 409),
        (["open", "closed", "open"], 409),
        (["open", "closed", "paused"], 409),
    ],
)
def test_states_follow_each_other(server: Server, moves: list[str], last: int) -> None:
    ann = operator(server)
    address = f"/campaigns/{create(ann, state='draft')['id']}"
    answers = [ann.patch(address, json={"state": state}) for state in moves]
    assert [answer.status_code for answer in answers] == [200] * (len(moves) - 1) + [last]
    if last == 409:
        assert_problem(answers[-1], 409, "state")
        assert ann.get(address).json()["state"] == (moves[-2] if len(moves) > 1 else "draft")
    else:
        assert answers[-1].json()["state"] == moves[-1]


@pytest.mark.parametrize(
    "changed", ["epsilon", "title", "objects", "mechanism", "admission", "waves", "kind"]
)
def test_parameters_are_frozen(server: Server, changed: str) -> None:
    ann = operator(server)
    for state in ("draft", "open"):
        campaign = create(ann, state=state)
        value = {**SENSING, "mechanism": "laplace", "admission": "invited", "waves": 2}[changed]
        assert_problem(ann.patch(f"/campaigns/{campaign['id']}", json={changed: value}), 422, "invalid")
        assert ann.get(f"/campaigns/{campaign['id']}").json() == campaign


def test_a_patch_that_changes_nothing_is_refused(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann)
    for nothing in ({}, {"state": None}, {"published": None}):
        assert_problem(ann.patch(f"/campaigns/{campaign['id']}", json=nothing), 422)


def test_who_takes_reports_away_is_in_the_journal(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann)
    own = f"/campaigns/{campaign['id']}"
    send(server.client(), campaign, "p")
    for path in ("/reports.parquet", "/bundle.zip"):
        assert ann.get(own + path).status_code == 200
    journal = ann.get(f"{own}/journal").json()["entries"]
    taken = [entry["detail"] for entry in journal if entry["action"] == "download"]
    assert taken == ["reports of wave 1", "bundle of wave 1"]


def test_times_are_iso_8601_in_utc(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann, state="closed", retention="2099-12-31T23:00:00-01:00")
    assert campaign["retention"] == "2100-01-01T00:00:00.000000Z"
    for name in ("created", "opened", "closed"):
        assert TIME.fullmatch(campaign[name])
    journal = ann.get(f"/campaigns/{campaign['id']}/journal").json()["entries"]
    charges = ann.get(f"/campaigns/{campaign['id']}/ledger").json()["entries"]
    assert all(TIME.fullmatch(entry["time"]) for entry in journal + charges)


@pytest.mark.parametrize(
    "past", ["2001-01-31", "0900-01-01", "0001-01-01T00:00:00+14:00", "soon", "9999-99-99"]
)
def test_a_retention_that_is_no_time_to_come_is_refused(server: Server, past: str) -> None:
    ann = operator(server)
    assert_problem(ann.post("/campaigns", json={**SENSING, "retention": past}), 422)
    campaign = create(ann)
    assert_problem(ann.patch(f"/campaigns/{campaign['id']}", json={"retention": past}), 422)
    assert ann.get(f"/campaigns/{campaign['id']}").json()["retention"] is None


def test_a_retention_can_be_set_and_taken_back(server: Server) -> None:
    ann = operator(server)
    address = f"/campaigns/{create(ann)['id']}"
    assert (
        ann.patch(address, json={"retention": "2090-05-01"}).json()["retention"].startswith("2090-05-01T00")
    )
    assert ann.patch(address, json={"retention": None}).json()["retention"] is None


def test_invitations_admit_one_participant_each(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, admission="invited")
    made = ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 3})
    assert made.status_code == 201
    tokens = made.json()["tokens"]
    assert len(set(tokens)) == 3
    assert [send(device, campaign, token).status_code for token in tokens] == [201] * 3
    assert_problem(send(device, campaign, "made-up"), 403, "not-invited")
    assert_problem(send(device, campaign, tokens[0], key="another"), 409, "reported")


def test_an_open_campaign_has_no_invitations(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann)
    assert_problem(ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 1}), 409, "admission")
    closed = create(ann, admission="invited", state="closed")
    assert_problem(ann.post(f"/campaigns/{closed['id']}/invitations", json={"count": 1}), 409, "closed")


def test_the_guarantee_says_how_people_are_admitted(server: Server) -> None:
    ann = operator(server)
    words = {
        admission: " ".join(create(ann, admission=admission)["guarantee"]["not_promised"])
        for admission in ("open", "invited")
    }
    assert "one person with two devices" in words["open"]
    assert "several invitations" in words["invited"]


def test_a_campaign_is_shared_with_viewers_and_owners(server: Server) -> None:
    ann, bob = operator(server), operator(server, name="bob")
    address = f"/campaigns/{create(ann)['id']}"
    assert_problem(bob.get(f"{address}/results"), 404, "unknown-campaign")
    shared = ann.put(f"{address}/roles/bob", json={"role": "viewer"})
    assert {"operator": "bob", "role": "viewer"} in shared.json()["roles"]
    assert bob.get(f"{address}/results").status_code == 200
    assert bob.get("/campaigns").json()["campaigns"][0]["role"] == "viewer"
    assert_problem(bob.patch(address, json={"state": "paused"}), 403, "owner")
    assert ann.put(f"{address}/roles/bob", json={"role": "owner"}).status_code == 200
    assert bob.patch(address, json={"state": "paused"}).status_code == 200
    assert ann.put(f"{address}/roles/bob", json={"role": "none"}).status_code == 200
    assert_problem(bob.get(f"{address}/results"), 404, "unknown-campaign")


def test_a_campaign_keeps_an_owner(server: Server) -> None:
    ann = operator(server, name="the only one")
    address = f"/campaigns/{create(ann)['id']}"
    for role in ("none", "viewer"):
        assert_problem(ann.put(f"{address}/roles/the only one", json={"role": role}), 409, "owner")
    assert ann.get(f"{address}/roles").json()["roles"] == [{"operator": "the only one", "role": "owner"}]
    assert_problem(ann.put(f"{address}/roles/nobody", json={"role": "viewer"}), 404, "unknown-operator")


def test_the_ledger_charges_a_wave_before_anybody_reports(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann, state="draft", waves=2)
    address = f"/campaigns/{campaign['id']}"
    assert ann.get(f"{address}/ledger").json()["entries"] == []
    ann.patch(address, json={"state": "open"})
    (charge,) = ann.get(f"{address}/ledger").json()["entries"]
    assert (charge["wave"], charge["reports"]) == (1, 0)
    assert charge["promise"]["epsilon"] == campaign["guarantee"]["epsilon"]
    ann.patch(address, json={"wave": 2})
    assert [entry["wave"] for entry in ann.get(f"{address}/ledger").json()["entries"]] == [1, 2]


def test_the_service_says_that_it_lives_is_ready_and_what_it_counts(server: Server) -> None:
    assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{server.url}/readyz").json() == {"status": "ready"}
    send(server.client(), create(operator(server)), "somebody")
    counted = httpx.get(f"{server.url}/metrics")
    assert counted.headers["content-type"].startswith("text/plain; version=")
    accepted = re.search(r'^crowdveil_reports_total\{outcome="accepted"\} (.*)$', counted.text, re.MULTILINE)
    assert accepted is not None
    assert float(accepted[1]) >= 1
    route = 'route="/api/v1/campaigns/{id}/reports",status="201"'
    assert f'crowdveil_requests_total{{method="POST",{route}}}' in counted.text


def test_every_error_is_a_problem(server: Server) -> None:
    ann, nobody = operator(server), server.client()
    own = f"/campaigns/{create(ann)['id']}"
    asked: list[tuple[int, httpx.Response]] = [
        (401, nobody.get("/campaigns")),
        (401, nobody.post("/tokens", json={"name": "x", "password": "y"})),
        (404, nobody.get("/campaigns/none")),
        (404, nobody.get("/nothing/here")),
        (405, nobody.put("/campaigns", json={})),
        (405, nobody.request("PROPFIND", "/campaigns")),
        (409, ann.patch(own, json={"wave": 2})),
        (
            413,
            ann.post("/campaigns", content=b" " * (2**20 + 1), headers={"Content-Type": "application/json"}),
        ),
        (415, ann.post("/campaigns", content=b"title=x", headers={"Content-Type": "text/plain"})),
        (415, nobody.post(f"{own}/reports/batch", json={})),
        (422, ann.post("/campaigns", json={})),
        (422, ann.post("/campaigns", content=b"{", headers={"Content-Type": "application/json"})),
        (422, ann.get(f"{own}/results", params={"wave": "one"})),
    ]
    for status, answer in asked:
        assert_problem(answer, status)
    assert asked[0][1].headers["www-authenticate"] == "Bearer"


def test_operators_sign_in_with_a_password_and_out(server: Server) -> None:
    added = subprocess.run(
        [sys.executable, "-m", "crowdveil", "operator", "add", "eve", "--password-stdin", "--json"],
        input="a long password\n",
        env=server.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"token"' in added.stdout
    nobody = server.client()
    for wrong in (
        {"name": "eve", "password": "another one"},
        {"name": "adam", "password": "a long password"},
    ):
        assert_problem(nobody.post("/tokens", json=wrong), 401, "password")
    signed = nobody.post("/tokens", json={"name": "eve", "password": "a long password"})
    assert signed.status_code == 201
    assert TIME.fullmatch(signed.json()["expires"])
    eve = server.client(signed.json()["token"])
    assert eve.get("/campaigns").json() == {"campaigns": []}
    assert eve.delete("/tokens").status_code == 204
    assert_problem(eve.get("/campaigns"), 401, "token")


def test_refused_requests_write_nothing(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann)
    before = rows(server)
    assert_problem(ann.post("/campaigns", json={**SENSING, "epsilon": -1}), 422)
    assert_problem(ann.patch(f"/campaigns/{campaign['id']}", json={"published": True, "wave": 5}), 409)
    assert_problem(ann.put(f"/campaigns/{campaign['id']}/roles/nobody", json={"role": "owner"}), 404)
    assert rows(server) == before
    assert ann.get(f"/campaigns/{campaign['id']}").json() == campaign
