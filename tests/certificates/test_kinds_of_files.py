"""Every kind of file carries the same certificate, and `explain` reads it wherever it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from crowdveil.certificates.reading import read_text
from crowdveil.errors import InputError
from crowdveil.files import read_cell_reports, read_claims_as_told
from crowdveil.files.certificates import read_certificate
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.report.explanation import explain

Run = Callable[..., Any]
BEFORE = Path(__file__).parent / "before"  # files that crowdveil wrote before they had certificates

KINDS = {
    "noisy.csv": ("noisy claims", "laplace", "claim"),
    "noisy.parquet": ("noisy claims", "laplace", "claim"),
    "reports.parquet": ("reports", "cell-response", "cell"),
    "slots.parquet": ("reports", "slots", "cell"),
    "records.csv": ("synthetic records", "crowdveil", "record"),
    "records.parquet": ("synthetic records", "calm", "record"),
}


@pytest.fixture
def files(run: Run, tmp_path: Path) -> Path:
    claims, records, schema = (tmp_path / name for name in ("claims.csv", "raw.csv", "schema.json"))
    claims.write_text(
        "object,user,value\n" + "".join(f"o{i},u{s},{s % 5}\n" for i in (1, 2) for s in range(9))
    )
    records.write_text("x,y\n" + "a,p\nb,q\n" * 50)
    schema.write_text('{"columns": {"x": {"values": ["a", "b"]}, "y": {"values": ["p", "q"]}}}')
    cells = ("--range", "0:4", "--epsilon", 2)
    for name, command in {
        "noisy.csv": ("perturb", claims, *cells),
        "noisy.parquet": ("perturb", claims, *cells),
        "reports.parquet": ("perturb", claims, *cells, "--mechanism", "rr"),
        "slots.parquet": ("perturb", claims, *cells, "--mechanism", "slots", "--sparsity", 0.5),
        "records.csv": ("synthesize", records, "--schema", schema, "--epsilon", 2),
        "records.parquet": ("synthesize", records, "--schema", schema, "--epsilon", 2, "--method", "calm"),
    }.items():
        done = run(*command, "-o", tmp_path / name)
        assert done.code == 0, done.err
    return tmp_path


def test_every_kind_of_file_has_a_certificate_that_explain_reads(run: Run, files: Path) -> None:
    for name, (kind, method, unit) in KINDS.items():
        checked = read_certificate(str(files / name))
        certificate = checked.certificate
        assert checked.recomputed
        assert (certificate.kind, certificate.method) == (kind, method)
        assert isinstance(certificate.promise, Guarantee)
        assert (certificate.promise.unit, certificate.promise.trust) == (unit, "local")
        assert certificate.promise.epsilon == pytest.approx(2.0, rel=1e-3)
        told = run("explain", files / name, "--json").json()
        assert told["differentially_private"] is True
        assert "From everybody, the collector included" in " ".join(explain(str(files / name)).text().split())


@pytest.mark.parametrize("name", KINDS)
def test_an_edited_promise_is_refused_in_every_kind_of_file(files: Path, name: str) -> None:
    path = files / name
    if path.suffix == ".csv":
        text = path.read_text().split("\n", 1)[0].removeprefix("#crowdveil ")
    else:
        text = pl.read_parquet_metadata(path)["crowdveil"]
    for key, value in (("epsilon", 0.01), ("unit", "user"), ("trust", "central"), ("delta", 0.5)):
        stated = json.loads(text)
        stated["promise"][key] = value
        with pytest.raises(InputError, match="the signature is not one of what it says now"):
            read_text(json.dumps(stated), name)
        del stated["signature"]
        with pytest.raises(InputError, match=rf"promise\.{key} is not|promise\.epsilon is not"):
            read_text(json.dumps(stated), name)
    stated = json.loads(text)
    del stated["signature"]
    stated["public"] = {}
    with pytest.raises(InputError, match="public"):
        read_text(json.dumps(stated), name)


def test_a_table_that_tells_nothing_has_no_certificate(files: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.parquet"
    pl.DataFrame({"object": ["a"], "user": ["u"], "value": [1.0]}).write_parquet(plain)
    with pytest.raises(InputError, match="carries no certificate"):
        read_certificate(str(plain))
    with pytest.raises(InputError, match="carries no certificate"):
        read_certificate(str(files / "claims.csv"))


@pytest.mark.parametrize("name", KINDS)
def test_what_files_told_before_they_had_certificates_is_still_read(name: str) -> None:
    kind, method, unit = KINDS[name]
    checked = read_certificate(str(BEFORE / name))
    assert (checked.certificate.kind, checked.certificate.method) == (kind, method)
    assert isinstance(checked.certificate.promise, Guarantee)
    assert checked.certificate.promise.unit == unit
    assert checked.recomputed == (kind != "synthetic records")
    if kind == "noisy claims":
        assert read_claims_as_told(str(BEFORE / name))[1] == checked.certificate
        # How many claims a user has was not kept: nothing is told as if they had one.
        assert "claims_of_a_user" not in checked.certificate.public
        assert checked.certificate.user_promise is None
        assert checked.certificate.levels()[1].times == "their number"
        assert "a person with 1 claim" not in explain(str(BEFORE / name)).text()
    if kind == "reports":
        reports = read_cell_reports(str(BEFORE / name))
        assert reports is not None
        assert reports.promise == checked.certificate.promise


def test_a_seeded_file_promises_nothing_whatever_it_was_before(run: Run, files: Path) -> None:
    out = files / "seeded.parquet"
    run("perturb", files / "claims.csv", "--range", "0:4", "--epsilon", 2, "--seed", 1, "-o", out)
    certificate = read_certificate(str(out)).certificate
    assert certificate.seeded
    assert isinstance(certificate.promise, NoGuarantee)
    assert "NOT PRIVATE" in explain(str(out)).in_short


@pytest.mark.parametrize("name", ["noisy.csv", "records.csv"])
def test_a_certificate_does_not_speak_for_another_table_of_that_name(files: Path, name: str) -> None:
    for each in (name, f"{name}.{'mechanism' if name == 'noisy.csv' else 'promise'}.json"):
        (files / each).write_bytes((BEFORE / each).read_bytes())
    assert read_certificate(str(files / name)).certificate
    (files / name).write_text((files / "claims.csv").read_text())
    with pytest.raises(InputError, match="is not the file that"):
        read_certificate(str(files / name))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"promise": {"epsilon": 0.001}}, "the promise is not"),
        ({"promise": {"adjacency": "add-remove"}}, "the promise is not"),
        ({"promise": {"trust": "central"}}, "the promise is not"),
        ({"parameters": "rubbish"}, "cannot be used|does not tell"),
        ({"parameters": {"epsilon": "much"}}, "parameters.epsilon"),
        ({"method": "magic"}, "there is no synthesis method"),
        ({"format": True}, "another format"),
        ({"seeded": True}, "the promise is not"),
        ({"domains_declared": False}, "the promise is not"),
    ],
)
def test_what_records_told_before_is_no_way_around_the_check(change: dict[str, Any], words: str) -> None:
    stated = json.loads((BEFORE / "records.csv.promise.json").read_text())
    for key, value in change.items():
        stated[key] = {**stated[key], **value} if isinstance(value, dict) else value
    with pytest.raises(InputError, match=words):
        read_text(json.dumps(stated), "here")


def test_what_could_not_be_computed_again_is_said_first() -> None:
    assert "could NOT be computed again" in explain(str(BEFORE / "records.csv")).in_short
    assert "could NOT" not in explain(str(BEFORE / "reports.parquet")).in_short


def test_domains_that_nobody_declares_are_refused_at_once(files: Path) -> None:
    stated = json.loads((files / "records.csv").read_text().split("\n", 1)[0].removeprefix("#crowdveil "))
    del stated["signature"]
    for size in (10**9, 1, "many"):
        stated["public"]["columns"]["x"] = size
        with pytest.raises(InputError, match=r"public\.columns is not"):
            read_text(json.dumps(stated), "here")
