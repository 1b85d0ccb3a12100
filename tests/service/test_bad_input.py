"""Bad input, on both databases: a clear problem, nothing half-written, and a server that lives."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from devices import (
    KINDS,
    RECORDS,
    SENSING,
    SLOTS,
    SPARSE,
    Json,
    assert_problem,
    create,
    operator,
    report,
    rows,
    send,
    submission,
)
from serving import Server

NOWHERE = "0" * 32
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


@contextmanager
def nothing_written(server: Server) -> Iterator[None]:
    """What is done within changes no table, and the server answers afterwards."""
    before = rows(server)
    yield
    assert rows(server) == before
    assert httpx.get(f"{server.url}/readyz", verify=False).status_code == 200


@pytest.mark.parametrize(
    "id", [NOWHERE, "none", "x" * 5000, "%00", "%F0%9F%90%9D", "%ff", "a%2Fb", "..%2F..", "'"]
)
def test_an_unknown_campaign_is_not_found(server: Server, id: str) -> None:
    ann, device = operator(server), server.client()
    body = {"participant": "p", "key": "k", "report": {}}
    with nothing_written(server):
        for answer in (
            device.get(f"/campaigns/{id}"),
            device.post(f"/campaigns/{id}/places", json={"participant": "p"}),
            device.post(f"/campaigns/{id}/reports", json=body),
            device.post(f"/campaigns/{id}/reports/batch", content=b"{}", headers=NDJSON),
            device.delete(f"/campaigns/{id}/reports/p"),
            ann.get(f"/campaigns/{id}/results"),
            ann.patch(f"/campaigns/{id}", json={"state": "open"}),
            ann.delete(f"/campaigns/{id}"),
            httpx.get(f"{server.url}/c/{id}/results"),
        ):
            assert_problem(answer, 404)


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_that_is_not_open_takes_nothing(server: Server, kind: str, state: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind], state="draft")
    address = f"/campaigns/{campaign['id']}"
    ready = {"participant": "p", "key": "k", "report": {}}
    if state != "draft":
        ann.patch(address, json={"state": "open"})
        ready = submission(device, campaign, "p")
        ann.patch(address, json={"state": state})
    elif kind == "sensing":
        ready["report"] = report(campaign)
    with nothing_written(server):
        single = device.post(f"{address}/reports", json=ready)
        if kind == "sparse" and state == "draft":
            assert_problem(single, 422)  # this one is no report of any device
        else:
            assert_problem(single, 409, state)
        assert_problem(device.post(f"{address}/places", json={"participant": "q"}), 409, state)
        batch = device.post(f"{address}/reports/batch", content=json.dumps(ready).encode(), headers=NDJSON)
        assert json.loads(batch.text)["status"] == single.status_code


def wrong_reports() -> Iterator[tuple[str, Json, Callable[[Json], Any]]]:
    """What no device sends, by kind."""
    changes: dict[str, Callable[[Json], Any]] = {
        "nothing": lambda _: None,
        "another version": lambda sent: {**sent, "v": 2},
        "a version that is true": lambda sent: {**sent, "v": True},
        "another mechanism": lambda sent: {**sent, "mechanism": "plain"},
        "more than a report": lambda sent: {**sent, "value": 3},
        "no payload": lambda sent: {name: sent[name] for name in ("v", "mechanism")},
        "a payload of text": lambda sent: {**sent, "payload": "3"},
        "a payload of null": lambda sent: {**sent, "payload": None},
        "an empty payload": lambda sent: {**sent, "payload": type(sent["payload"])()},
        "a list of lists": lambda sent: {**sent, "payload": [[[]]]},
        "numbers too large": lambda sent: {**sent, "payload": spoiled(sent["payload"], 2**70)},
        "numbers too small": lambda sent: {**sent, "payload": spoiled(sent["payload"], -(2**70))},
        "fractions": lambda sent: {**sent, "payload": spoiled(sent["payload"], 0.5)},
        "truth values": lambda sent: {**sent, "payload": spoiled(sent["payload"], True)},
        "raw text": lambda sent: {**sent, "payload": spoiled(sent["payload"], "7.25")},
        "null": lambda sent: {**sent, "payload": spoiled(sent["payload"], None)},
    }
    for kind, request in KINDS.items():
        for name, change in changes.items():
            if name == "an empty payload" and kind in ("sensing", "records"):
                continue  # nothing is said about anything; zero is said
            yield f"{kind}: {name}", request, change


def spoiled(payload: Any, value: Any) -> Any:
    """The payload with this in the place of its first number."""
    if isinstance(payload, list):
        return [spoiled(payload[0], value), *payload[1:]]
    if isinstance(payload, dict):
        first = next(iter(payload))
        return {**payload, first: spoiled(payload[first], value)}
    return value


WRONG = list(wrong_reports())


@pytest.mark.parametrize(
    ("request_", "change"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG]
)
def test_a_report_outside_the_domain_is_refused(
    server: Server, request_: Json, change: Callable[[Json], Any]
) -> None:
    device = server.client()
    campaign = opened(server, request_)
    good = submission(device, campaign, "p")
    address = f"/campaigns/{campaign['id']}/reports"
    bad = {**good, "report": change(good["report"])}
    with nothing_written(server):
        answer = device.post(address, json=bad)
        assert_problem(answer, 422, "report")
        assert "7.25" not in answer.text
        line = device.post(f"{address}/batch", content=json.dumps(bad).encode(), headers=NDJSON)
        assert json.loads(line.text)["status"] == 422


_opened: dict[tuple[str, str], Json] = {}


def opened(server: Server, request: Json) -> Json:
    """An open campaign that tests which write nothing share."""
    key = (server.database, json.dumps(request))
    if key not in _opened:
        _opened[key] = create(operator(server), request)
    return _opened[key]


def test_an_object_that_is_not_listed_is_refused(server: Server) -> None:
    device = server.client()
    campaign = opened(server, SENSING)
    other = report(create(operator(server), objects=["north"]), answer={"north": 1.0})
    body = {"participant": "p", "key": "k", "report": other}
    with nothing_written(server):
        answer = device.post(f"/campaigns/{campaign['id']}/reports", json=body)
        assert_problem(answer, 422, "report")
        assert "north" not in answer.text


def test_a_replayed_report_counts_for_nobody_else(server: Server) -> None:
    device = server.client()
    for request in (SENSING, RECORDS):
        campaign = create(operator(server), request)
        other = create(operator(server), request)
        body = submission(device, campaign, "p")
        address = f"/campaigns/{campaign['id']}/reports"
        assert device.post(address, json=body).status_code == 201
        with nothing_written(server):
            assert device.post(address, json=body).status_code == 200
            assert_problem(device.post(address, json={**body, "key": "k2"}), 409, "reported")
            lines = b"\n".join([json.dumps(body).encode()] * 3)
            replayed = device.post(f"{address}/batch", content=lines, headers=NDJSON)
            assert [json.loads(line)["status"] for line in replayed.text.splitlines()] == [200] * 3
        if request is SENSING:  # its own first report in another campaign
            assert device.post(f"/campaigns/{other['id']}/reports", json=body).status_code == 201


def test_an_invitation_to_another_campaign_is_refused(server: Server) -> None:
    ann, device = operator(server), server.client()
    campaigns = [create(ann, admission="invited") for _ in range(2)]
    tokens = [
        ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 1}).json()["tokens"][0]
        for campaign in campaigns
    ]
    with nothing_written(server):
        assert_problem(send(device, campaigns[0], tokens[1]), 403, "not-invited")
        place = device.post(f"/campaigns/{campaigns[0]['id']}/places", json={"participant": tokens[1]})
        assert_problem(place, 403, "not-invited")
        assert_problem(device.delete(f"/campaigns/{campaigns[0]['id']}/reports/{tokens[1]}"), 404)
    assert send(device, campaigns[1], tokens[1]).status_code == 201


def test_a_round_that_was_not_asked_and_a_wave_that_is_not_there_are_refused(server: Server) -> None:
    device = server.client()
    for request in (SENSING, SPARSE, SLOTS, RECORDS):
        campaign = opened(server, request)
        address = f"/campaigns/{campaign['id']}/reports"
        good = submission(device, campaign, "p")
        with nothing_written(server):
            assert_problem(device.post(address, json={**good, "round": 1}), 409, "round")
            assert_problem(device.post(address, json={**good, "wave": 2}), 409, "wave")
            wrong: list[Any] = [0, -1, 1001, 2**40, 1.5, "1", True, []]
            for no_number in wrong:
                assert_problem(device.post(address, json={**good, "wave": no_number}), 422)
            for no_number in [-1, 10**9, "0", 0.5]:
                assert_problem(device.post(address, json={**good, "round": no_number}), 422)


@pytest.mark.parametrize(
    "token", ["", " ", "a b", "ü", "\x00", "x" * 201, "\ud800", "a\nb", 7, None, ["p"], {}]
)
def test_a_token_that_is_none_is_refused(server: Server, token: Any) -> None:
    device = server.client()
    campaign = opened(server, SENSING)
    address = f"/campaigns/{campaign['id']}"
    body = {"participant": "p", "key": "k", "report": report(campaign)}
    with nothing_written(server):
        for field in ("participant", "key"):
            content = json.dumps({**body, field: token}).encode()
            assert_problem(device.post(f"{address}/reports", content=content, headers=JSON), 422)
            line = device.post(f"{address}/reports/batch", content=content, headers=NDJSON)
            assert json.loads(line.text)["status"] == 422
        content = json.dumps({"participant": token}).encode()
        assert_problem(device.post(f"{address}/places", content=content, headers=JSON), 422)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"nonsense", 422),
        (b"[1, 2]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"\xff\xfe\x00", 400),
        (b"[" * 100_000, 400),
        (b'{"title":' * 5000 + b"1" + b"}" * 5000, 400),
        (b'{"epsilon": ' + b"9" * 10_000 + b"}", 400),
    ],
    ids=[
        "nothing",
        "cut off",
        "no JSON",
        "list",
        "null",
        "text",
        "no text",
        "deep",
        "deep objects",
        "digits",
    ],
)
def test_a_body_that_is_no_json_object_is_refused(server: Server, content: bytes, status: int) -> None:
    ann = operator(server)
    with nothing_written(server):
        assert_problem(ann.post("/campaigns", content=content, headers=JSON), status)


@pytest.mark.parametrize(
    "change",
    [
        '"epsilon": NaN',
        '"epsilon": Infinity',
        '"epsilon": -Infinity',
        '"epsilon": 1e999',
        '"epsilon": 1e308',
        '"epsilon": 1e-320',
        '"epsilon": 0',
        '"epsilon": true',
        '"epsilon": "much"',
        '"epsilon": 1' + "0" * 400,
        '"range": [NaN, 1]',
        '"range": [0, Infinity]',
        '"range": [1, 0]',
        '"range": [-1e308, 1e308]',
        '"range": [0, 1' + "0" * 400 + "]",
        '"range": [0]',
        '"title": ""',
        '"title": " "',
        '"title": "\\u0000"',
        '"title": "\\ud800"',
        '"title": "a\\nb"',
        '"title": "' + "x" * 201 + '"',
        '"objects": []',
        '"objects": ["a", "a"]',
        '"objects": ["e\\u0301", "\\u00e9"]',
        '"objects": ["\\u0000"]',
        '"objects": ["\\udfff"]',
        '"objects": [{"name": "a", "unit": "\\u0000"}]',
        '"objects": [{"name": "a", "range": [0, 1e400]}]',
        '"objects": [{}]',
        '"objects": {"a": 1}',
        '"waves": 0',
        '"waves": 100000000000000000000',
        '"people": 0',
        '"mechanism": "plain"',
        '"mechanism": "\\u0000"',
        '"mechanism": "slots"',
        '"kind": "none"',
        '"admission": "all"',
        '"about": "rumours"',
        '"retention": "\\u0000"',
        '"round_hours": 1',
        '"options": {"\\u0000": 1}',
        '"options": {"\\ud800": 1}',
        '"options": {"resolution": NaN}',
        '"options": {"resolution": 1e-300}',
        '"options": {"resolution": "fine"}',
        '"options": {"resolution": {}}',
        '"\\ud800": 1',
        '"secret\\u0000": 1',
    ],
    ids=lambda change: change[:40],
)
def test_a_campaign_that_cannot_be_is_refused(server: Server, change: str) -> None:
    ann = operator(server)
    whole = {**SENSING}
    name = change.split('"')[1]
    whole.pop(name, None)
    content = (json.dumps(whole)[:-1] + ", " + change + "}").encode()
    with nothing_written(server):
        answer = ann.post("/campaigns", content=content, headers=JSON)
        assert_problem(answer, 422)
        assert "secret" not in answer.text


@pytest.mark.parametrize(
    "schema",
    [
        "null",
        "{}",
        '{"columns": {}}',
        '{"columns": []}',
        '{"columns": {"a": {"values": []}}}',
        '{"columns": {"a": {"values": ["x"]}}}',
        '{"columns": {"a": {"values": ["x", "x"]}}}',
        '{"columns": {"a": {"values": ["\\u0000", "y"]}}}',
        '{"columns": {"a": {"values": ["\\ud800", "y"]}}}',
        '{"columns": {"\\ud800": {"values": ["x", "y"]}}}',
        '{"columns": {"a\\u0000": {"values": ["x", "y"]}}}',
        '{"columns": {"a": {"edges": [0, NaN, 1]}}}',
        '{"columns": {"a": {"edges": [0, Infinity]}}}',
        '{"columns": {"a": {"edges": [3, 2, 1]}}}',
        '{"columns": {"a": {"edges": [0, 1' + "0" * 400 + "]}}}",
        '{"columns": {"a": {"values": [1, null, {}]}}}',
        '{"columns": {"a": 7}}',
        "[" * 300 + "]" * 300,
    ],
    ids=lambda schema: schema[:50],
)
def test_a_schema_that_cannot_be_is_refused(server: Server, schema: str) -> None:
    ann = operator(server)
    content = f'{{"title": "t", "kind": "records", "epsilon": 1, "schema": {schema}}}'.encode()
    with nothing_written(server):
        answer = ann.post("/campaigns", content=content, headers=JSON)
        assert_problem(answer, 422)


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/xml", "multipart/form-data", "application/", "\xe9"]
)
def test_a_body_of_another_type_is_refused(server: Server, kind: str | None) -> None:
    ann, device = operator(server), server.client()
    headers = {} if kind is None else {"Content-Type": kind.encode("latin-1")}
    campaign = opened(server, SENSING)
    address = f"/campaigns/{campaign['id']}"
    body = json.dumps({"participant": "p", "key": "k", "report": report(campaign)}).encode()
    with nothing_written(server):
        created = ann.post("/campaigns", content=json.dumps(SENSING).encode(), headers=headers)  # type: ignore[arg-type]
        assert_problem(created, 415, "type")
        assert_problem(device.post(f"{address}/reports", content=body, headers=headers), 415)  # type: ignore[arg-type]
        assert_problem(device.post(f"{address}/reports/batch", content=body, headers=headers), 415)  # type: ignore[arg-type]


def test_names_with_what_a_database_cannot_take_are_nobodys(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann)
    with nothing_written(server):
        for name in ("%00", "a%00b", "%ED%A0%80", "%FF"):
            answer = ann.put(f"/campaigns/{campaign['id']}/roles/{name}", json={"role": "viewer"})
            assert_problem(answer, 404, "unknown-operator")
        signing = server.client().post("/tokens", json={"name": "a\x00b", "password": "\x00 and more"})
        assert_problem(signing, 401, "password")
        for token in ("ü", "a b", "x" * 10_000):
            headers = [(b"Authorization", f"Bearer {token}".encode())]
            answer = httpx.get(f"{server.url}/api/v1/campaigns", headers=headers, verify=False)
            assert_problem(answer, 401, "token")


def test_other_methods_and_unknown_paths_are_problems(server: Server) -> None:
    ann = operator(server)
    own = f"/campaigns/{opened(server, SENSING)['id']}"
    with nothing_written(server):
        options = ann.options(own)
        assert_problem(options, 405)
        assert "GET" in options.headers["allow"]
        head = ann.head(own)
        assert (head.status_code, head.content) == (405, b"")
        assert_problem(ann.put(own, json={}), 405)
        for path in (
            "/%00",
            "/%ff%fe",
            "/..%2f..%2fetc%2fpasswd",
            "/%2e%2e/",
            "//",
            "/campaigns/",
            f"{own}/",
            "/a" * 2000,
        ):
            assert_problem(ann.get(path), 404)


def raw(server: Server, content: bytes) -> bytes:
    """What a server answers to these bytes."""
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        try:
            connection.sendall(content)
            answer = b""
            while len(answer) < 65536 and (got := connection.recv(65536)):
                answer += got
        except ConnectionError:
            return b"closed"
        except TimeoutError:
            return b"silent"
    return answer


def test_headers_without_end_do_no_harm(server: Server) -> None:
    start = b"GET /api/v1/campaigns HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    with nothing_written(server):
        many = b"".join(b"X-%d: y\r\n" % number for number in range(20_000))
        assert b" 200 " not in raw(server, start + many + b"\r\n").split(b"\r\n")[0]
        large = b"Authorization: Bearer " + b"x" * 2_000_000
        assert b" 200 " not in raw(server, start + large + b"\r\n\r\n").split(b"\r\n")[0]
        for length in (b"-1", b"1e3", b"99999999999999999999999", b"x"):
            wrong = (
                b"POST /api/v1/campaigns HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
                + length
            )
            first = raw(server, wrong + b"\r\n\r\n").split(b"\r\n")[0]
            assert b" 200 " not in first
            assert b" 500 " not in first


def test_a_request_that_is_cut_off_does_no_harm(server: Server) -> None:
    campaign = opened(server, SENSING)
    path = f"/api/v1/campaigns/{campaign['id']}/reports".encode()
    with nothing_written(server):
        for end in (b"", b"/batch"):
            url = httpx.URL(server.url)
            with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
                connection.sendall(
                    b"POST " + path + end + b" HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
                    b'Content-Length: 5000\r\n\r\n{"participant": "p"'
                )
