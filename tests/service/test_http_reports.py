"""The HTTP contract of the service, on both databases: places, reports, batches, withdrawal, waves."""

from __future__ import annotations

import itertools
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import select

from crowdveil.service.store.schema import campaigns, reports
from devices import (
    KINDS,
    RECORDS,
    SENSING,
    SLOTS,
    SPARSE,
    Json,
    assert_problem,
    create,
    database_of,
    fill,
    operator,
    report,
    rows,
    send,
    submission,
    until,
)
from serving import Server

NDJSON = {"Content-Type": "application/x-ndjson"}


def batch(client: httpx.Client, address: str, lines: list[Any]) -> list[Json]:
    """The answers to the lines of a batch; a line is bytes as they are, or a value."""
    content = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    answer = client.post(address, content=content, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def results(client: httpx.Client, campaign: Json, **query: Any) -> Json:
    answer = client.get(f"/campaigns/{campaign['id']}/results", params=query)
    assert answer.status_code == 200, answer.text
    seen: Json = answer.json()
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_is_the_same_each_time(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    address = f"/campaigns/{campaign['id']}/places"
    first = [device.post(address, json={"participant": f"p{who}"}) for who in range(4)]
    again = [device.post(address, json={"participant": f"p{who}"}) for who in range(4)]
    assert {answer.status_code for answer in first + again} == {200}
    assert [answer.json() for answer in again] == [answer.json() for answer in first]
    assert sorted(answer.json()["place"] for answer in first) == [0, 1, 2, 3]
    for answer in first:
        assert (answer.json()["wave"], answer.json()["round"]) == (1, 0)
        assert ("question" in answer.json()) == (kind == "records")
        assert answer.json()["reported"] is False
    assert results(ann, campaign)["participants"] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_tells_that_there_is_a_report_or_was_one(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    address = f"/campaigns/{campaign['id']}"
    assert device.post(f"{address}/reports", json=submission(device, campaign, "p")).status_code == 201
    asked = [{"participant": "p"}, {"participant": "q"}]
    for _ in range(2):
        assert [device.post(f"{address}/places", json=each).json()["reported"] for each in asked] == [
            True,
            False,
        ]
        lines = batch(device, f"{address}/places/batch", asked)
        assert [answer["reported"] for answer in lines] == [True, False]
        device.delete(f"{address}/reports/p")


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_counted_once(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    address = f"/campaigns/{campaign['id']}/reports"
    body = submission(device, campaign, "p", key="k")
    sent = device.post(address, json=body)
    assert (sent.status_code, sent.json()) == (201, {"status": "accepted"})
    before = rows(server)
    again = device.post(address, json=body)
    assert (again.status_code, again.json()) == (200, {"status": "known"})
    assert_problem(device.post(address, json={**body, "key": "another"}), 409, "reported")
    assert rows(server) == before
    assert (results(ann, campaign)["participants"], results(ann, campaign)["reports"]) == (1, 1)


def test_where_different_people_are_asked_different_things_a_place_comes_first(server: Server) -> None:
    device = server.client()
    for request in (SLOTS, RECORDS):
        campaign = create(operator(server), request)
        other = submission(device, campaign, "asked")
        answer = device.post(f"/campaigns/{campaign['id']}/reports", json={**other, "participant": "unasked"})
        assert_problem(answer, 409, "no-place")


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_answers_each_line_in_order(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    address = f"/campaigns/{campaign['id']}/reports/batch"
    good = [submission(device, campaign, f"p{who}") for who in range(4)]
    wrong = {**good[3], "report": {"v": 1, "mechanism": "none", "payload": []}}
    lines = [
        good[0],
        b"{not json",
        good[1],
        good[0],
        {**good[1], "key": "another"},
        {**good[2], "extra": 1},
        {**good[2], "wave": 7},
        wrong,
        good[2],
        {**good[3], "round": 5},
        b"[]",
        b'{"participant": "\xff"}',
        b"null",
    ]
    answers = batch(device, address, lines)
    statuses = [201, 422, 201, 200, 409, 422, 409, 422, 201, 409, 422, 422, 422]
    assert [answer["status"] for answer in answers] == statuses
    for answer in answers:
        if answer["status"] >= 400:
            assert {"type", "title", "status", "detail"} <= answer.keys()
        assert "extra" not in str(answer).replace("extra forbidden", "")
    assert results(ann, campaign)["reports"] == 3


def test_a_batch_of_places_answers_each_line_in_order(server: Server) -> None:
    device = server.client()
    campaign = create(operator(server), RECORDS)
    address = f"/campaigns/{campaign['id']}/places/batch"
    answers = batch(
        device,
        address,
        [{"participant": "a"}, {"participant": ""}, {"participant": "b"}, {"participant": "a"}],
    )
    assert [answer["status"] for answer in answers] == [200, 422, 200, 200]
    assert answers[3] == answers[0]
    assert answers[0]["question"]
    single = device.post(f"/campaigns/{campaign['id']}/places", json={"participant": "b"}).json()
    assert {**single, "status": 200} == answers[2]


def test_a_long_batch_is_answered_whole(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann)
    body = report(campaign)
    lines = [{"participant": f"p{who}", "key": "k", "report": body} for who in range(2500)]
    lines[1700] = {"participant": "p1700"}
    answers = batch(device, f"/campaigns/{campaign['id']}/reports/batch", lines)
    assert [at for at, answer in enumerate(answers) if answer["status"] != 201] == [1700]
    assert len(answers) == 2500
    assert results(ann, campaign)["reports"] == 2499


def test_a_batch_without_a_line_is_refused(server: Server) -> None:
    campaign = create(operator(server))
    answer = server.client().post(
        f"/campaigns/{campaign['id']}/reports/batch", content=b"\n \n", headers=NDJSON
    )
    assert_problem(answer, 422, "empty")


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_withdraws_is_gone_and_the_place_stays_taken(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    fill(device, campaign, 3)
    address = f"/campaigns/{campaign['id']}/reports/person1"
    gone = device.delete(address)
    assert (gone.status_code, gone.json()) == (200, {"withdrawn": 1})
    now = results(ann, campaign)
    assert (now["participants"], now["reports"], now["withdrawn"]) == (3, 2, 1)
    assert_problem(send(device, campaign, "person1", key="fresh"), 409, "withdrawn")
    assert_problem(send(device, campaign, "person1"), 409, "withdrawn")
    assert device.delete(address).json() == {"withdrawn": 0}
    assert results(ann, campaign)["reports"] == 2
    place = device.post(f"/campaigns/{campaign['id']}/places", json={"participant": "person1"})
    assert place.json()["place"] == 1
    assert payloads(server, campaign) == [True, False, True]


def payloads(server: Server, campaign: Json) -> list[bool]:
    """Whether there is a report, for each place."""
    with database_of(server) as connection:
        query = (
            select(reports.c.payload)
            .join(campaigns, campaigns.c.number == reports.c.campaign)
            .where(campaigns.c.id == campaign["id"])
            .order_by(reports.c.place)
        )
        return [payload is not None for payload in connection.execute(query).scalars()]


@pytest.mark.parametrize("kind", KINDS)
def test_results_follow_a_withdrawal(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign, control = create(ann, KINDS[kind]), create(ann, KINDS[kind])
    fill(device, campaign, 3)
    until(lambda: results(ann, campaign)["counted"] == 3)
    assert device.delete(f"/campaigns/{campaign['id']}/reports/person2").status_code == 200
    until(lambda: results(ann, campaign)["counted"] == 2)
    assert results(ann, campaign)["provisional"] is True
    assert results(ann, control)["counted"] == 0
    for other in ("person0", "person1"):
        device.delete(f"/campaigns/{campaign['id']}/reports/{other}")
    now = results(ann, campaign)
    assert (now["reports"], now["withdrawn"]) == (0, 3)
    until(lambda: not (results(ann, campaign).get("truths") or results(ann, campaign).get("tables")))


def test_somebody_without_a_report_can_withdraw_too(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, RECORDS)
    body = submission(device, campaign, "p")
    assert device.delete(f"/campaigns/{campaign['id']}/reports/p").json() == {"withdrawn": 0}
    assert_problem(device.post(f"/campaigns/{campaign['id']}/reports", json=body), 409, "withdrawn")
    assert results(ann, campaign)["reports"] == 0


def test_withdrawal_needs_a_participant_and_a_campaign_that_is_open(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann)
    fill(device, campaign, 2)
    assert_problem(device.delete(f"/campaigns/{campaign['id']}/reports/stranger"), 404, "unknown-participant")
    ann.patch(f"/campaigns/{campaign['id']}", json={"state": "paused"})
    assert device.delete(f"/campaigns/{campaign['id']}/reports/person0").status_code == 200
    ann.patch(f"/campaigns/{campaign['id']}", json={"state": "closed"})
    assert_problem(device.delete(f"/campaigns/{campaign['id']}/reports/person1"), 409, "closed")


@pytest.mark.parametrize("token", ["a/b", "batch", "%2e%2e", "?x=1#y", "..", "a%b", "~!@$&'()*+,;=:"])
def test_whatever_the_token_is_its_participant_can_withdraw(server: Server, token: str) -> None:
    device = server.client()
    campaign = create(operator(server))
    assert send(device, campaign, token).status_code == 201
    escaped = quote(token, safe="").replace(".", "%2E")
    assert device.delete(f"/campaigns/{campaign['id']}/reports/{escaped}").json() == {"withdrawn": 1}


def test_the_guarantee_states_one_wave_and_all_together(server: Server) -> None:
    guarantee = create(operator(server), waves=3)["guarantee"]
    assert guarantee["waves"] == 3
    for one, all_together in zip(guarantee["levels"], guarantee["all_waves"], strict=True):
        assert one["epsilon"] is not None
        assert all_together["epsilon"] == pytest.approx(3 * one["epsilon"])
        assert all_together["epsilon"] >= 3 * one["epsilon"]
    single = create(operator(server))["guarantee"]
    assert single["all_waves"] == single["levels"]


@pytest.mark.parametrize("request_", [SENSING, SPARSE, RECORDS], ids=["sensing", "sparse", "records"])
def test_a_late_report_counts_in_the_wave_that_it_names(server: Server, request_: Json) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, request_, waves=2)
    address = f"/campaigns/{campaign['id']}"
    assert send(device, campaign, "early").status_code == 201
    late = submission(device, campaign, "late", wave=1)
    early = device.post(f"{address}/places", json={"participant": "early", "wave": 2})
    assert_problem(early, 409, "wave")
    assert ann.patch(address, json={"wave": 2}).json()["wave"] == 2
    assert send(device, campaign, "early", key="k2").status_code == 201
    assert device.post(f"{address}/reports", json=late).status_code == 201
    assert [results(ann, campaign, wave=wave)["reports"] for wave in (1, 2)] == [2, 1]
    assert results(ann, campaign)["wave"] == 2
    until(lambda: [results(ann, campaign, wave=wave)["counted"] for wave in (1, 2)] == [2, 1])
    assert device.delete(f"{address}/reports/early").json() == {"withdrawn": 2}


def test_waves_open_one_after_the_other(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann, waves=3)
    address = f"/campaigns/{campaign['id']}"
    assert_problem(ann.patch(address, json={"wave": 3}), 409, "wave")
    assert ann.patch(address, json={"wave": 2}).status_code == 200
    assert ann.patch(address, json={"wave": 2}).status_code == 200
    assert_problem(ann.patch(address, json={"wave": 1}), 409, "wave")
    assert ann.patch(address, json={"wave": 3}).status_code == 200
    assert_problem(ann.patch(address, json={"wave": 4}), 409, "wave")
    draft = create(ann, state="draft", waves=2)
    assert_problem(ann.patch(f"/campaigns/{draft['id']}", json={"wave": 2}), 409, "state")


def test_the_worker_opens_a_round_and_a_late_answer_counts_in_its_own(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, RECORDS, people=8)
    address = f"/campaigns/{campaign['id']}"
    late = submission(device, campaign, "late", round=0)
    fill(device, campaign, 7)

    strangers = (f"stranger{number}" for number in itertools.count())

    def asked_now() -> int:
        place = device.post(f"{address}/places", json={"participant": next(strangers)}).json()
        return int(place["round"])

    until(lambda: asked_now() > 0)
    assert device.post(f"{address}/reports", json=late).status_code == 201
    new = submission(device, campaign, "new")
    assert_problem(device.post(f"{address}/reports", json={**new, "round": 0}), 409, "round")
    assert device.post(f"{address}/reports", json=new).status_code == 201
    until(lambda: results(ann, campaign)["counted"] == 9)
