"""No token, key, password or raw value in any cell of any table, in the log, in metrics, in an error body."""

from __future__ import annotations

import hmac
import io
import json
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from conftest import Run
from crowdveil.service.guard import HEADERS
from crowdveil.service.store import operators
from crowdveil.service.store.database import Database
from crowdveil.service.store.schema import metadata
from devices import KINDS, Json, create, database_of, operator, report, send, submission, until
from serving import Server, closed_result

PASSWORD = "PASSWORD-correct-horse-battery"
PARTICIPANT, KEY, UNUSED = "PARTICIPANT-7c1f", "DEVICEKEY-93ab", "UNINVITED-55d0"
# What people say: no report can hold it by chance, because reports hold whole numbers only.
RAW: dict[str, Json] = {
    "sensing": {"east": 3.14159265, "west": 7.77777123},
    "sparse": {"a": 4, "c": 5},
    "slots": {"a": 4, "c": 5},
    "records": {"job": "nurse", "age": 44},
}
RAW_TEXTS = ("3.14159265", "7.77777123")
RAW_BYTES = [struct.pack(order, float(text)) for text in RAW_TEXTS for order in ("<d", ">d")]


@dataclass
class Seen:
    """All that was sent to the server as a secret, and all that it answered when it refused."""

    secrets: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def refused(self, *answers: httpx.Response) -> None:
        for answer in answers:
            assert answer.status_code >= 400
            self.errors.append(answer.text + str(answer.headers))


_seen: dict[str, Seen] = {}


@pytest.fixture
def seen(server: Server) -> Seen:
    """A campaign of each kind was run on this server, with everything that can go wrong."""
    if server.database not in _seen:
        known = _seen[server.database] = Seen([PASSWORD, PARTICIPANT, KEY, UNUSED])
        token = signed_up(server)
        signed = server.client().post("/tokens", json={"name": "eve", "password": PASSWORD})
        known.secrets += [token, signed.json()["token"]]
        eve = server.client(signed.json()["token"])
        for kind in KINDS:
            run(server, eve, kind, known)
        known.refused(
            server.client().post("/tokens", json={"name": "eve", "password": PASSWORD + "x"}),
            server.client(token + "x").get("/campaigns"),
        )
        assert eve.delete("/tokens").status_code == 204
    return _seen[server.database]


def signed_up(server: Server) -> str:
    """The token of an operator with a password."""
    done = subprocess.run(
        [sys.executable, "-m", "crowdveil", "operator", "add", "eve", "--password-stdin", "--json"],
        input=f"{PASSWORD}\n",
        env=server.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert PASSWORD not in done.stdout + done.stderr
    return str(json.loads(done.stdout)["token"])


def run(server: Server, eve: httpx.Client, kind: str, known: Seen) -> None:
    """A campaign: reports, refusals, a withdrawal, a result."""
    device = server.client()
    campaign = create(eve, KINDS[kind], admission="invited")
    address = f"/campaigns/{campaign['id']}"
    tokens = eve.post(f"{address}/invitations", json={"count": 3}).json()["tokens"]
    known.secrets += tokens
    said = RAW[kind]
    for token in tokens:
        body = submission(device, campaign, token, answer=said, key=f"{KEY}-{token[:5]}")
        assert device.post(f"{address}/reports", json=body).status_code == 201
    bad = {**body, "report": {"v": 1, "mechanism": "raw", "payload": said}}
    line = json.dumps({**bad, "participant": UNUSED}).encode()
    known.refused(
        device.post(f"{address}/reports", json={**body, "key": f"{KEY}-again"}),
        device.post(f"{address}/reports", json={**bad, "participant": UNUSED}),
        device.post(f"{address}/reports", json={**bad, PARTICIPANT: KEY}),
        device.post(f"{address}/reports", json={**bad, "participant": f"{PARTICIPANT} ü"}),
        device.post(f"{address}/places", json={"participant": UNUSED}),
        device.delete(f"{address}/reports/{UNUSED}"),
        device.get(f"{address}/reports/{PARTICIPANT}"),
        device.get(f"{address}/{PARTICIPANT}?token={KEY}"),
        device.post(f"{address}/reports", content=line[:-5], headers={"Content-Type": "application/json"}),
    )
    batch = device.post(
        f"{address}/reports/batch", content=line, headers={"Content-Type": "application/x-ndjson"}
    )
    known.errors.append(batch.text)
    assert device.delete(f"{address}/reports/{tokens[0]}").json() == {"withdrawn": 1}
    closed_result(eve, campaign["id"])
    known.errors.append(eve.get(f"{address}/journal").text)


def cells(server: Server) -> list[tuple[str, bytes]]:
    """Every cell of every table, by the name of its column."""
    found = []
    with database_of(server) as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(select(table)).mappings():
                found += [(f"{table.name}.{name}", as_bytes(value)) for name, value in row.items()]
    return found


def as_bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def test_no_cell_holds_a_token_a_key_a_password_or_a_raw_value(server: Server, seen: Seen) -> None:
    found = cells(server)
    assert {name.split(".")[0] for name, _ in found} >= {
        "reports",
        "invitations",
        "results",
        "tokens",
        "journal",
    }
    for secret in (*seen.secrets, *RAW_TEXTS):
        held = {
            name for name, cell in found if secret.encode() in cell or secret.encode().hex().encode() in cell
        }
        assert held == set(), f"a secret that begins with {secret[:4]} is in {held}"
    assert not [name for name, cell in found if any(raw in cell for raw in RAW_BYTES)]


def test_no_file_of_the_database_holds_them(server: Server, seen: Seen) -> None:
    if not server.database.startswith("sqlite"):
        pytest.skip("the files of PostgreSQL are PostgreSQL's")
    file = Path(server.database.removeprefix("sqlite:///"))
    for path in file.parent.glob(f"{file.name}*"):
        content = path.read_bytes()
        assert not [secret[:4] for secret in (*seen.secrets, *RAW_TEXTS) if secret.encode() in content]


def test_neither_log_nor_metrics_nor_errors_hold_them(server: Server, seen: Seen) -> None:
    log = server.log.read_text()
    assert log.count('"request"') > 50
    metrics = httpx.get(f"{server.url}/metrics").text
    raw = [*RAW_TEXTS, '"job": "nurse"', "nurse"]
    for text in (log, metrics, *seen.errors):
        for secret in (*seen.secrets, *raw, KEY, PARTICIPANT, UNUSED):
            assert secret not in text, f"a secret that begins with {secret[:4]}"


def test_every_line_of_the_log_is_json_without_paths_and_addresses(server: Server, seen: Seen) -> None:
    campaigns = [cell.decode() for name, cell in cells(server) if name == "campaigns.id"]
    lines = server.log.read_text().splitlines()
    for line in lines:
        entry = json.loads(line)
        assert "127.0.0.1" not in line
        if entry["event"] == "request":
            assert entry.keys() == {
                "request",
                "method",
                "route",
                "status",
                "ms",
                "event",
                "level",
                "timestamp",
            }
            assert not any(campaign in line for campaign in campaigns)


def test_passwords_are_kept_as_argon2_hashes_and_tokens_as_digests(server: Server, seen: Seen) -> None:
    found = cells(server)
    hashes = [cell for name, cell in found if name == "operators.password" and cell != b"None"]
    assert hashes
    assert all(each.startswith(b"$argon2id$") for each in hashes)
    digests = [cell for name, cell in found if name == "tokens.digest"]
    assert digests
    assert {len(each) for each in digests} == {32}


def test_an_unknown_name_costs_as_much_as_a_wrong_password(server: Server, seen: Seen) -> None:
    calls: list[str] = []

    class Counting(PasswordHasher):
        """Argon2 itself, and a note that it ran."""

        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
            calls.append(str(hash)[:10])
            return super().verify(hash, password)

    with pytest.MonkeyPatch.context() as patch, database_of(server) as connection:
        patch.setattr(operators, "_hasher", Counting())
        for name in ("eve", "nobody at all"):
            assert operators.check_password(connection, name, "wrong password") is None
        assert operators.check_password(connection, "eve", PASSWORD) is not None
    assert calls == ["$argon2id$"] * 3


def test_tokens_are_compared_in_constant_time(server: Server, seen: Seen) -> None:
    compared: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch, database_of(server) as connection:
        real = hmac.compare_digest

        def noting(one: bytes, other: bytes) -> bool:
            compared.append((len(one), len(other)))
            return real(one, other)

        patch.setattr(hmac, "compare_digest", noting)
        assert operators.of_token(connection, seen.secrets[4]) is not None
    assert compared == [(32, 32)]


def test_every_kind_of_response_has_the_security_headers(server: Server) -> None:
    ann, nobody = operator(server), server.client()
    campaign = create(ann)
    own = f"/campaigns/{campaign['id']}"
    body = {"participant": "p", "key": "k", "report": report(campaign)}
    sent = nobody.post(f"{own}/reports", json=body)
    until(lambda: ann.get(f"{own}/results.csv").status_code == 200)
    ann.patch(own, json={"published": True})
    answers = [
        sent,
        ann.get("/campaigns"),
        ann.get(f"{own}/results.csv"),
        ann.get(f"{own}/bundle.zip"),
        nobody.post(f"{own}/reports/batch", content=b"{}", headers={"Content-Type": "application/x-ndjson"}),
        httpx.get(f"{server.url}/c/{campaign['id']}/results"),
        httpx.get(f"{server.url}/healthz"),
        httpx.get(f"{server.url}/metrics"),
        nobody.get("/openapi.json"),
        nobody.get("/campaigns"),
        nobody.get("/nothing"),
        nobody.options("/campaigns"),
        ann.post("/campaigns", json={}),
        ann.post("/campaigns", content=b"x" * (2**20 + 1)),
        ann.delete(own),
    ]
    assert {answer.status_code for answer in answers} == {200, 201, 204, 401, 404, 405, 413, 415, 422} - {415}
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    for answer in answers:
        page = answer.headers.get("content-type", "").startswith("text/html")
        for name, value in HEADERS.items():
            if not (page and name == "Content-Security-Policy"):  # which lets its own stylesheet through
                assert answer.headers[name] == value
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_the_journal_has_every_kind_of_action(server: Server, seen: Seen) -> None:
    ann, bob = operator(server), operator(server, name="bobby")
    campaign = create(ann, admission="invited", waves=2)
    own = f"/campaigns/{campaign['id']}"
    ann.post(f"{own}/invitations", json={"count": 2})
    ann.put(f"{own}/roles/bobby", json={"role": "viewer"})
    for change in ({"wave": 2}, {"published": True}, {"retention": "2090-01-01"}, {"state": "closed"}):
        assert ann.patch(own, json=change).status_code == 200
    entries = ann.get(f"{own}/journal").json()["entries"]
    assert [(entry["action"], entry["detail"]) for entry in entries] == [
        ("create", None),
        ("change", "state: open"),
        ("invite", "2 people"),
        ("share", "bobby: viewer"),
        ("change", "wave: 2"),
        ("change", "published: True"),
        ("change", "retention: 2090-01-01"),
        ("change", "state: closed"),
    ]
    assert len({entry["operator"] for entry in entries}) == 1
    assert bob.get(f"{own}/results").status_code == 200
    open_to_all = create(ann)
    send(server.client(), open_to_all, "p")
    assert ann.get(f"/campaigns/{open_to_all['id']}/reports.parquet").status_code == 200
    assert ann.delete(own).status_code == 204
    table = metadata.tables["journal"]
    with database_of(server) as connection:
        actions = set(connection.execute(select(table.c.action)).scalars())
    assert actions == {
        "added",
        "sign in",
        "sign out",
        "create",
        "change",
        "invite",
        "share",
        "download",
        "delete",
    }


def test_the_journal_has_what_was_done_by_command(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'service.sqlite3'}"
    assert run("operator", "add", "ann", "--database", url).code == 0
    assert run("operator", "token", "ann", "--database", url).code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    assert run("operator", "password", "ann", "--database", url).code == 0
    assert run("operator", "remove", "ann", "--database", url).code == 0
    database, table = Database(url), metadata.tables["journal"]
    with database.reading() as connection:
        actions = list(connection.execute(select(table.c.action).order_by(table.c.id)).scalars())
    database.close()
    assert actions == ["added", "new token", "new password", "removed"]
