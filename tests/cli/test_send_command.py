"""`crowdveil send`, against a real server."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from conftest import Ran, Run
from serving import Server

OBJECTS = ["a", "b", "c", "d"]
ASKED: dict[str, dict[str, Any]] = {
    "sensing": {"kind": "sensing", "objects": OBJECTS, "range": [0, 10], "epsilon": 1},
    "sparse": {"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 2},
    "slots": {"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 2, "mechanism": "slots"},
    "records": {
        "kind": "records",
        "schema": {"columns": {"id": {"values": ["x", "y"]}, "age": {"edges": [0, 50, 100]}}},
        "epsilon": 2,
    },
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with Server(f"sqlite:///{folder / 'service.sqlite3'}", folder) as running:
        yield running


@pytest.fixture(scope="module")
def operator(service: Server) -> httpx.Client:
    return service.operator("sender")


class Campaign:
    """A campaign that is open, and a memory of one's own."""

    def __init__(self, service: Server, operator: httpx.Client, run: Run, folder: Path) -> None:
        self._service, self.operator, self._run, self.folder = service, operator, run, folder
        self.memory = folder / "memory.sqlite3"

    def open(self, kind: str, **more: Any) -> None:
        created = self.operator.post("/campaigns", json={"title": kind, **ASKED[kind], **more})
        assert created.status_code == 201, created.text
        self.id = created.json()["id"]
        self.operator.patch(f"/campaigns/{self.id}", json={"state": "open"})

    @property
    def url(self) -> str:
        return f"{self._service.url}/c/{self.id}"

    def file(self, name: str, **columns: Any) -> Path:
        path = self.folder / name
        pl.DataFrame(columns).write_csv(path)
        return path

    def claims(self, people: int = 3, *values: float, objects: str = "") -> Path:
        users = [f"secret-name-{number}" for number in range(people)]
        columns = {"object": list(objects) or ["a"] * people, "value": values or [4.0] * people}
        return self.file("claims.csv", user=users, **columns)

    def send(self, source: Path, *options: object) -> Ran:
        return self._run("send", source, "--to", self.url, "--memory", self.memory, *options)

    def counted(self) -> int:
        return int(self.operator.get(f"/campaigns/{self.id}/results").json()["reports"])


@pytest.fixture
def campaign(service: Server, operator: httpx.Client, run: Run, tmp_path: Path) -> Campaign:
    return Campaign(service, operator, run, tmp_path)


def counts(done: Ran) -> tuple[int, int, int]:
    assert done.code == 0, done.err
    printed = done.json()
    return printed["sent"], printed["already"], printed["refused"]


def test_help_has_an_example(run: Run) -> None:
    done = run("send", "--help")
    assert done.code == 0
    assert "Example: crowdveil send" in done.out


def test_reports_are_sent_once(campaign: Campaign) -> None:
    campaign.open("sensing")
    assert counts(campaign.send(campaign.claims(3), "--json")) == (3, 0, 0)
    assert counts(campaign.send(campaign.claims(3), "--json")) == (0, 3, 0)
    assert counts(campaign.send(campaign.claims(5), "--json")) == (2, 3, 0)
    assert campaign.counted() == 5


def test_names_that_are_written_alike_are_refused_unless_they_are_distinct(campaign: Campaign) -> None:
    campaign.open("sensing")
    columns = {"object": ["a", "a"], "value": [4.0, 4.0]}
    alike = campaign.file("alike.csv", user=["secret name", "Secret Name "], **columns)
    done = campaign.send(alike)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "differ only by case or blanks: 2" in done.err
    assert "--distinct-names" in done.err
    assert not campaign.memory.exists()
    assert counts(campaign.send(alike, "--distinct-names", "--json")) == (2, 0, 0)
    other = campaign.file("other.csv", user=["SECRET NAME", "bob"], **columns)
    done = campaign.send(other)
    assert done.code == 0, done.err
    assert "sent 1, already there 0, refused 1" in done.out
    assert "refused because of another-name: 1 (this token, or a name" in done.out
    assert "secret" not in (done.out + done.err).lower()


def test_reports_of_earlier_waves_are_counted_apart(campaign: Campaign) -> None:
    campaign.open("sensing", waves=2)
    assert counts(campaign.send(campaign.claims(2), "--json")) == (2, 0, 0)
    with closing(sqlite3.connect(campaign.memory)) as db, db:  # as if the answer had been lost
        db.execute("UPDATE reports SET outcome = NULL")
    campaign.operator.patch(f"/campaigns/{campaign.id}", json={"wave": 2})
    said = campaign.send(campaign.claims(1))
    assert "of earlier waves, drawn then and never answered:\nsent 0, already there 1" in said.out
    assert "never acknowledged: 1. Run again" in said.err
    done = campaign.send(campaign.claims(2), "--json")
    assert counts(done) == (1, 1, 0)
    assert done.json()["earlier_waves"] == {"sent": 0, "already": 1, "refused": 0, "reasons": {}}
    assert done.json()["unanswered"] == 0


def test_the_promise_is_shown_before_the_result(campaign: Campaign) -> None:
    campaign.open("sensing")
    done = campaign.send(campaign.claims(3))
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("sensing: Differential privacy for each claim with epsilon = 1")
    assert "  each claim: epsilon 1" in lines
    assert "Not promised:" in lines
    assert lines.index("sent 3, already there 0, refused 0") > lines.index("Not promised:")
    assert "secret-name" not in done.out + done.err


def test_a_dry_run_sends_keeps_and_asks_nothing(campaign: Campaign) -> None:
    for kind in ("sensing", "slots"):
        campaign.open(kind)
        done = campaign.send(campaign.claims(3), "--dry-run", "--json")
        assert counts(done) == (0, 0, 0)
        shown = done.json()
        assert shown["people"] == 3
        assert shown["example"]["report"]["mechanism"] == shown["mechanism"]["name"]
        assert shown["guarantee"]["epsilon"] == ASKED[kind]["epsilon"]
        assert not campaign.memory.exists()
        results = campaign.operator.get(f"/campaigns/{campaign.id}/results").json()
        assert (results["participants"], results["reports"]) == (0, 0)
    campaign.open("sensing")
    (deviation,) = {
        campaign.send(campaign.claims(3), "--dry-run", "--json").json()["noise_deviation"] for _ in range(2)
    }
    assert 14.1 < deviation < 14.2  # Laplace noise of scale 10 has 10 times the square root of 2
    said = campaign.send(campaign.claims(3), "--dry-run").out
    assert "3 reports would be sent, by laplace" in said
    assert "standard deviation of the noise 14.14" in said
    assert "Nothing was drawn for anybody" in said


def test_the_example_of_a_dry_run_is_nobodys(campaign: Campaign) -> None:
    campaign.open("sensing", epsilon=60)  # hardly any noise: an example from the data would show them
    examples = [
        campaign.send(campaign.claims(3, 9.9, 9.9, 9.9), "--dry-run", "--json").json()["example"]
        for _ in range(5)
    ]
    assert {example["made_up_answer"]["a"] for example in examples} == {5.0}
    steps = [example["report"]["payload"][0][1] for example in examples]
    assert all(abs(step - 500) < 480 for step in steps)  # e^-28 apart; 9.9 would be at 990


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-epsilon", 0.5), "above --max-epsilon 0.5"),
        (("--max-person-epsilon", 3), "above --max-person-epsilon 3"),
        (("--max-epsilon", -1), "--max-epsilon is a number above 0"),
        (("--patience", -1), "--patience is a number of seconds"),
        (("--object", "nothing"), "there is no column 'nothing'"),
    ],
)
def test_what_is_refused_is_one_line_and_draws_nothing(
    campaign: Campaign, options: tuple[object, ...], said: str
) -> None:
    campaign.open("sensing")
    done = campaign.send(campaign.claims(), *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not campaign.memory.exists()


def test_claims_about_other_objects_are_refused_without_their_names(campaign: Campaign) -> None:
    campaign.open("sensing")
    source = campaign.claims(3, objects="a\u03b6\u03b6")
    done = campaign.send(source)
    assert done.code == 2
    assert "claims about objects that the campaign does not list: 2 rows" in done.err
    assert "\u03b6" not in done.err


def test_values_outside_are_told_to_whoever_holds_them(campaign: Campaign) -> None:
    campaign.open("sensing")
    source = campaign.claims(4, 4.0, 11.0, -1.0, float("inf"))
    done = campaign.send(source, "--json")
    assert counts(done) == (4, 0, 0)
    assert "FOR YOUR EYES ONLY: 3 of 4 claims (75.0%) lie outside the range" in done.err
    assert "FOR YOUR EYES" not in done.out
    assert done.err.count("\n") == 1
    campaign.open("sparse")
    done = campaign.send(campaign.claims(2, 4.5, 5.0), "--json")
    assert "1 of 2 claims (50.0%) are not on the scale" in done.err
    assert "each of them has an answer is not hidden" in done.err


def test_invited_people_need_their_invitations(campaign: Campaign) -> None:
    campaign.open("sensing", admission="invited")
    answer = campaign.operator.post(f"/campaigns/{campaign.id}/invitations", json={"count": 3})
    tokens = answer.json()["tokens"]
    source = campaign.claims(3)
    done = campaign.send(source)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "by invitation: give --participants FILE" in done.err
    users = [f"secret-name-{number}" for number in range(3)]
    some = campaign.file("some.csv", user=users[:2], participant=tokens[:2])
    done = campaign.send(source, "--participants", some)
    assert done.code == 2
    assert "people who are not in --participants: 1" in done.err
    everybody = campaign.file("all.csv", user=users, participant=[*tokens[:2], "no-invitation"])
    done = campaign.send(source, "--participants", everybody, "--json")
    assert counts(done) == (2, 0, 1)
    assert done.json()["reasons"] == {"not-invited": 1}
    campaign.file("all.csv", user=users, participant=tokens)
    assert counts(campaign.send(source, "--participants", everybody, "--json")) == (1, 2, 0)
    for token in tokens:
        assert token not in done.out + done.err


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"user": ["u", "u"], "participant": ["x", "y"]}, "column 'user' names somebody twice"),
        ({"user": ["u", "v"], "participant": ["x", "x"]}, "column 'participant' has a token twice"),
        ({"user": ["u", None], "participant": ["x", "y"]}, "column 'user' is empty"),
        ({"user": ["u", "v"], "participant": ["x", "two words"]}, "column 'participant' is no token"),
        ({"user": ["u", "v"], "participant": ["x", None]}, "column 'participant' is no token"),
        ({"user": ["u", "v"], "token": ["x", "y"]}, "there is no column 'participant'"),
    ],
)
def test_a_list_of_participants_that_cannot_be_is_refused(
    campaign: Campaign, columns: dict[str, list[Any]], said: str
) -> None:
    campaign.open("sensing")
    done = campaign.send(campaign.claims(), "--participants", campaign.file("list.csv", **columns))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert "two words" not in done.err


def test_in_a_sparse_campaign_everybody_who_is_listed_reports(campaign: Campaign) -> None:
    users = [f"secret-name-{number}" for number in range(6)]
    everybody = campaign.file("all.csv", user=users, participant=[f"token-{user}" for user in users])
    for kind in ("sparse", "slots"):
        campaign.open(kind)
        done = campaign.send(campaign.claims(2), "--participants", everybody, "--json")
        assert counts(done) == (6, 0, 0)
        assert "not hidden" not in done.err
    campaign.open("sensing")
    done = campaign.send(campaign.claims(2), "--participants", everybody, "--json")
    assert counts(done) == (2, 0, 0)
    assert "without an answer, who do not take part: 4" in done.err


def test_records_need_to_know_who_answered(campaign: Campaign) -> None:
    campaign.open("records")
    rows = {"id": ["x", "y", "x"], "age": [20, 70, 140]}  # the column id is a question of this campaign
    done = campaign.send(campaign.file("rows.csv", **rows))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "which column tells who answered? Name it with --user COLUMN" in done.err
    assert "fresh noise" in done.err
    named = campaign.file("rows.csv", **rows, Person=["p", "q", "r"])
    done = campaign.send(named, "--json")
    assert counts(done) == (3, 0, 0)
    assert "1 of 6 claims" in done.err
    other = campaign.file("rows.csv", **rows, nickname=["p", "q", "r"])
    assert counts(campaign.send(other, "--user", "nickname", "--json")) == (0, 3, 0)


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"user": ["p", "p"], "id": ["x", "x"], "age": [1, 2]}, (), "'user' names somebody twice"),
        ({"user": ["p", "q"], "id": ["x", "private"], "age": [1, 2]}, (), "column 'id'"),
        ({"user": ["p", "q"], "age": [1, 2]}, (), "there is no column 'id'"),
        ({"user": ["p"], "id": ["x"], "age": [1]}, ("--user", "who"), "there is no column 'who'"),
        ({"user": ["p"], "id": ["x"], "age": [1]}, ("--value", "age"), "--value goes with sensing"),
    ],
)
def test_records_that_cannot_be_are_refused(
    campaign: Campaign, columns: dict[str, list[Any]], options: tuple[str, ...], said: str
) -> None:
    campaign.open("records")
    done = campaign.send(campaign.file("rows.csv", **columns), *options)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert "private" not in done.err
    assert not campaign.memory.exists()


def test_two_runs_at_once_draw_and_count_everybody_once(campaign: Campaign, tmp_path: Path) -> None:
    campaign.open("sparse")
    source = campaign.claims(300)
    command = [sys.executable, "-m", "crowdveil", "send", str(source), "--to", campaign.url]
    runs = [
        subprocess.Popen(
            [*command, "--memory", str(campaign.memory), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    printed = [json.loads(each.communicate(timeout=120)[0]) for each in runs]
    assert sum(one["sent"] for one in printed) == 300
    assert [one["sent"] + one["already"] for one in printed] == [300, 300]
    assert [one["refused"] for one in printed] == [0, 0]
    assert campaign.counted() == 300


def test_names_do_not_reach_the_server_and_values_are_not_kept(campaign: Campaign, service: Server) -> None:
    campaign.open("sensing")
    source = campaign.claims(3, *[7.123456789] * 3)
    assert counts(campaign.send(source, "--json")) == (3, 0, 0)
    kept = b"".join(path.read_bytes() for path in campaign.folder.glob("memory*"))
    database = Path(service.database.removeprefix("sqlite:///"))
    there = b"".join(path.read_bytes() for path in database.parent.glob(f"{database.name}*"))
    for secret in (b"secret-name", b"7.123"):
        assert secret not in kept
        assert secret not in there
        assert secret not in service.log.read_bytes()


def test_the_memory_is_kept_apart_from_what_is_read(campaign: Campaign) -> None:
    campaign.open("sensing")
    source = campaign.claims(3)
    before = source.read_bytes()
    campaign.memory = source
    done = campaign.send(source)
    assert done.code == 2
    assert "would replace the raw answers" in done.err
    assert source.read_bytes() == before


def test_without_httpx_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "sys.argv = ['crowdveil', 'send', 'x.csv', '--to', 'http://127.0.0.1/c/a']\n"
        "from crowdveil.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == "crowdveil: error: this needs httpx: pip install 'crowdveil[client]'\n"


def test_a_connection_without_encryption_is_told(campaign: Campaign) -> None:
    from crowdveil.client.address import Address

    assert Address.of("https://example.org/c/a").encrypted
    assert Address.of("http://127.0.0.1:8000/c/a").encrypted  # it does not leave this machine
    assert Address.of("http://localhost/c/a").encrypted
    assert not Address.of("http://example.org/c/a").encrypted
    assert Address.of("https://example.org/under/here/c/a").api == (
        "https://example.org/under/here/api/v1/campaigns/a"
    )
