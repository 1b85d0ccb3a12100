"""Files of a campaign's results, each with its certificate where it is a table of reports or records."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from functools import lru_cache
from typing import Any

import polars as pl

from crowdveil.campaigns.kind import Batch, Gathered, Plans
from crowdveil.certificates.certificate import Certificate
from crowdveil.certificates.reading import read_text
from crowdveil.files.certificates import csv_parts, metadata_of
from crowdveil.files.exact_paths import parquet_metadata, scan_parquet
from crowdveil.plain_data import to_json
from crowdveil.report.campaign_page import campaign_page
from crowdveil.report.style import stylesheet
from crowdveil.service.problems import Refused
from crowdveil.service.store import campaigns, results
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import read_plans, read_reports

# A fixed time, so that the same content gives the same bytes.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def gathered(database: Database, campaign: Kept, wave: int) -> Gathered | None:
    """All reports of a wave, by round and place; None if there is none."""
    with database.reading() as connection:
        batches = [batch for _, batch in read_reports(connection, campaign.number, wave)]
        plans: Plans = read_plans(connection, campaign.number, wave)  # after: a round's plan is there first
    whole = joined(batches).by_place()
    if not len(whole):
        return None
    reports = campaign.campaign.kind.gather(wave)
    reports.add(whole, plans)
    return reports


def joined(batches: list[Batch]) -> Batch:
    """Batches as one."""
    rows = [
        row
        for batch in batches
        for row in zip(batch.places.tolist(), batch.rounds.tolist(), batch.payloads, strict=True)
    ]
    return Batch.of(rows)


def parquet(frame: pl.DataFrame, certificate: Certificate | None = None) -> bytes:
    """A table as Parquet, with its certificate in the metadata."""
    buffer = io.BytesIO()
    if certificate is None:
        frame.write_parquet(buffer)
    else:
        frame.write_parquet(buffer, metadata=metadata_of(frame, certificate, None))
    return buffer.getvalue()


def reports_of(campaign: Kept, reports: Gathered) -> bytes:
    """All reports of a wave as `discover` reads them."""
    frame, certificate = reports.exported()
    return parquet(frame, campaign.campaign.of_one_wave(certificate))


def published(campaign: Kept, name: str, frame: pl.DataFrame) -> bytes:
    """A table of a wave's result, with its certificate if it carries one."""
    frame, certificate = campaign.campaign.kind.published(name, frame)
    return parquet(frame, certificate and campaign.campaign.of_one_wave(certificate))


def reports_file(database: Database, campaign: Kept, wave: int) -> bytes:
    """All reports of a wave; those of a closed campaign were written when it was closed."""
    with database.reading() as connection:
        kept = results.read_file(connection, campaign.number, wave, "reports.parquet")
    if kept is not None:
        return kept
    reports = gathered(database, campaign, wave)
    if reports is None:
        raise Refused(409, "no-reports", "nobody has reported in this wave")
    return reports_of(campaign, reports)


def table(database: Database, campaign: Kept, wave: int, name: str, ending: str) -> bytes:
    """A table of the last result, as CSV or Parquet."""
    records = campaign.campaign.kind.name == "records"
    stored = {"results": "marginals" if records else "truths"}.get(name, name)
    with database.reading() as connection:
        content = results.read_file(connection, campaign.number, wave, f"{stored}.parquet")
    if content is None:
        if name in (("weights",) if records else ("records", "marginals")):
            raise Refused(404, "table", f"a {campaign.campaign.kind.name} campaign has no {name}")
        raise Refused(409, "no-result", "there is no result yet")
    return content if ending == "parquet" else as_csv(content)


def as_csv(content: bytes) -> bytes:
    """A Parquet file as CSV; its certificate, if it has one, becomes the first line."""
    frame = scan_parquet(io.BytesIO(content)).collect()
    stated = parquet_metadata(io.BytesIO(content)).get("crowdveil")
    if stated is None:
        return frame.write_csv().encode()
    certificate = read_text(stated, "this table").certificate
    plain = {name: value for name, value in certificate.contents.items() if name != "rows_sha256"}
    return b"".join(csv_parts(frame, replace(certificate, contents=plain), None))


def page(campaign: Kept, current: dict[str, Any]) -> str:
    """The result for people to read; nothing on it is more than the results say."""
    return _page(campaign.document, to_json(current))


@lru_cache(maxsize=16)
def _page(document: str, current: str) -> str:
    """The same for everybody until the result changes: whoever asks often costs little."""
    return campaign_page(json.loads(document), json.loads(current))


def page_policy() -> str:
    """Of the page of a result: nothing but its own stylesheet, which stands in it, by its digest."""
    digest = base64.b64encode(hashlib.sha256(f"\n{stylesheet()}".encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    )


def bundle(database: Database, campaign: Kept, wave: int, current: dict[str, Any]) -> bytes:
    """Everything about a wave in one zip file."""
    document, frozen = json.loads(campaign.document), campaign.campaign
    with database.reading() as connection:
        ledger = campaigns.ledger(connection, campaign)
        names = ("marginals", "records") if document["kind"] == "records" else ("truths", "weights")
        stored = {
            name: results.read_file(connection, campaign.number, wave, f"{name}.parquet") for name in names
        }
    files: dict[str, bytes] = {
        "campaign.json": to_json({"id": campaign.id, **document}).encode(),
        "certificate.json": to_json(frozen.of_one_wave(frozen.kind.certificate()).to_dict()).encode(),
        "ledger.json": to_json(
            {
                "campaign": campaign.id,
                "entries": ledger,
                "all_waves": frozen.guarantee["all_waves"],
            }
        ).encode(),
        "results.json": to_json(current).encode(),
        "public.html": page(campaign, current).encode(),
    }
    for name, content in stored.items():
        if content is not None:
            files |= {f"{name}.parquet": content, f"{name}.csv": as_csv(content)}
    with contextlib.suppress(Refused):
        files["reports.parquet"] = reports_file(database, campaign, wave)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
