"""`crowdveil explain`: the same facts for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from conftest import Run
from crowdveil.certificates.certificate import SCHEMA_VERSION, Certificate
from crowdveil.cli.explain import explain
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.public_range import Range
from crowdveil.releases.basic import Basic
from crowdveil.releases.pattern import Pattern

app = typer.Typer()
app.command()(explain)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a certificate, as a release has one."""
    return _with_certificate(tmp_path)


def _with_certificate(folder: Path) -> Path:
    basic = Basic(1.0, Range(0, 10))
    promise = basic.promise(Pattern.even(1, 1))
    certificate = Certificate("release", basic.name, basic.to_dict(), promise, seeded=False, synthetic=False)
    (folder / "certificate.json").write_text(json.dumps(certificate.to_dict()))
    return folder


def test_a_certificate_and_its_folder_are_explained_alike(folder: Path) -> None:
    by_file = CliRunner().invoke(app, [str(folder / "certificate.json")])
    by_folder = CliRunner().invoke(app, [str(folder)])
    assert by_file.exit_code == by_folder.exit_code == 0
    assert by_file.stdout == by_folder.stdout
    assert by_file.stdout.startswith("Differential privacy for each single claim with epsilon = 1.")
    assert "Who made claims about which objects" in by_file.stdout


def test_json_holds_the_words_and_the_figures(folder: Path) -> None:
    done = CliRunner().invoke(app, [str(folder), "--json"])
    told = json.loads(done.stdout)
    assert told["differentially_private"] is True
    assert told["figures"]["epsilon"] == 1.0
    assert told["figures"]["examples"][0]["before"] == 0.5
    assert told["figures"]["examples"][0]["after_at_most"] == pytest.approx(0.7310585786)
    text = " ".join(CliRunner().invoke(app, [str(folder)]).stdout.split())
    for section in ("who", "from_whom", "how_strongly", "assumed", "not_promised"):
        assert told[section]
        for words in told[section]:
            assert words in text


def test_a_certificate_is_taken_from_standard_input(folder: Path) -> None:
    text = (folder / "certificate.json").read_text()
    assert CliRunner().invoke(app, ["-"], input=text).stdout == CliRunner().invoke(app, [str(folder)]).stdout


@pytest.mark.parametrize("spoil", ["edited", "truncated", "missing", "other version"])
def test_a_bad_certificate_is_refused_in_one_line_and_nothing_is_said(folder: Path, spoil: str) -> None:
    path = folder / "certificate.json"
    text = path.read_text()
    path.write_text(
        {
            "edited": text.replace('"epsilon": 1.0, "delta"', '"epsilon": 0.1, "delta"'),
            "truncated": text[:-20],
            "other version": text.replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 99'),
        }.get(spoil, text)
    )
    if spoil == "missing":
        path.unlink()
    else:
        assert path.read_text() != text
    done = CliRunner().invoke(app, [str(path)])
    assert isinstance(done.exception, InputError)
    assert isinstance(done.exception, CrowdveilError)
    assert str(path) in str(done.exception)
    assert str(done.exception).isprintable()
    assert done.stdout == ""


def test_help_has_an_example() -> None:
    assert "Example: crowdveil explain out/certificate.json" in CliRunner().invoke(app, ["--help"]).stdout


def test_a_signed_release_is_checked_against_a_key(run: Run, claims_csv: Path, tmp_path: Path) -> None:
    out, key = tmp_path / "out", tmp_path / "key.pem"
    told = run("release", claims_csv, "--method", "basic", "--epsilon", 1, "--range", "0:10", "-o", out)
    exported = run("ledger", "--export-key", key)
    fingerprint = exported.out.splitlines()[-1]
    assert f"signed by    {fingerprint}" in told.out
    done = run("explain", out, "--key", key)
    assert done.code == 0
    assert f"Signed by {fingerprint}, which is the key that you named." in done.out
    assert (
        run("explain", out, "--key", key, "--json").json()["checks"]["signature"]["by_the_named_key"] is True
    )
    (out / "claims.csv").write_text("object,value\n")
    done = run("explain", out, "--key", key)
    assert (done.code, done.out) == (2, "")
    assert "claims.csv: is not the file" in done.err
    (tmp_path / "unsigned").mkdir()
    done = run("explain", _with_certificate(tmp_path / "unsigned"), "--key", key)
    assert (done.code, done.out) == (2, "")
    assert "is not signed" in done.err
