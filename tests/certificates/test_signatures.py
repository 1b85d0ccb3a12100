"""Signed certificates: whatever is changed after the signature is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from crowdveil.certificates.certificate import SCHEMA_VERSION
from crowdveil.certificates.reading import read_text
from crowdveil.certificates.signature import signed_bytes, signer, stated
from crowdveil.errors import InputError, ParameterError
from crowdveil.files.certificates import read_certificate
from crowdveil.ledger import Ledger
from crowdveil.operations.release import release
from crowdveil.operations.spending import Account
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.report.explanation import explain
from crowdveil.signing import PublicKey, SigningKey
from stated_certificates import CASES, made

OTHERS: tuple[Any, ...] = ("other", 7, None, [], {})
FILES = ("claims.csv", "claims.parquet", "public.html")
CLAIMS = "object,user,value\n" + "".join(f"o{i},u{s},{(i + s) % 10}\n" for i in range(3) for s in range(9))


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(Ledger(tmp_path / "ledger.sqlite3"), "d")


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "claims.csv").write_text(CLAIMS)
    return str(tmp_path / "raw" / "claims.csv")


@pytest.fixture
def out(source: str, account: Account, tmp_path: Path) -> Path:
    """A signed release."""
    release(source, Basic(1.0, Range(0, 10)), tmp_path / "out", account)
    return tmp_path / "out"


@pytest.fixture
def key(account: Account, tmp_path: Path) -> Path:
    """The public key of the account's ledger, in a file."""
    path = tmp_path / "key.pem"
    path.write_text(account.ledger.key().public.to_pem())
    return path


def _refused(path: Path, key: Path | None = None) -> str:
    with pytest.raises(InputError) as refused:
        explain(str(path), key)
    assert str(refused.value).isprintable()
    return str(refused.value)


def _change(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    given = json.loads(path.read_text())
    change(given)
    path.write_text(json.dumps(given))


def _words(path: Path, key: Path | None = None) -> str:
    return " ".join(explain(str(path), key).text().split())


def test_a_release_is_signed_by_the_key_of_its_ledger(out: Path, key: Path, account: Account) -> None:
    fingerprint = account.ledger.key().public.fingerprint
    checked = read_certificate(str(out))
    assert checked.signer == account.ledger.key().public
    assert checked.files == FILES
    assert explain(str(out), key).to_dict()["checks"] == {
        "signature": {"signed_by": fingerprint, "by_the_named_key": True},
        "recomputed": True,
        "files": list(FILES),
        "rows": False,
    }
    assert f"Signed by {fingerprint}, which is the key that you named." in _words(out, key)
    assert "Published with it, byte for byte: claims.csv, claims.parquet, public.html." in _words(out, key)


def test_without_a_key_the_fingerprint_is_left_to_the_reader(out: Path, account: Account) -> None:
    fingerprint = account.ledger.key().public.fingerprint
    assert f"Signed by {fingerprint}, which you must compare with the publisher's" in _words(out)
    told = explain(str(out)).to_dict()["checks"]
    assert told["signature"] == {"signed_by": fingerprint, "by_the_named_key": False}


def test_the_checks_are_told_first(out: Path, key: Path) -> None:
    text = explain(str(out), key).text()
    assert text.index("What was checked") < text.index("Who is protected")
    assert "Signed by" in "".join(text.splitlines()[:8])


def test_a_certificate_alone_says_that_no_file_was_looked_at(out: Path, key: Path) -> None:
    told = explain(str(out / "certificate.json"), key)
    assert told.checks["signature"]["by_the_named_key"] is True
    assert told.checks["files"] is None
    assert "No file that was published with it was looked at" in _words(out / "certificate.json", key)


# --- what is changed afterwards -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_of_a_file_is_noticed(out: Path, key: Path, name: str) -> None:
    whole = (out / name).read_bytes()
    for place in (0, len(whole) // 2, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        (out / name).write_bytes(bytes(changed))
        assert f"{out / name}: is not the file" in _refused(out)
        assert f"{out / name}: is not the file" in _refused(out, key)
    for changed_length in (whole + b"\n", whole[:-1], b""):
        (out / name).write_bytes(changed_length)
        assert f"{out / name}: is not the file" in _refused(out)
    (out / name).write_bytes(whole)
    explain(str(out), key)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(out: Path, name: str) -> None:
    (out / name).unlink()
    assert f"{out}: the file {name} is missing" in _refused(out)


@pytest.mark.parametrize("name", ["more.csv", ".hidden", "a\x1b[2J"])
def test_a_file_that_was_added_is_noticed(out: Path, name: str) -> None:
    (out / name).touch()
    assert f"{out}: {name!r} is not one of the files" in _refused(out)


def test_a_folder_in_a_files_place_is_noticed(out: Path) -> None:
    (out / "claims.csv").unlink()
    (out / "claims.csv").mkdir()
    assert f"{out / 'claims.csv'}: is not the file" in _refused(out)


@pytest.mark.parametrize("name", [*FILES, "certificate.json"])
def test_files_of_two_releases_of_one_key_cannot_be_swapped(
    out: Path, source: str, account: Account, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "other"
    release(source, Basic(2.0, Range(0, 10)), other, account)
    mine, theirs = (out / name).read_bytes(), (other / name).read_bytes()
    assert mine != theirs
    (out / name).write_bytes(theirs)
    (other / name).write_bytes(mine)
    for folder in (out, other):
        assert "is not the file of which certificate.json tells" in _refused(folder)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a certificate, whatever they are."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in pairs:
        yield from _places(part, (*path, name))


def test_a_change_of_any_value_is_noticed(out: Path) -> None:
    """Sentences too, which are never compared otherwise."""
    whole = json.loads((out / "certificate.json").read_text())
    places = [place for place in _places(whole) if place]
    assert len(places) > 30
    for place in places:
        for new in OTHERS:
            changed = deepcopy(whole)
            parent = changed
            for name in place[:-1]:
                parent = parent[name]
            if parent[place[-1]] == new:
                continue
            parent[place[-1]] = new
            if place[0] == "schema_version":
                with pytest.raises(InputError):
                    read_text(json.dumps(changed), "here")
                continue
            with pytest.raises(ParameterError, match="signature"):
                signer(changed)
            with pytest.raises(InputError):
                read_text(json.dumps(changed), "here")


def _in_step(given: dict[str, Any]) -> None:
    """Another epsilon, wherever it stands."""
    share = 0.01 / given["promise"]["epsilon"]
    for place in (given["parameters"], given["promise"], given["user_promise"], *given["levels"]):
        place["epsilon"] *= share


def test_what_follows_from_other_parameters_is_noticed_by_the_signature_alone(out: Path) -> None:
    """Changed in step, the numbers are consistent."""

    _change(out / "certificate.json", _in_step)
    assert "the signature is not one of what it says now" in _refused(out)
    _change(out / "certificate.json", lambda given: given.pop("signature"))
    assert explain(str(out)).checks["signature"] is None


def test_a_file_changed_in_step_with_its_digest_is_noticed_by_the_signature(out: Path) -> None:
    from crowdveil.files.published import digests

    (out / "claims.csv").write_text("object,value\no1,3\n")
    _change(out / "certificate.json", lambda given: given["contents"].update(files=digests(out)))
    assert "the signature is not one of what it says now" in _refused(out)


def test_a_file_cannot_be_struck_off_the_list(out: Path) -> None:
    (out / "claims.csv").unlink()
    _change(out / "certificate.json", lambda given: given["contents"]["files"].pop("claims.csv"))
    assert "the signature is not one of what it says now" in _refused(out)


@pytest.mark.parametrize("listed", [[], "claims.csv", {"claims.csv": 1}, {"a\x1b": "b"}, {}])
def test_a_list_of_files_that_is_none_is_refused(out: Path, listed: Any) -> None:
    def change(given: dict[str, Any]) -> None:
        del given["signature"]
        given["contents"]["files"] = listed

    _change(out / "certificate.json", change)
    assert re.search(r"contents\.files is not what belongs|is not one of the files", _refused(out))


# --- keys ---------------------------------------------------------------------------------------------------


def test_another_key_than_the_named_one_is_refused(out: Path, tmp_path: Path, account: Account) -> None:
    other = SigningKey.new().public
    path = tmp_path / "other.pem"
    path.write_text(other.to_pem())
    words = _refused(out, path)
    assert "is signed by another key" in words
    assert other.fingerprint in words
    assert account.ledger.key().public.fingerprint in words


def test_a_forger_who_signs_anew_is_refused_by_the_named_key(out: Path, key: Path) -> None:
    forger = SigningKey.new()

    def forge(given: dict[str, Any]) -> None:
        _in_step(given)
        given["signature"] = {"key": forger.public.text, "value": forger.sign(signed_bytes(given))}

    _change(out / "certificate.json", forge)
    assert f"Signed by {forger.public.fingerprint}, which you must compare" in _words(out)
    assert "is signed by another key" in _refused(out, key)

    def pretend(given: dict[str, Any]) -> None:
        given["signature"]["key"] = PublicKey.from_pem(key.read_bytes()).text

    _change(out / "certificate.json", pretend)
    assert "the signature is not one of what it says now" in _refused(out)


def test_a_removed_signature_is_told_and_refused_where_a_key_is_named(out: Path, key: Path) -> None:
    _change(out / "certificate.json", lambda given: given.pop("signature"))
    assert "Not signed" in _words(out)
    assert (
        "Consistent: its numbers, not its words, follow from its method, parameters and public numbers"
        in _words(out)
    )
    told = {"signature": None, "recomputed": True, "files": list(FILES), "rows": False}
    assert explain(str(out)).checks == told
    assert "is not signed" in _refused(out, key)


@pytest.mark.parametrize("signature", [None, [], "x", {}, {"key": "x"}, {"key": "x", "value": "y"}, True])
def test_a_signature_that_is_none_is_refused(out: Path, signature: Any) -> None:
    _change(out / "certificate.json", lambda given: given.update(signature=signature))
    assert "was edited or is damaged: signature" in _refused(out)


@pytest.mark.parametrize("data", [b"", b"rubbish", SigningKey.new().to_file(), None])
def test_a_key_file_that_is_none_is_refused(out: Path, tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "wrong.pem"
    if data is not None:
        path.write_bytes(data)
    assert _refused(out, path).startswith(f"{path}: ")


def test_old_certificates_are_not_signed_and_cannot_be(account: Account) -> None:
    """They have no place for a signature; whoever names a key refuses them."""
    for path in sorted((Path(__file__).parent / "version1").glob("*.json")):
        assert read_certificate(str(path)).signer is None
    for version in (1, 2):
        given = made("basic") | {"schema_version": version}
        later = ["levels"] if version == 2 else ["levels", "kind", "public", "user_promise", "contents"]
        given = {name: value for name, value in given.items() if name not in later}
        assert read_text(json.dumps(given), "here").signer is None
        given["signature"] = {
            "key": account.ledger.key().public.text,
            "value": account.ledger.key().sign(signed_bytes(given)),
        }
        with pytest.raises(InputError, match="entries that do not belong"):
            read_text(json.dumps(given), "here")


# --- what is signed -----------------------------------------------------------------------------------------


def test_the_signed_bytes_are_canonical(out: Path) -> None:
    given = json.loads((out / "certificate.json").read_text())
    backwards = dict(reversed(given.items()))
    assert signed_bytes(backwards) == signed_bytes(given)
    start, rest = signed_bytes(given).split(b"\n", 1)
    assert start == b"crowdveil certificate, signed form 1"
    assert b'"signature"' not in rest
    assert json.loads(rest) == {name: value for name, value in given.items() if name != "signature"}
    # Written in another order and with other spaces it is the same certificate.
    (out / "certificate.json").write_text(json.dumps(backwards, indent=7))
    assert read_certificate(str(out)).signer is not None


def test_the_form_of_signed_bytes_stays_what_it_was() -> None:
    """Somebody else's program may check signatures, and old ones stay."""
    given = {"b": [1, 1.0, 0.1, 1e-06], "a": "é", "signature": "x", "c": {"z": None, "y": True}}
    wanted = 'crowdveil certificate, signed form 1\n{"a":"é","b":[1,1.0,0.1,1e-06],"c":{"y":true,"z":null}}'
    assert signed_bytes(given) == wanted.encode()


def test_text_that_is_none_is_refused() -> None:
    given = made("basic")
    given["signature"] = {"key": SigningKey.new().public.text, "value": "x"}
    given["not_promised"] = ["\ud800"]
    with pytest.raises(InputError, match="was edited or is damaged"):
        read_text(json.dumps(given), "here")


@pytest.mark.parametrize("case", CASES)
def test_certificates_of_every_kind_can_be_signed(case: str) -> None:
    certificate = read_text(json.dumps(made(case)), "here").certificate
    key = SigningKey.new()
    written = stated(certificate, key)
    assert written["schema_version"] == SCHEMA_VERSION
    found = read_text(json.dumps(written), "here")
    assert found.signer == (None if case == "seeded" else key.public)
    assert stated(certificate, None) == {k: v for k, v in written.items() if k != "signature"}


# --- releases -----------------------------------------------------------------------------------------------


def test_a_seeded_release_is_not_signed_and_makes_no_key(
    source: str, account: Account, tmp_path: Path
) -> None:
    released = release(source, Basic(1.0, Range(0, 10)), tmp_path / "s", account, rng=seeded(1))
    assert released.to_dict()["signed_by"] is None
    checked = read_certificate(str(tmp_path / "s"))
    assert checked.signer is None
    assert checked.files == FILES
    assert not (tmp_path / "ledger.sqlite3.key").exists()


def test_what_promises_nothing_is_signed_too(source: str, account: Account, tmp_path: Path) -> None:
    release(source, PrisCrowd(), tmp_path / "p", account)
    assert read_certificate(str(tmp_path / "p")).signer == account.ledger.key().public


def test_a_key_that_cannot_be_used_is_refused_before_the_charge(
    source: str, account: Account, tmp_path: Path
) -> None:
    (tmp_path / "ledger.sqlite3.key").write_text("not a key")
    (tmp_path / "ledger.sqlite3.key").chmod(0o600)
    parameters = Certified(2.0, Range(0, 10), unit="claim")
    with pytest.raises(InputError, match="the ledger's key is damaged"):
        release(source, parameters, tmp_path / "out", account)
    assert account.ledger.entries() == []
    assert not (tmp_path / "out").exists()
    release(source, parameters, tmp_path / "out", account, rng=seeded(1))  # needs no key


def test_the_private_key_is_nowhere_but_in_its_file(out: Path, account: Account, tmp_path: Path) -> None:
    lines = account.ledger.key().to_file().splitlines()
    assert lines[0] == b"-----BEGIN PRIVATE KEY-----"
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != "ledger.sqlite3.key":
            assert lines[1][24:] not in path.read_bytes()
            assert b"PRIVATE KEY" not in path.read_bytes()
    assert out.is_dir()
