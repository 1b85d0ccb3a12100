"""Generated requests over the whole OpenAPI document: no error of the service, and answers as documented.

Requests are made from the schemas, right and wrong ones. Most are about campaigns that exist, and some
have a body that is nearly right, so that they come further than a random id and a random body would.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from devices import KINDS, Json, create, fill, operator, report
from serving import Server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
AT_ONCE = 10  # generated requests to one operation, before it is the turn of the next
NDJSON = {"Content-Type": "application/x-ndjson"}


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: Any) -> bytes:
    """A generated body of a batch: a text as it is, anything else as one line."""
    return value.encode(errors="replace") if isinstance(value, str) else json.dumps(value).encode()


class Attack:
    """Sends generated requests to a server, and checks each answer."""

    def __init__(self, server: Server) -> None:
        self._server, self._owner = server, operator(server)
        self._token = self._owner.headers["authorization"]
        self.statuses: Counter[int] = Counter()
        self.operations: Counter[str] = Counter()
        self._campaigns: list[Json] = []
        self._other = ""
        self._seeds = itertools.count()

    def run(self, count: int) -> None:
        """Go over all operations until so many requests were sent."""
        document = httpx.get(f"{self._server.url}/api/v1/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        with requests.Session() as session:
            while self.statuses.total() < count:
                for found in schema.get_all_operations():
                    self._operation(found.ok(), session)  # type: ignore[union-attr]

    def _operation(self, target: Any, session: requests.Session) -> None:
        self._campaigns = [create(self._owner, request) for request in KINDS.values()]
        self._campaigns.append(create(self._owner, admission="invited"))
        self._owner.patch(f"/campaigns/{self._campaigns[0]['id']}", json={"published": True})
        fill(self._owner, self._campaigns[0], 2)
        self._other = f"generated{next(self._seeds)}"
        other = operator(self._server, name=self._other).headers["authorization"]
        token = other if target.label == "DELETE /api/v1/tokens" else self._token
        modes = [target.as_strategy(mode) for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)]

        @seed(next(self._seeds))
        @settings(
            max_examples=AT_ONCE,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=st.one_of(modes), choice=st.integers(0, 99))
        def send(case: Any, choice: int) -> None:
            self._make_real(case, choice)
            answer = case.call(
                base_url=self._server.url, session=session, headers={"Authorization": token}, timeout=60
            )
            self.statuses[answer.status_code] += 1
            self.operations[target.label] += 1
            case.validate_response(answer, checks=CHECKS)

        send()

    def _make_real(self, case: Any, choice: int) -> None:
        """For most requests something that exists, and for some a body that is nearly right."""
        campaign = self._campaigns[choice % len(self._campaigns)]
        real = {"id": campaign["id"], "participant": "person0", "name": self._other}
        for name in (case.path_parameters or {}).keys() & real.keys():
            if choice < (75 if name == "id" else 30):
                case.path_parameters[name] = real[name]
        if choice >= 60 or not isinstance(case.body, dict):
            return
        if "report" in case.body and campaign["kind"] != "records":
            case.body = {**case.body, "participant": f"p{choice}", "key": "k", "report": report(campaign)}
        if case.operation.label == "POST /api/v1/campaigns":
            request = list(KINDS.values())[choice % len(KINDS)]
            names = sorted(case.body, key=str)
            first = choice // 3 % max(1, len(names))
            few = names[first : first + choice % 3]  # none, one or two of the generated fields
            case.body = {**request, **{name: case.body[name] for name in few}}


def test_generated_requests_find_no_error_of_the_service(server: Server) -> None:
    attack = Attack(server)
    attack.run(200)
    assert attack.statuses.total() >= 200
    assert not [status for status in attack.statuses if status >= 500]
    assert {200, 201, 404, 422} <= attack.statuses.keys()


@pytest.mark.slow_audit
def test_ten_thousand_generated_requests_find_no_error_of_the_service(server: Server) -> None:
    attack = Attack(server)
    attack.run(10_000)
    print(f"{attack.statuses.total():,} requests", dict(sorted(attack.statuses.items())))
    assert attack.statuses.total() >= 10_000
    assert not [status for status in attack.statuses if status >= 500]
    assert httpx.get(f"{server.url}/readyz").status_code == 200


def lines(campaign: Json) -> st.SearchStrategy[bytes]:
    """A body of a batch: random bytes, random JSON, and pieces of what a device sends."""
    good = json.dumps({"participant": "p", "key": "k", "report": report(campaign)}).encode()
    plain = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=10,
    )
    values = st.fixed_dictionaries(
        {"participant": plain, "key": plain, "report": plain}, optional={"wave": plain, "round": plain}
    )
    cut = st.integers(0, len(good)).map(lambda at: good[:at])
    spoiled = st.tuples(st.integers(0, len(good) - 1), st.integers(0, 255)).map(
        lambda change: good[: change[0]] + bytes([change[1]]) + good[change[0] + 1 :]
    )
    line = st.one_of(
        st.binary(max_size=80),
        plain.map(lambda value: json.dumps(value).encode()),
        values.map(lambda value: json.dumps(value).encode()),
        cut,
        spoiled,
    )
    return st.lists(line, min_size=1, max_size=20).map(b"\n".join)


def fuzz(server: Server, examples: int) -> Counter[int]:
    """Send batches to every kind of campaign; how often each status came, of lines and of whole batches."""
    ann, statuses = operator(server), Counter[int]()
    for number, request in enumerate(KINDS.values()):
        campaign = create(ann, request)
        usable = campaign if campaign["kind"] != "records" else create(ann)
        send = settings(
            max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )(
            given(content=lines(usable), path=st.sampled_from(["reports", "places"]))(
                sender(server.client(), f"/campaigns/{campaign['id']}", statuses)
            )
        )
        seed(number)(send)()
    return statuses


def sender(device: httpx.Client, address: str, statuses: Counter[int]) -> Callable[[bytes, str], None]:
    """Sends a batch, and notes what became of it and of its lines."""

    def send(content: bytes, path: str) -> None:
        answer = device.post(f"{address}/{path}/batch", content=content, headers=NDJSON)
        asked = [line for line in content.split(b"\n") if line.strip()]
        statuses[answer.status_code] += 1
        if not asked:
            assert answer.status_code == 422
            return
        assert answer.status_code == 200, answer.text
        answers = [json.loads(line) for line in answer.text.splitlines()]
        assert len(answers) == len(asked)
        statuses.update(each["status"] for each in answers)

    return send


def test_random_batches_are_answered_line_by_line(server: Server) -> None:
    statuses = fuzz(server, 40)
    assert statuses.keys() <= {200, 201, 403, 409, 422}
    assert statuses[422] > 100


@pytest.mark.slow_audit
def test_very_many_random_batches_are_answered_line_by_line(server: Server) -> None:
    assert fuzz(server, 1000).keys() <= {200, 201, 403, 409, 422}


def test_every_error_is_documented_as_problem_details(tmp_path: Path, start: Callable[..., Server]) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", worker=False)
    document = httpx.get(f"{server.url}/api/v1/openapi.json").json()
    assert not {"HTTPValidationError", "ValidationError"} & document["components"]["schemas"].keys()
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    (kind,) = response["content"]
                    assert kind == "application/problem+json"
                    assert response["content"][kind]["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert operation["summary"]
            assert operation["description"]
