"""Limits of rate: by address for everybody, and by operator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from devices import assert_problem, create, operator, submission
from serving import Server


def test_too_many_requests_are_told_when_to_come_again(tmp_path: Path, start: Callable[..., Server]) -> None:
    limits = {"requests_per_minute": 60, "reports_per_minute": 6, "sign_ins_per_minute": 6}
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", **limits)
    campaign = create(operator(server))
    client = server.client()
    single = submission(client, campaign, "same")
    reports = f"/campaigns/{campaign['id']}/reports"
    lines = b"{}\n" * 7
    asked: list[Callable[[], httpx.Response]] = [
        lambda: client.post(reports, json=single),
        lambda: client.post(
            f"{reports}/batch", content=lines, headers={"Content-Type": "application/x-ndjson"}
        ),
        lambda: client.post("/tokens", json={"name": "n", "password": "p"}),
        lambda: client.get("/campaigns/none"),
    ]
    for ask, often in zip(asked, (6, 0, 6, 60), strict=True):
        answers = [ask() for _ in range(often + 2)]
        assert all(answer.status_code != 429 for answer in answers[: min(often, 6)])
        for answer in answers[often:]:
            assert_problem(answer, 429, "too-many")
            assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_an_operator_has_a_limit_from_all_addresses_together(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", requests_per_minute=5)
    ann = operator(server)
    answers = [ann.get("/campaigns", headers={"X-Forwarded-For": f"192.0.2.{host}"}) for host in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3
