"""The service answers, on both databases."""

import httpx

from serving import Server


def test_a_server_answers(server: Server) -> None:
    assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
    operator = server.operator("smoke")
    asked = {"title": "t", "kind": "sensing", "objects": ["a", "b"], "range": [0, 10], "epsilon": 1}
    created = operator.post("/campaigns", json=asked)
    assert created.status_code == 201
    assert created.json()["state"] == "draft"
