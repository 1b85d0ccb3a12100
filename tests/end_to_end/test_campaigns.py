"""Campaigns end to end: created over HTTP, answered by `crowdveil send`, closed, and computed once more.

Whatever the server found, the library finds in the exported reports, to the last bit.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from conftest import Run
from crowdveil.campaigns.record_exports import read_collection
from crowdveil.errors import InputError
from crowdveil.randomness import seeded
from crowdveil.records import Schema
from serving import Server, closed_result

PEOPLE = 200
OBJECTS = [f"place {number}" for number in range(12)]
SCHEMA = {
    "columns": {
        "sport": {"values": ["none", "some", "much"]},
        "age": {"edges": [0, 30, 60, 90]},
        "smokes": {"values": ["yes", "no"], "missing": True},
        "town": {"values": ["small", "large"]},
    }
}
CLAIMS: dict[str, dict[str, Any]] = {
    "sensing": {"kind": "sensing", "objects": OBJECTS, "range": [0, 10], "epsilon": 2},
    "gaussian": {
        **{"kind": "sensing", "objects": OBJECTS, "range": [0, 10], "epsilon": 2},
        "mechanism": "gaussian-exponential",
    },
    "sparse": {"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 2},
    "slots": {
        **{"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 3},
        **{"unit": "person", "people": PEOPLE},
    },
}


@pytest.fixture(scope="module")
def operator(server: Server) -> httpx.Client:
    return server.operator("end to end")


class Campaign:
    """A campaign on the server, and a crowd that answers by `crowdveil send`."""

    def __init__(self, server: Server, operator: httpx.Client, run: Run, folder: Path) -> None:
        self._server, self._operator, self._run, self._folder = server, operator, run, folder

    def open(self, asked: dict[str, Any]) -> None:
        created = self._operator.post("/campaigns", json={"title": "end to end", **asked})
        assert created.status_code == 201, created.text
        self._id = created.json()["id"]
        assert self._operator.patch(f"/campaigns/{self._id}", json={"state": "open"}).status_code == 200

    def send(self, frame: pl.DataFrame) -> None:
        people = frame["user"].n_unique()
        source = self._folder / "answers.parquet"
        frame.write_parquet(source)
        to, memory = f"{self._server.url}/c/{self._id}", self._folder / "memory.sqlite3"
        for wanted in ((people, 0, 0), (0, people, 0)):
            done = self._run("send", source, "--to", to, "--memory", memory, "--max-epsilon", 3, "--json")
            assert done.code == 0, done.err
            assert tuple(done.json()[name] for name in ("sent", "already", "refused")) == wanted

    def close(self) -> dict[str, Any]:
        result = closed_result(self._operator, self._id)
        assert result["reports"] == result["counted"] == PEOPLE
        return result

    def file(self, name: str) -> Path:
        answer = self._operator.get(f"/campaigns/{self._id}/{name}")
        assert answer.status_code == 200, answer.text
        path = self._folder / name
        path.write_bytes(answer.content)
        return path

    def wait_for_round(self, number: int) -> None:
        """Wait until whoever comes is asked in that round; passers-by take places, and say nothing."""
        give_up, asked = time.monotonic() + 60, -1
        while asked < number:
            assert time.monotonic() < give_up
            time.sleep(0.2)
            place = {"participant": f"passer-by {time.monotonic_ns()}".replace(" ", "-")}
            asked = self._operator.post(f"/campaigns/{self._id}/places", json=place).json()["round"]
        assert asked == number


@pytest.fixture
def campaign(server: Server, operator: httpx.Client, run: Run, tmp_path: Path) -> Campaign:
    return Campaign(server, operator, run, tmp_path)


def said(kind: str) -> pl.DataFrame:
    """What people say about a few objects each, with errors of their own."""
    stream = seeded(7).stream(kind, purpose="crowd")
    truths = 1 + 4 * np.linspace(0, 1, len(OBJECTS))
    about = (np.arange(PEOPLE)[:, None] + 3 * np.arange(4)) % len(OBJECTS)
    values = truths[about] + stream.normals(about.size).reshape(about.shape) * 0.5
    if CLAIMS[kind]["kind"] == "sparse":
        values = np.clip(np.rint(values), 1, 5)
    return pl.DataFrame(
        {
            "object": [OBJECTS[at] for at in about.ravel().tolist()],
            "user": np.repeat([f"person {number}" for number in range(PEOPLE)], about.shape[1]),
            "value": values.ravel(),
        }
    )


@pytest.mark.parametrize("kind", CLAIMS)
def test_the_servers_truths_are_those_that_discover_finds(
    campaign: Campaign, run: Run, tmp_path: Path, kind: str
) -> None:
    campaign.open(CLAIMS[kind])
    campaign.send(said(kind))
    result = campaign.close()
    reports = campaign.file("reports.parquet")
    with pytest.raises(InputError, match="not the reports of a records campaign"):
        read_collection(reports)
    done = run("discover", reports, "-o", tmp_path / "truths.parquet")
    assert done.code == 0, done.err
    ours, theirs = (
        pl.read_parquet(tmp_path / "truths.parquet"),
        pl.read_parquet(campaign.file("results.parquet")),
    )
    assert ours.columns == ["object", "estimate", "lower", "upper", "error"]
    assert ours.equals(theirs)
    weights = pl.read_parquet(tmp_path / "truths.weights.parquet")
    assert weights.equals(pl.read_parquet(campaign.file("weights.parquet")))
    assert pl.DataFrame(result["truths"]).select(ours.columns).equals(ours)


def answered() -> pl.DataFrame:
    """A row of answers for each person, with some dependence."""
    draws = seeded(9).stream("records", purpose="crowd").uniforms(3 * PEOPLE).reshape(3, PEOPLE)
    much = draws[0] < 0.5
    return pl.DataFrame(
        {
            "user": [f"person {number}" for number in range(PEOPLE)],
            "sport": np.where(much, "much", np.where(draws[1] < 0.5, "some", "none")),
            "age": np.where(much, 25.0, 65.0) + 20 * draws[2],
            "smokes": pl.Series(["no", None, "yes"]).gather((3 * draws[1]).astype(int)),
            "town": np.where(draws[2] < 0.3, "small", "large"),
        }
    )


@pytest.mark.parametrize(
    ("mechanism", "options", "portions"),
    [("crowdveil", {"rounds": 2}, 2), ("samprivsyn", {"batch": 50}, 4)],
)
def test_the_servers_tables_are_those_of_the_library(
    campaign: Campaign, mechanism: str, options: dict[str, int], portions: int
) -> None:
    asked = {"kind": "records", "schema": SCHEMA, "epsilon": 3, "people": PEOPLE}
    campaign.open(asked | {"mechanism": mechanism, "options": options})
    size = PEOPLE // portions
    for number in range(portions):
        campaign.send(answered().slice(number * size, size))
        if number + 1 < portions:
            campaign.wait_for_round(number + 1)
    result = campaign.close()
    path = campaign.file("reports.parquet")
    assert sorted(pl.read_parquet(path)["round"].unique()) == list(range(portions))
    collection = read_collection(path)
    schema = Schema.from_dict(SCHEMA)
    tables = collection.design.tables(schema, collection.halves)
    ours = {
        tuple(schema.names[column] for column in columns): shares.tolist()
        for columns, shares in tables.items()
    }
    theirs = {tuple(table["columns"]): table["shares"] for table in result["tables"]}
    assert ours == theirs
    assert len(theirs) >= len(schema.names)
