"""The client over HTTP: patience with servers that fail, none with those that promise something else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sending import Moody, counted, opened, remembered, shown

from crowdveil.client import CampaignClient, Limits, Memory
from crowdveil.client.campaign_client import MOST_BYTES, MOST_LINES
from crowdveil.client.delivery import Delivery, Person
from crowdveil.errors import InputError, OutputError, ParameterError
from serving import Server

ANSWER = {"object 0": 3.0, "object 1": 4.0}
PER_USER = "gaussian-exponential-per-user"
BUSY = (503, {"Retry-After": "0"})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with Server(f"sqlite:///{folder / 'service.sqlite3'}", folder) as running:
        yield running


@pytest.fixture(scope="module")
def operator(service: Server) -> httpx.Client:
    return service.operator("client")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "memory.sqlite3")


def deliver(url: str, memory: Memory, people: int, **options: Any) -> Delivery:
    with CampaignClient(url, **options) as client:
        delivery = Delivery(client, client.look(), memory)
        delivery.deliver([Person(f"person {number}", ANSWER) for number in range(people)])
    return delivery


@pytest.mark.parametrize("where", ["/c/{}", "/c/{}/", "/api/v1/campaigns/{}", "/c/{}?from=mail#top"])
def test_one_person_answers_once(service: Server, operator: httpx.Client, memory: Memory, where: str) -> None:
    campaign = opened(operator, "sensing")
    with CampaignClient(service.url + where.format(campaign)) as client:
        assert client.fetch().guarantee["epsilon"] == 1
        assert client.answer(ANSWER, memory=memory, person="ann") == "accepted"
        (first,) = remembered(memory.path)
        assert client.answer({"object 0": 9.0}, memory=memory, person="ann") == "accepted"
    assert remembered(memory.path) == [first]
    assert counted(operator, campaign) == (1, 1)


def test_a_report_whose_answer_got_lost_is_counted_once(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    with Moody(service.url, "pass", "lost", "lost", "pass") as moody:
        tally = deliver(f"{moody.url}/c/{campaign}", memory, 4).tally
    assert (tally.sent, tally.already, tally.refused) == (4, 0, 0)
    assert counted(operator, campaign) == (4, 4)
    sent = [body for path, body in moody.seen if path.endswith("/reports/batch")]
    assert len(sent) == 3
    assert len(set(sent)) == 1


@pytest.mark.parametrize("kind", ["sensing", "records"])
def test_a_server_that_is_busy_and_recovers_gets_everything(
    service: Server, operator: httpx.Client, memory: Memory, kind: str
) -> None:
    campaign = opened(operator, kind)
    answer = ANSWER if kind == "sensing" else {"sport": "some", "age": 40, "smokes": "no"}
    moods: tuple[Any, ...] = (BUSY, "pass", BUSY, (429, {"Retry-After": "0"}), (502, {}), "line", "line")
    with Moody(service.url, *moods) as moody, CampaignClient(f"{moody.url}/c/{campaign}") as client:
        delivery = Delivery(client, client.look(), memory)
        delivery.deliver([Person(f"person {number}", answer) for number in range(3)])
    assert (delivery.tally.sent, delivery.tally.refused) == (3, 0)
    assert moody.moods == []
    assert counted(operator, campaign) == (3, 3)


def test_the_client_waits_as_long_as_it_is_asked_to(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    waits: list[tuple[str, float]] = []
    began = time.monotonic()
    with Moody(service.url, "pass", (429, {"Retry-After": "1"})) as moody:
        deliver(f"{moody.url}/c/{campaign}", memory, 1, on_wait=lambda *wait: waits.append(wait))
    ((why, seconds),) = waits
    assert why == "the server is not available now (status 429)"
    assert 1 <= seconds <= 2.1
    assert time.monotonic() - began >= 1


def test_a_server_that_asks_for_more_patience_than_there_is_is_given_up_at_once(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    began = time.monotonic()
    with (
        Moody(service.url, "pass", (503, {"Retry-After": "3600"})) as moody,
        pytest.raises(OutputError, match=r"asks to come back in 3600 s; given up after 20 s .*same memory"),
    ):
        deliver(f"{moody.url}/c/{campaign}", memory, 1, patience=20)
    assert time.monotonic() - began < 15
    tally = deliver(f"{service.url}/c/{campaign}", memory, 1).tally
    assert (tally.sent, tally.already) == (1, 0)


def test_a_server_that_is_down_and_comes_up_gets_what_was_drawn(
    start: Callable[..., Server], tmp_path: Path, memory: Memory
) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}")
    campaign = opened(server.operator(), "sensing")
    with CampaignClient(f"{server.url}/c/{campaign}", patience=60) as client:
        delivery = Delivery(client, client.look(), memory)
        server.kill()
        again = threading.Thread(target=server.start)
        again.start()
        delivery.deliver([Person("ann", ANSWER)])
        again.join()
        assert (delivery.tally.sent, delivery.tally.already) == (1, 0)


def test_a_server_that_stays_away_is_given_up(memory: Memory) -> None:
    with Moody("") as gone:
        url = gone.url
    with (
        CampaignClient(f"{url}/c/abc", patience=0.5) as client,
        pytest.raises(OutputError, match=r"the server does not answer; given up after 0\.5 s"),
    ):
        client.fetch()


def test_lines_that_are_never_taken_are_given_up(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    with (
        Moody(service.url, "pass", *["line"] * 50) as moody,
        pytest.raises(OutputError, match="the server is too busy; given up after 1 s"),
    ):
        deliver(f"{moody.url}/c/{campaign}", memory, 1, patience=1)
    assert 2 <= len(moody.seen) <= 20


def test_patience_counts_from_the_last_answer(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    with (
        Moody(service.url, "pass", BUSY) as moody,
        CampaignClient(f"{moody.url}/c/{campaign}", patience=1) as client,
    ):
        published = client.look()
        time.sleep(1.1)  # a large file takes its time
        delivery = Delivery(client, published, memory)
        delivery.deliver([Person("ann", ANSWER)])
        assert delivery.tally.sent == 1


def _self_signed(folder: Path) -> Path:
    """A certificate that nobody vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    unsealed = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, unsealed)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_a_server_that_nobody_vouches_for_is_refused_at_once(
    service: Server, tmp_path: Path, memory: Memory
) -> None:
    with Moody(service.url, tls=_self_signed(tmp_path)) as moody:
        url = moody.url.replace("http://127.0.0.1", "https://localhost")
        with (
            CampaignClient(f"{url}/c/abc", patience=60) as client,
            pytest.raises(InputError, match="certificate is not valid: nothing was sent"),
        ):
            client.answer(ANSWER, memory=memory, person="ann")
    assert moody.seen == []


def _edited(document: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    edited = json.loads(json.dumps(document))
    inner = edited
    for name in path[:-1]:
        inner = inner[name]
    assert inner[path[-1]] != to
    inner[path[-1]] = to
    return dict(edited)


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("guarantee", "epsilon"), 0.5, "says something else than its mechanism holds"),
        (
            ("guarantee", "sentence"),
            "Nobody learns.",
            "says something else than its mechanism holds",
        ),
        (("mechanism", "parameters", "epsilon"), 8.0, "says something else than its mechanism holds"),
        (("id",), "other", "another campaign than it was asked for"),
        (("wave",), 2, "a wave that the campaign's promise does not count"),
        (("mechanism", "wire"), 99, "another version of the reports' form"),
    ],
)
def test_a_campaign_that_promises_something_else_is_refused(
    service: Server, operator: httpx.Client, memory: Memory, path: tuple[str, ...], to: Any, said: str
) -> None:
    campaign = opened(operator, "sensing")
    document = operator.get(f"/campaigns/{campaign}").json()
    with (
        Moody(service.url, shown(_edited(document, *path, to=to))) as moody,
        CampaignClient(f"{moody.url}/c/{campaign}") as client,
        pytest.raises(InputError, match=said),
    ):
        client.answer(ANSWER, memory=memory, person="ann")
    assert len(moody.seen) == 1
    assert remembered(memory.path) == []


def test_a_campaign_that_changes_while_it_runs_is_refused(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign, weaker = opened(operator, "sensing"), opened(operator, "sensing", epsilon=9)
    deliver(f"{service.url}/c/{campaign}", memory, 1)
    document = operator.get(f"/campaigns/{weaker}").json() | {"id": campaign}
    with (
        Moody(service.url, shown(document)) as moody,
        CampaignClient(f"{moody.url}/c/{campaign}") as client,
        pytest.raises(InputError, match="not what it was when reports were drawn"),
    ):
        client.answer(ANSWER, memory=memory, person="bob")
    assert len(remembered(memory.path)) == 1


def test_a_question_that_costs_more_than_promised_is_not_answered(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign, weaker = opened(operator, "records"), opened(operator, "records", epsilon=9)
    place = operator.post(f"/campaigns/{weaker}/places", json={"participant": "x"}).json()
    line = json.dumps({"status": 200, **place}).encode() + b"\n"
    with (
        Moody(service.url, "pass", (200, {}, line)) as moody,
        CampaignClient(f"{moody.url}/c/{campaign}") as client,
        pytest.raises(InputError, match="costs more than the campaign promises"),
    ):
        client.answer({"sport": "some", "age": 40, "smokes": "no"}, memory=memory, person="ann")
    assert remembered(memory.path) == []


@pytest.mark.parametrize(
    "place",
    [
        {"place": -1, "wave": 1, "round": 0},
        {"place": 10**9, "wave": 1, "round": 0},
        {"place": True, "wave": 1, "round": 0},
        {"place": 0, "wave": 2, "round": 0},
        {"place": 0, "wave": 1, "round": -1},
        {"place": 0, "wave": 1},
    ],
)
def test_a_place_that_cannot_be_is_refused(
    service: Server, operator: httpx.Client, memory: Memory, place: dict[str, Any]
) -> None:
    campaign = opened(operator, "slots")
    line = json.dumps({"status": 200, **place}).encode() + b"\n"
    with (
        Moody(service.url, "pass", (200, {}, line)) as moody,
        CampaignClient(f"{moody.url}/c/{campaign}") as client,
        pytest.raises(InputError, match="a place that cannot be"),
    ):
        client.answer(ANSWER, memory=memory, person="ann")
    assert remembered(memory.path) == []


def test_redirects_are_not_followed(service: Server, operator: httpx.Client, memory: Memory) -> None:
    campaign = opened(operator, "sensing")
    with Moody(service.url) as elsewhere:
        away = {"Location": f"{elsewhere.url}/api/v1/campaigns/{campaign}/reports/batch"}
        with (
            Moody(service.url, "pass", (307, away)) as moody,
            pytest.raises(InputError, match="redirects are not followed"),
        ):
            deliver(f"{moody.url}/c/{campaign}", memory, 1)
    assert elsewhere.seen == []


def test_a_batch_that_is_too_large_is_sent_in_parts(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    with Moody(service.url, "pass", (413, {}), (413, {})) as moody:
        tally = deliver(f"{moody.url}/c/{campaign}", memory, 5).tally
    assert (tally.sent, tally.refused) == (5, 0)
    sizes = [body.count(b"\n") for path, body in moody.seen if path.endswith("/batch")]
    assert sizes == [5, 2, 1, 1, 3]


def test_batches_are_limited_in_lines_and_bytes(operator: httpx.Client) -> None:
    lines = [b"{}"] * (MOST_LINES + 1) + [b" " * (MOST_BYTES // 2)] * 3
    answer = b'{"status": 201}\n'
    sizes: list[tuple[int, int]] = []
    with Moody("", *[(200, {}, answer * count) for count in (MOST_LINES, 2, 1, 1)]) as moody:
        with CampaignClient(f"{moody.url}/c/abc") as client:
            answers = client.batch("reports", [line.replace(b" ", b"x") for line in lines])
        sizes = [(body.count(b"\n"), len(body)) for _, body in moody.seen]
    assert [answer.status for answer in answers] == [201] * len(lines)
    assert [count for count, _ in sizes] == [MOST_LINES, 2, 1, 1]
    assert all(size <= MOST_BYTES + MOST_LINES for _, size in sizes)


def test_an_answer_that_does_not_fit_is_an_error_without_a_token(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    for status, body in ((200, b'{"status": 201}\n'), (200, b"not JSON\n" * 2), (422, b"<html>")):
        with (
            Moody(service.url, "pass", (status, {}, body)) as moody,
            pytest.raises(InputError) as refused,
        ):
            deliver(f"{moody.url}/c/{campaign}", memory, 2)
        for row in remembered(memory.path):
            assert row["participant"] not in str(refused.value)
            assert row["key"] not in str(refused.value)
        assert refused.value.__cause__ is None
    assert deliver(f"{service.url}/c/{campaign}", memory, 2).tally.sent == 2


def test_over_a_slow_way_less_is_sent_at_once(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing")
    with Moody(service.url, "pass", (408, {}), (408, {}), (408, {})) as moody:
        tally = deliver(f"{moody.url}/c/{campaign}", memory, 4).tally
    assert (tally.sent, tally.refused) == (4, 0)
    sent = [body.count(b"\n") for path, body in moody.seen if path.endswith("/reports/batch")]
    assert sent == [4, 2, 1, 1, 1, 2]
    assert counted(operator, campaign) == (4, 4)


def test_nothing_is_drawn_for_whoever_is_not_invited_or_has_reported_already(
    service: Server, operator: httpx.Client, memory: Memory, tmp_path: Path
) -> None:
    campaign = opened(operator, "sensing", admission="invited")
    (token,) = operator.post(f"/campaigns/{campaign}/invitations", json={"count": 1}).json()["tokens"]
    with CampaignClient(f"{service.url}/c/{campaign}") as client:
        with pytest.raises(InputError, match="by invitation"):
            client.answer(ANSWER, memory=memory, person="ann")
        assert client.answer(ANSWER, memory=memory, person="ann", participant="wrong") == "not-invited"
        assert remembered(memory.path) == []
        assert client.answer(ANSWER, memory=memory, person="ann", participant=token) == "accepted"
        other = Memory(tmp_path / "other.sqlite3")  # the first one got lost
        assert client.answer(ANSWER, memory=other, person="ann", participant=token) == "reported"
        assert remembered(other.path) == []
    assert counted(operator, campaign) == (1, 1)


def test_a_token_is_answered_for_once_however_its_name_is_spelt(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    spellings = ("Ann Smith", "Smith, Ann", "ann smith", " Ann Smith")
    campaign = opened(operator, "sensing", admission="invited")
    (token,) = operator.post(f"/campaigns/{campaign}/invitations", json={"count": 1}).json()["tokens"]
    with Moody(service.url) as moody, CampaignClient(f"{moody.url}/c/{campaign}") as client:
        delivery = Delivery(client, client.look(), memory)
        delivery.deliver([Person(name, ANSWER, token) for name in spellings])
        assert (delivery.tally.sent, delivery.tally.reasons) == (1, {"another-name": 3})
        for name in spellings[1:]:
            said = client.answer(ANSWER, memory=memory, person=name, participant=token)
            assert said == "another-name"
        assert client.answer(ANSWER, memory=memory, person="bob", participant="wrong") == "not-invited"
        assert client.answer(ANSWER, memory=memory, person="bob", participant=token) == "another-name"
        assert client.answer(ANSWER, memory=memory, person=spellings[0], participant=token) == "accepted"
    sent = b"".join(body for path, body in moody.seen if path.endswith("/reports/batch"))
    assert sent.count(token.encode()) == 1
    assert len(remembered(memory.path)) == 1


@pytest.mark.parametrize("kind", ["sensing", "slots"])
def test_in_open_campaigns_names_that_are_written_alike_answer_once(
    service: Server, operator: httpx.Client, memory: Memory, kind: str
) -> None:
    campaign = opened(operator, kind)
    with CampaignClient(f"{service.url}/c/{campaign}") as client:
        delivery = Delivery(client, client.look(), memory)
        delivery.deliver([Person(name, ANSWER) for name in ("Ann Smith", "ann  smith", "bob")])
        assert (delivery.tally.sent, delivery.tally.reasons) == (2, {"another-name": 1})
        assert client.answer(ANSWER, memory=memory, person=" ANN SMITH") == "another-name"
        assert counted(operator, campaign)[0] == 2
        assert client.answer(ANSWER, memory=memory, person="BOB", distinct_names=True) == "accepted"
    assert counted(operator, campaign)[0] == 3


def test_what_was_drawn_in_an_earlier_wave_and_never_answered_is_sent_later(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing", waves=2)
    with Moody(service.url, "pass", BUSY) as moody, pytest.raises(OutputError):
        deliver(f"{moody.url}/c/{campaign}", memory, 2, patience=0)
    first = remembered(memory.path)
    assert operator.patch(f"/campaigns/{campaign}", json={"wave": 2}).status_code == 200
    with Moody(service.url) as moody:
        delivery = deliver(f"{moody.url}/c/{campaign}", memory, 3)
    assert (delivery.tally.sent, delivery.earlier.sent, delivery.earlier.refused) == (3, 2, 0)
    late = [json.loads(line) for line in moody.seen[1][1].splitlines()]
    drawn = {row["key"]: (1, row["participant"], json.loads(row["report"])) for row in first}
    assert {line["key"]: (line["wave"], line["participant"], line["report"]) for line in late} == drawn
    assert memory.unanswered(campaign) == 0
    assert deliver(f"{service.url}/c/{campaign}", memory, 3).earlier.sent == 0
    results = operator.get(f"/campaigns/{campaign}/results", params={"wave": 1}).json()
    assert results["reports"] == 2


@pytest.mark.parametrize(
    ("state", "said"), [("paused", "this campaign is paused"), ("closed", "this campaign is closed")]
)
def test_nothing_is_drawn_for_a_campaign_that_is_not_open(
    service: Server, operator: httpx.Client, memory: Memory, state: str, said: str
) -> None:
    campaign = opened(operator, "sensing")
    deliver(f"{service.url}/c/{campaign}", memory, 2)
    assert operator.patch(f"/campaigns/{campaign}", json={"state": state}).status_code == 200
    assert deliver(f"{service.url}/c/{campaign}", memory, 2).tally.already == 2
    with pytest.raises(InputError, match=said):
        deliver(f"{service.url}/c/{campaign}", memory, 3)
    assert len(remembered(memory.path)) == 2


def test_each_wave_is_answered_once_with_its_own_noise(
    service: Server, operator: httpx.Client, memory: Memory
) -> None:
    campaign = opened(operator, "sensing", waves=2)
    url = f"{service.url}/c/{campaign}"
    assert deliver(url, memory, 3).tally.sent == 3
    assert operator.patch(f"/campaigns/{campaign}", json={"wave": 2}).status_code == 200
    assert deliver(url, memory, 3).tally.sent == 3
    assert deliver(url, memory, 3).tally.already == 3
    rows = remembered(memory.path)
    assert sorted(row["wave"] for row in rows) == [1, 1, 1, 2, 2, 2]
    assert len({row["report"] for row in rows}) == 6
    assert len({row["participant"] for row in rows}) == 3


@pytest.mark.parametrize(
    ("limits", "more", "said"),
    [
        (Limits(epsilon=0.9), {}, "an epsilon of 1 for each claim, above --max-epsilon 0.9"),
        (Limits(epsilon=2.9), {"waves": 3}, "an epsilon of 3 for each claim over all 3 waves"),
        (Limits(person_epsilon=7.9), {}, "an epsilon of 8 for a person, above --max-person-epsilon"),
        (Limits(epsilon=1, delta=0), {"unit": "person"}, None),
        (Limits(epsilon=1, person_epsilon=8), {}, None),
        (Limits(epsilon=3, person_epsilon=24), {"waves": 3}, None),
        (
            Limits(epsilon=50, delta=1e-9),
            {"mechanism": PER_USER, "epsilon": None, "options": {"lambda2": 0.01, "floor": 400.0}},
            "a delta of",
        ),
    ],
)
def test_a_campaign_beyond_the_owners_limits_is_refused(
    service: Server,
    operator: httpx.Client,
    memory: Memory,
    limits: Limits,
    more: dict[str, Any],
    said: str | None,
) -> None:
    campaign = opened(operator, "sensing", **more)
    with CampaignClient(f"{service.url}/c/{campaign}") as client:
        if said is None:
            assert client.answer(ANSWER, memory=memory, person="ann", limits=limits) == "accepted"
            return
        with pytest.raises(InputError, match=said):
            client.answer(ANSWER, memory=memory, person="ann", limits=limits)
    assert not memory.path.exists()


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org/c/abc", "ftp://example.org/c/abc", "https://example.org/", "https:///c/abc"),
        *(
            "https://example.org/c/abc/results",
            "https://example.org:port/c/abc",
            "https://u:p@example.org/c/a",
        ),
        *(
            "https://example.org/c/",
            "https://[::1/c/abc",
            "https://example.org/c/a b",
            "https://exa mple/c/a",
        ),
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ParameterError, match="address of a campaign"):
        CampaignClient(url)


@pytest.mark.parametrize("options", [{"patience": -1}, {"patience": float("inf")}])
def test_a_patience_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="--patience"):
        CampaignClient("https://example.org/c/abc", **options)


@pytest.mark.parametrize(
    "limits", [{"epsilon": 0.0}, {"person_epsilon": float("nan")}, {"delta": 1.0}, {"delta": -0.1}]
)
def test_limits_that_cannot_be_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="--max-"):
        Limits(**limits)
