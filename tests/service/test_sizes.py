"""Limits of size: bodies and batches that are too large are refused whole, with and without a length."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from devices import SENSING, assert_problem, create, operator, report, rows, submission
from serving import Server

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
BODY, BATCH, LINES = 4096, 20_000, 50


@pytest.fixture
def small(tmp_path: Path, start: Callable[..., Server]) -> Server:
    database = f"sqlite:///{tmp_path / 'service.sqlite3'}"
    return start(database, worker=False, body_bytes=BODY, batch_bytes=BATCH, batch_lines=LINES)


def chunked(content: bytes) -> Iterator[bytes]:
    """In pieces, so that nobody is told how long it will be."""
    for first in range(0, len(content), 1000):
        yield content[first : first + 1000]


def test_what_is_too_large_is_refused_whole(small: Server) -> None:
    ann, device = operator(small), small.client()
    campaign = create(ann)
    reports = f"/campaigns/{campaign['id']}/reports"
    before = rows(small)
    large = json.dumps({**SENSING, "title": "x" * BODY}).encode()
    sent = json.dumps({"participant": "p", "key": "k", "report": report(campaign)}).encode()
    padded = sent + b" " * BATCH
    many = b"\n".join(
        json.dumps({"participant": f"p{who}", "key": "k", "report": report(campaign)}).encode()
        for who in range(LINES + 1)
    )
    assert len(many) < BATCH
    for client, path, content, headers in (
        (ann, "/campaigns", large, JSON),
        (device, reports, padded, JSON),
        (device, f"{reports}/batch", padded, NDJSON),
        (device, f"{reports}/batch", many, NDJSON),
        (device, f"/campaigns/{campaign['id']}/places/batch", padded, NDJSON),
        (device, "/tokens", large, JSON),
    ):
        for pieces in (content, chunked(content)):
            answer = client.post(path, content=pieces, headers=headers)
            assert_problem(answer, 413)
            assert rows(small) == before
    assert_problem(device.request("GET", f"/campaigns/{campaign['id']}", content=padded), 413)
    assert httpx.get(f"{small.url}/readyz").status_code == 200


def test_what_is_just_small_enough_is_taken_in_pieces_too(small: Server) -> None:
    ann, device = operator(small), small.client()
    campaign = create(ann)
    reports = f"/campaigns/{campaign['id']}/reports"
    body = json.dumps(submission(device, campaign, "p")).encode()
    assert device.post(reports, content=chunked(body.ljust(BODY)), headers=JSON).status_code == 201
    lines = b"\n".join(json.dumps(submission(device, campaign, f"q{who}")).encode() for who in range(LINES))
    answer = device.post(f"{reports}/batch", content=chunked(lines.ljust(BATCH)), headers=NDJSON)
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [201] * LINES
