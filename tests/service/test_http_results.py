"""The HTTP contract of the service, on both databases: results, exports, the public page, what is deleted."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import polars as pl
import pytest
from sqlalchemy import select

from crowdveil.certificates.reading import read_text
from crowdveil.service.store.schema import metadata
from devices import (
    KINDS,
    RECORDS,
    SENSING,
    Json,
    assert_problem,
    create,
    database_of,
    fill,
    operator,
    rows,
    send,
    until,
)
from serving import Server, closed_result

FIELDS = {"as_of", "provisional", "participants", "reports", "promise"}


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_provisional_until_the_campaign_is_closed(server: Server, kind: str) -> None:
    ann, device = operator(server), server.client()
    campaign = create(ann, KINDS[kind])
    address = f"/campaigns/{campaign['id']}/results"
    nothing = ann.get(address).json()
    assert nothing.keys() >= FIELDS
    assert (nothing["as_of"], nothing["provisional"], nothing["reports"]) == (None, True, 0)
    fill(device, campaign, 5)
    assert ann.get(address).json()["reports"] == 5
    until(lambda: ann.get(address).json()["counted"] == 5)
    live = ann.get(address).json()
    assert live["provisional"] is True
    assert live["as_of"].endswith("Z")
    assert live["promise"] == campaign["guarantee"]
    last = closed_result(ann, campaign["id"])
    assert (last["state"], last["provisional"], last["participants"], last["counted"]) == (
        "closed",
        False,
        5,
        5,
    )
    if kind == "records":
        assert {"columns", "labels", "shares"} <= last["tables"][0].keys()
        assert sum(last["tables"][0]["shares"]) == pytest.approx(1)
    else:
        assert {truth["object"] for truth in last["truths"]} == set(KINDS[kind]["objects"])
        for truth in last["truths"]:
            assert truth.keys() >= {"object", "estimate", "lower", "upper"}
            assert truth["lower"] <= truth["estimate"] <= truth["upper"]


def test_a_campaign_that_nobody_answered_closes_with_an_empty_result(server: Server) -> None:
    ann = operator(server)
    for request in (SENSING, RECORDS):
        last = closed_result(ann, create(ann, request)["id"])
        assert last["reports"] == 0
        assert (last.get("truths") or last.get("tables") or []) == []


def closed(server: Server, kind: str, **more: Any) -> tuple[httpx.Client, Json, Json]:
    """An operator, a closed campaign with reports, and its result."""
    ann = operator(server)
    campaign = create(ann, KINDS[kind], **more)
    fill(server.client(), campaign, 6)
    return ann, campaign, closed_result(ann, campaign["id"])


@pytest.mark.parametrize("kind", KINDS)
def test_exports_say_what_the_results_say(server: Server, kind: str) -> None:
    ann, campaign, last = closed(server, kind)
    address = f"/campaigns/{campaign['id']}"
    table = ann.get(f"{address}/results.parquet")
    assert table.headers["content-type"] == "application/vnd.apache.parquet"
    assert table.headers["content-disposition"] == 'attachment; filename="results.parquet"'
    exact = pl.read_parquet(io.BytesIO(table.content))
    text = ann.get(f"{address}/results.csv")
    assert text.headers["content-type"].startswith("text/csv")
    assert pl.read_csv(io.BytesIO(text.content)).height == exact.height
    if kind == "records":
        assert exact.columns == ["column", "value", "column_2", "value_2", "share"]
        first = exact.filter(
            pl.col("column_2").is_null(), pl.col("column") == last["tables"][0]["columns"][0]
        )
        assert first["share"].to_list() == last["tables"][0]["shares"]
        made = pl.read_parquet(io.BytesIO(ann.get(f"{address}/records.parquet").content))
        assert made.columns == ["job", "age"]
        assert ann.get(f"{address}/records.csv").text.startswith("#crowdveil ")
        assert_problem(ann.get(f"{address}/weights.csv"), 404, "table")
    else:
        named = exact.select("object", "estimate").to_dicts()
        assert named == [{name: truth[name] for name in ("object", "estimate")} for truth in last["truths"]]
        weights = pl.read_parquet(io.BytesIO(ann.get(f"{address}/weights.parquet").content))
        assert weights.height == 6
        assert ann.get(f"{address}/weights.csv").status_code == 200
        assert_problem(ann.get(f"{address}/records.csv"), 404, "table")
    reports = ann.get(f"{address}/reports.parquet")
    assert "crowdveil" in pl.read_parquet_metadata(io.BytesIO(reports.content))


def test_there_is_nothing_to_export_without_a_report(server: Server) -> None:
    ann = operator(server)
    address = f"/campaigns/{create(ann)['id']}"
    for name in ("results.csv", "results.parquet", "weights.csv", "reports.parquet"):
        assert_problem(ann.get(f"{address}/{name}"), 409)
    for name in ("results.exe", "weights.exe"):
        assert_problem(ann.get(f"{address}/{name}"), 422)


def test_a_wave_that_was_not_opened_has_no_results(server: Server) -> None:
    ann = operator(server)
    for campaign in (create(ann, waves=3), create(ann, waves=3, state="draft")):
        for name in ("results", "results.csv", "weights.parquet", "reports.parquet", "bundle.zip"):
            assert_problem(ann.get(f"/campaigns/{campaign['id']}/{name}", params={"wave": 2}), 404, "wave")


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_holds_everything(server: Server, kind: str) -> None:
    ann, campaign, last = closed(server, kind)
    address = f"/campaigns/{campaign['id']}"
    answer = ann.get(f"{address}/bundle.zip")
    assert answer.headers["content-type"] == "application/zip"
    assert ann.get(f"{address}/bundle.zip").content == answer.content
    own = ("marginals", "records") if kind == "records" else ("truths", "weights")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {
            *("campaign.json", "certificate.json", "ledger.json", "results.json", "public.html"),
            *("reports.parquet",),
            *(f"{name}.{ending}" for name in own for ending in ("csv", "parquet")),
        }
        assert json.loads(archive.read("results.json")) == last
        assert json.loads(archive.read("campaign.json"))["guarantee"] == campaign["guarantee"]
        promise = json.loads(archive.read("certificate.json"))["promise"]
        assert promise.keys() >= {"epsilon", "delta", "unit", "adjacency", "trust", "sentence"}
        assert json.loads(archive.read("ledger.json"))["entries"][0]["reports"] == 6
        assert archive.read("reports.parquet") == ann.get(f"{address}/reports.parquet").content
        assert campaign["title"] in archive.read("public.html").decode()


@pytest.mark.parametrize("waves", [1, 3])
def test_certificates_say_that_there_are_other_waves(server: Server, waves: int) -> None:
    ann, campaign, _ = closed(server, "records", waves=waves)
    address = f"/campaigns/{campaign['id']}"
    with zipfile.ZipFile(io.BytesIO(ann.get(f"{address}/bundle.zip").content)) as archive:
        stated = [json.loads(archive.read("certificate.json"))]
        for name in ("records.parquet", "reports.parquet"):
            written = pl.read_parquet_metadata(io.BytesIO(archive.read(name)))["crowdveil"]
            stated.append(read_text(written, name).certificate.to_dict())
    for certificate in stated:
        assert certificate["public"].get("waves", 1) == waves
        assert any("in other waves" in line for line in certificate["not_promised"]) == (waves > 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_page_is_public_once_it_is_published(server: Server, kind: str) -> None:
    ann, campaign, _ = closed(server, kind)
    page = f"{server.url}/c/{campaign['id']}/results"
    assert_problem(httpx.get(page), 404, "unpublished")
    assert ann.patch(f"/campaigns/{campaign['id']}", json={"published": True}).json()["published"] is True
    shown = httpx.get(page)
    assert shown.status_code == 200
    assert shown.headers["content-type"].startswith("text/html")
    assert campaign["title"] in shown.text
    assert campaign["guarantee"]["sentence"].split(";")[0][:40] in shown.text
    ann.patch(f"/campaigns/{campaign['id']}", json={"published": False})
    assert_problem(httpx.get(page), 404, "unpublished")


def test_a_published_page_escapes_what_operators_wrote(server: Server) -> None:
    ann = operator(server)
    campaign = create(ann, title="<script>alert(1)</script>", objects=["<img src=x>", "b"])
    send(server.client(), campaign, "p", answer={"<img src=x>": 1.0})
    closed_result(ann, campaign["id"])
    ann.patch(f"/campaigns/{campaign['id']}", json={"published": True})
    shown = httpx.get(f"{server.url}/c/{campaign['id']}/results").text
    assert "<script>alert" not in shown
    assert "<img src=x>" not in shown
    assert "&lt;img src=x&gt;" in shown


def rows_of(server: Server, number: int) -> dict[str, int]:
    """How many rows of each table belong to a campaign."""
    counts = {}
    with database_of(server) as connection:
        for table in metadata.sorted_tables:
            column = table.c.get("number" if table.name == "campaigns" else "campaign")
            if column is not None and table.name != "journal":
                found = connection.execute(select(column).where(column == number)).all()
                counts[table.name] = len(found)
    return counts


def number_of(server: Server, campaign: Json) -> int:
    """The number of a campaign in the database."""
    table = metadata.tables["campaigns"]
    with database_of(server) as connection:
        number: int = connection.execute(
            select(table.c.number).where(table.c.id == campaign["id"])
        ).scalar_one()
    return number


def full(server: Server, ann: httpx.Client) -> Json:
    """A campaign with rows in every table."""
    campaign = create(ann, RECORDS, admission="invited", people=8, waves=2)
    tokens = ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 12}).json()["tokens"]
    device = server.client()
    assert [send(device, campaign, token).status_code for token in tokens] == [201] * 12
    number = number_of(server, campaign)
    until(lambda: all(rows_of(server, number).values()))
    assert len(rows_of(server, number)) == 9
    return campaign


def test_deleting_removes_every_row_but_the_journal(server: Server) -> None:
    ann = operator(server)
    before = rows(server, without=("journal",))
    campaign = full(server, ann)
    number = number_of(server, campaign)
    assert ann.delete(f"/campaigns/{campaign['id']}").status_code == 204
    assert not any(rows_of(server, number).values())
    assert rows(server, without=("journal",)) == before
    for path in ("", "/results", "/reports.parquet", "/journal"):
        assert_problem(ann.get(f"/campaigns/{campaign['id']}{path}"), 404, "unknown-campaign")
    late = server.client().post(f"/campaigns/{campaign['id']}/places", json={"participant": "p"})
    assert_problem(late, 404, "unknown-campaign")
    journal = metadata.tables["journal"]
    with database_of(server) as connection:
        noted = connection.execute(select(journal.c.action).where(journal.c.campaign == campaign["id"]))
        assert list(noted.scalars())[-1] == "delete"


def test_the_worker_deletes_what_is_past_its_date(server: Server) -> None:
    ann = operator(server)
    other = create(ann)
    before = rows(server, without=("journal",))
    campaign = full(server, ann)
    number = number_of(server, campaign)
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    assert ann.patch(f"/campaigns/{campaign['id']}", json={"retention": soon}).status_code == 200
    until(lambda: not any(rows_of(server, number).values()), 20)
    assert rows(server, without=("journal",)) == before
    assert_problem(ann.get(f"/campaigns/{campaign['id']}"), 404, "unknown-campaign")
    assert ann.get(f"/campaigns/{other['id']}").status_code == 200
