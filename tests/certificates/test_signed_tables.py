"""Tables that carry a signed certificate: noisy claims, reports and synthetic records."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run
from crowdveil.certificates.signature import signed_bytes
from crowdveil.errors import InputError
from crowdveil.files import read_cell_reports, read_claims_as_told
from crowdveil.files.certificates import read_certificate
from crowdveil.files.first_line import PREFIX, digest, line_of
from crowdveil.files.rows import rows_of_frame
from crowdveil.ledger import Ledger, default_path
from crowdveil.report.explanation import explain
from crowdveil.signing import SigningKey

VERSION_2 = Path(__file__).parent / "version2"  # written by crowdveil when certificates had version 2
CELLS = ("--range", "0:4", "--epsilon", 2)
COMMANDS: dict[str, tuple[object, ...]] = {
    "noisy.csv": ("perturb", "claims.csv", *CELLS),
    "noisy.parquet": ("perturb", "claims.csv", *CELLS),
    "reports.parquet": ("perturb", "claims.csv", *CELLS, "--mechanism", "rr"),
    "records.csv": ("synthesize", "raw.csv", "--schema", "schema.json", "--epsilon", 2),
    "records.parquet": ("synthesize", "raw.csv", "--schema", "schema.json", "--epsilon", 2),
}
PARQUET = [name for name in COMMANDS if name.endswith(".parquet")]
CSV = [name for name in COMMANDS if name.endswith(".csv")]
Make = Callable[..., Path]


@pytest.fixture
def make(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Write one of the tables."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"o{i},u{s},{s % 5}\n" for i in (1, 2) for s in range(9))
    Path("claims.csv").write_text("object,user,value\n" + rows)
    Path("raw.csv").write_text("x,y\n" + "a,p\nb,q\n" * 20)
    Path("schema.json").write_text('{"columns": {"x": {"values": ["a", "b"]}, "y": {"values": ["p", "q"]}}}')

    def written(name: str, *more: object, out: str = "") -> Path:
        path = tmp_path / (out or name)
        done = run(*COMMANDS[name], *more, "-o", path)
        assert done.code == 0, done.err
        return path

    return written


def _stated(path: Path) -> dict[str, Any]:
    if path.suffix == ".parquet":
        found: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)["crowdveil"])
    else:
        found = json.loads(path.read_bytes().split(b"\n", 1)[0].removeprefix(PREFIX))
    return found


def _write(path: Path, rows: pl.DataFrame | bytes, stated: dict[str, Any]) -> None:
    if isinstance(rows, bytes):
        path.write_bytes(line_of(stated) + rows)
    else:
        rows.write_parquet(path, metadata={"crowdveil": json.dumps(stated)})


def _rows(path: Path) -> pl.DataFrame | bytes:
    return pl.read_parquet(path) if path.suffix == ".parquet" else path.read_bytes().split(b"\n", 1)[1]


def _refused(path: Path, key: Path | None = None) -> str:
    with pytest.raises(InputError) as refused:
        explain(str(path), key)
    assert str(refused.value).isprintable()
    return str(refused.value)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_table_is_signed_and_tied_to_its_rows(run: Run, make: Make, name: str) -> None:
    path, key = make(name), Path("key.pem")
    fingerprint = run("ledger", "--export-key", key).out.splitlines()[-1]
    done = run("explain", path, "--key", key)
    assert done.code == 0, done.err
    assert f"Signed by {fingerprint}, which is the key that you named." in done.out
    assert "The rows of the table are those that it was written with." in done.out
    assert run("explain", path, "--json").json()["checks"] == {
        "signature": {"signed_by": fingerprint, "by_the_named_key": False},
        "recomputed": True,
        "files": None,
        "rows": True,
    }
    other = Path("other.pem")
    other.write_text(SigningKey.new().public.to_pem())
    assert "is signed by another key" in _refused(path, other)


@pytest.mark.parametrize("name", CSV)
def test_what_goes_through_a_pipe_is_signed_too(
    run: Run, make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make(name)
    run("ledger", "--export-key", "key.pem")
    sent = run(*COMMANDS[name], "-o", "-").out
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(sent.encode())))
    told = run("explain", "-", "--key", "key.pem", "--json").json()["checks"]
    assert told["signature"]["by_the_named_key"] is True
    assert told["rows"] is True


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_of_two_tables_of_one_key_cannot_be_swapped(make: Make, name: str) -> None:
    path, other = make(name), make(name, "--epsilon", 1, out=f"other-{name}")
    one, two = (_stated(path), _rows(path)), (_stated(other), _rows(other))
    _write(path, two[1], one[0])
    _write(other, one[1], two[0])
    for table in (path, other):
        assert "its rows are not those" in _refused(table)


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_changed_in_step_with_their_digest_are_noticed_by_the_signature(make: Make, name: str) -> None:
    path = make(name)
    stated, rows = _stated(path), _rows(path)
    if isinstance(rows, bytes):
        rows = rows.rsplit(b"\n", 2)[0] + b"\n"
        stated["contents"]["sha256"] = digest(BytesIO(rows))
    else:
        rows = rows[:-1]
        stated["contents"]["rows_sha256"] = rows_of_frame(rows)
    _write(path, rows, stated)
    assert "the signature is not one of what it says now" in _refused(path)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signature_cannot_be_removed_where_a_key_is_named(run: Run, make: Make, name: str) -> None:
    path = make(name)
    run("ledger", "--export-key", "key.pem")
    stated = _stated(path)
    del stated["signature"]
    _write(path, _rows(path), stated)
    assert explain(str(path)).checks["signature"] is None
    assert "is not signed" in _refused(path, Path("key.pem"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_without_the_digest_of_its_rows_is_refused_unless_it_is_an_old_one(
    make: Make, name: str
) -> None:
    path = make(name)
    stated = _stated(path)
    del stated["signature"]
    stated["contents"].pop("rows_sha256" if path.suffix == ".parquet" else "sha256")
    _write(path, _rows(path), stated)
    assert "its rows are not those" in _refused(path)
    if path.suffix == ".parquet":  # those of version 2 had none
        _write(path, _rows(path), _without(stated, "levels") | {"schema_version": 2})
        assert explain(str(path)).checks["rows"] is False


def _without(stated: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in stated.items() if key != name}


@pytest.mark.parametrize("name", ["noisy.csv", "noisy.parquet"])
@pytest.mark.parametrize("version", [2, 3])
def test_nobody_has_more_claims_than_the_certificate_of_noisy_claims_tells(
    run: Run, make: Make, name: str, version: int
) -> None:
    """Each user has two, and the promise to a user is that about one, changed in step."""
    path = make(name)
    stated = _without(_stated(path), "signature")
    assert stated["public"]["claims_of_a_user"] == 2
    stated["public"]["claims_of_a_user"] = 1
    for told in (stated["user_promise"], stated["levels"][1]):
        told["epsilon"] = stated["promise"]["epsilon"]
    if version == 2:
        stated = _without(stated, "levels") | {"schema_version": 2}
    _write(path, _rows(path), stated)
    assert "public.claims_of_a_user is 1, and some user has more" in _refused(path)
    done = run("discover", path)
    assert done.code == 2
    assert "public.claims_of_a_user is 1" in done.err


def test_noisy_claims_without_users_are_none(make: Make) -> None:
    path = make("noisy.parquet")
    stated = _without(_without(_stated(path), "signature"), "levels") | {"schema_version": 2}
    del stated["contents"]["rows_sha256"]
    rows = pl.read_parquet(path)
    _write(path, rows.drop("user"), stated)
    assert "has no column user" in _refused(path)


def test_as_many_objects_are_named_as_the_promise_of_reports_is_about(make: Make) -> None:
    path = make("reports.parquet")
    stated = _without(_stated(path), "signature")
    assert len(stated["contents"]["objects"]) == stated["public"]["objects"] == 2
    stated["public"]["objects"] = 1
    for told in (stated["user_promise"], stated["levels"][1]):
        told["epsilon"] = stated["promise"]["epsilon"]
    _write(path, _rows(path), stated)
    assert "public.objects is not the number" in _refused(path)


def test_a_digest_of_rows_is_none_of_bytes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the digest of a Parquet file's rows is the hash of, as the rows of a CSV file."""
    path, hashed = make("noisy.parquet"), []
    dumps = json.dumps

    def noted(data: Any) -> str:
        hashed.append(dumps(data))
        return str(hashed[-1])

    with monkeypatch.context() as patched:
        patched.setattr("json.dumps", noted)
        rows_of_frame(pl.read_parquet(path))
    forged = Path("forged.csv")
    forged.write_bytes(line_of(_stated(path)) + hashed[-1].encode())
    assert "its rows are not those" in _refused(forged.absolute())


def test_a_signed_certificate_speaks_for_nothing_but_its_own_data(run: Run, make: Make) -> None:
    """That of a release for no table, that of a table for no folder, however either is dressed up."""
    table = make("noisy.parquet")
    run("release", "claims.csv", "--method", "basic", *CELLS, "-o", "out")
    certificate = Path("out/certificate.json")
    released = json.loads(certificate.read_text())
    for name in ("forged.parquet", "forged.csv"):
        forged = Path(name)
        rows: pl.DataFrame | bytes = (
            b"object,value\no1,1\n" if ".csv" in name else pl.DataFrame({"object": ["o1"]})
        )
        _write(forged, rows, released)
        assert "its rows are not those" in _refused(forged)
    for disguise in (json.dumps(_stated(table)).encode(), table.read_bytes()):
        certificate.write_bytes(disguise)
        assert "speaks for something else" in _refused(Path("out"))
    key = SigningKey.new()
    del released["contents"]["files"]
    released["signature"] = {"key": key.public.text, "value": key.sign(signed_bytes(released))}
    certificate.write_text(json.dumps(released))
    assert "speaks for something else" in _refused(Path("out"))


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a row less": lambda rows: rows[:-1],
    "a row twice": lambda rows: pl.concat([rows, rows[:1]]),
    "another order": lambda rows: rows.reverse(),
    "a column more": lambda rows: rows.with_columns(more=pl.lit(1)),
    "a column less": lambda rows: rows.drop(rows.columns[-1]),
    "a column renamed": lambda rows: rows.rename({rows.columns[0]: "another"}),
    "columns in another order": lambda rows: rows.select(reversed(rows.columns)),
    "another first cell": lambda rows: rows.with_columns(
        pl.when(pl.int_range(pl.len()) > 0).then(pl.col(rows.columns[0])).otherwise(pl.lit("another"))
    ),
    "an empty cell": lambda rows: rows.with_columns(
        pl.when(pl.int_range(pl.len()) > 0).then(pl.col(rows.columns[0]))
    ),
}


@pytest.mark.parametrize("name", PARQUET)
def test_whatever_changes_in_the_rows_of_a_parquet_file_is_noticed(make: Make, name: str) -> None:
    path = make(name)
    stated, rows = _stated(path), pl.read_parquet(path)
    for words, change in CHANGES.items():
        changed = change(rows)
        assert not changed.equals(rows), words
        _write(path, changed, stated)
        assert "its rows are not those" in _refused(path), words
    _write(path, rows, stated)
    assert read_certificate(str(path)).rows
    rows.write_parquet(
        path, compression="uncompressed", row_group_size=2, metadata={"crowdveil": json.dumps(stated)}
    )
    assert read_certificate(str(path)).rows  # packed in another way, they are the same rows


def test_other_commands_refuse_changed_rows_too(run: Run, make: Make) -> None:
    noisy, reports = make("noisy.parquet"), make("reports.parquet")
    for path in (noisy, reports):
        _write(path, pl.read_parquet(path).reverse(), _stated(path))
        done = run("discover", path, "-o", "found.csv")
        assert done.code == 2
        assert "its rows are not those" in done.err
    with pytest.raises(InputError, match="its rows are not those"):
        read_claims_as_told(str(noisy))
    with pytest.raises(InputError, match="its rows are not those"):
        read_cell_reports(str(reports))


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_seeded_is_tied_and_not_signed(make: Make, name: str) -> None:
    checked = read_certificate(str(make(name, "--seed", 1)))
    assert checked.certificate.seeded
    assert checked.signer is None
    assert checked.rows
    assert not default_path().with_name("ledger.sqlite3.key").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_key_that_cannot_be_used_is_refused_before_the_charge(run: Run, make: Make, name: str) -> None:
    place = default_path().with_name("ledger.sqlite3.key")
    place.parent.mkdir(parents=True)
    place.write_text("not a key")
    place.chmod(0o600)
    done = run(*COMMANDS[name], "-o", name)
    assert done.code == 2
    assert "the ledger's key is damaged" in done.err
    assert Ledger(default_path()).entries() == []
    assert not Path(name).exists()
    assert callable(make)


@pytest.mark.parametrize("name", [*COMMANDS, "slots.parquet"])
def test_tables_of_version_2_stay_readable(name: str) -> None:
    """Those in Parquet files were not tied to their rows."""
    checked = read_certificate(str(VERSION_2 / name))
    assert checked.recomputed
    assert checked.signer is None
    assert checked.rows == (name in CSV)
    if "noisy" in name:
        assert read_claims_as_told(str(VERSION_2 / name))[1] == checked.certificate
    if name in ("reports.parquet", "slots.parquet"):
        assert read_cell_reports(str(VERSION_2 / name)) is not None


def test_what_is_signed_is_the_same_in_every_file(make: Make) -> None:
    """Escapes of the first line do not matter."""
    path = make("records.csv")
    stated = _stated(path)
    key = SigningKey.new()
    stated["not_promised"] = ['a "quoted" ü']
    stated["signature"] = {"key": key.public.text, "value": key.sign(signed_bytes(stated))}
    _write(path, _rows(path), stated)
    assert read_certificate(str(path)).signer == key.public
