"""The first line of a CSV file: what is taken for a certificate, what is data, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from crowdveil.claims import Claims
from crowdveil.errors import InputError
from crowdveil.files import (
    first_line,
    read_claims,
    read_claims_as_told,
    read_frame,
    reserved_table,
    write_reports,
)
from crowdveil.files.certificates import read_certificate
from crowdveil.files.first_line import PREFIX, line_of, take_line
from crowdveil.local.description import Description
from crowdveil.local.perturbed import Perturbed, perturb
from crowdveil.randomness import secure, seeded

LAPLACE = Description("laplace", {"epsilon": 1.0, "range": [0.0, 10.0], "resolution": 0.5})
NAMES = ["#crowdveil x", "#crowdveil {}", 'room "#7", left', "line\nbreak", "zürich"]


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """Noisy claims about objects of awkward names."""
    claims = Claims.from_columns(
        [name for name in NAMES for _ in range(4)], ["a", "b", "c", "d"] * len(NAMES), [1.0] * 20
    )
    path = tmp_path / "noisy.csv"
    _write(perturb(claims, LAPLACE.build(), rng=secure()), path)
    return path


def _write(perturbed: Perturbed, path: Path) -> None:
    with reserved_table(str(path), force=True) as place:
        write_reports(perturbed, LAPLACE, place)


def halves(path: Path) -> tuple[bytes, bytes]:
    line, rows = path.read_bytes().split(b"\n", 1)
    return line + b"\n", rows


def test_a_certificate_is_one_line_that_every_reader_can_skip() -> None:
    told = {"columns": ['a "quoted" one', 'ends in \\"', "back\\", "\u2028\u0085\r\n", "ü"], "n": 1.5}
    line = line_of(told)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) == 1
    assert line.count(b'"') % 2 == 0
    file = BytesIO(line + b"x,y\n1,2\n")
    text = take_line(file, "here")
    assert text is not None
    assert json.loads(text) == told
    assert file.read() == b"x,y\n1,2\n"
    assert pd.read_csv(BytesIO(line + b"x,y\n1,2\n"), skiprows=1).columns.tolist() == ["x", "y"]
    assert pl.read_csv(BytesIO(line + b"x,y\n1,2\n"), skip_lines=1).columns == ["x", "y"]
    assert pl.read_csv(BytesIO(line + b"x,y\n1,2\n"), skip_rows=1).columns == ["x", "y"]
    with pytest.raises(ValueError, match="JSON"):
        line_of({"n": float("nan")})


def test_names_that_look_like_a_certificate_are_data(noisy: Path) -> None:
    claims, certificate = read_claims_as_told(str(noisy))
    assert sorted(claims.objects) == sorted(NAMES)
    assert certificate is not None
    assert certificate.parameters == LAPLACE.parameters
    bare = noisy.with_name("bare.csv")
    bare.write_bytes(halves(noisy)[1])
    claims, certificate = read_claims_as_told(str(bare))
    assert sorted(claims.objects) == sorted(NAMES)
    assert certificate is None


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("#object,user,value\nx,a,1\n", ["#object", "user", "value"]),
        ("#crowdveil,user\nx,a\n", ["#crowdveil", "user"]),
        ("#crowdveil{},user\nx,a\n", ["#crowdveil{}", "user"]),
        ("#Crowdveil {},user\nx,a\n", ["#Crowdveil {}", "user"]),
        (" #crowdveil {},user\nx,a\n", [" #crowdveil {}", "user"]),
        ('"#crowdveil {}",user\nx,a\n', ["#crowdveil {}", "user"]),
        ("# a remark\nx\n", ["# a remark"]),
        ("a,b\n#crowdveil {},1\n", ["a", "b"]),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_anything_else_is_as_it_was(tmp_path: Path, text: str, columns: list[str], zipped: bool) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    frame = read_frame(str(path))
    assert frame.columns == columns
    assert frame.height == 1


def with_rows(line: bytes, rows: bytes) -> bytes:
    """A file whose certificate tells the digest of these rows."""
    told = json.loads(line.removeprefix(PREFIX))
    told["contents"]["sha256"] = hashlib.sha256(rows).hexdigest()
    return line_of(told) + rows


ACCEPTED: dict[str, Callable[[bytes, bytes], bytes]] = {
    "as written": lambda line, rows: line + rows,
    "byte order mark": lambda line, rows: b"\xef\xbb\xbf" + line + rows,
    "CRLF after the line": lambda line, rows: line[:-1] + b"\r\n" + rows,
    "CRLF everywhere": lambda line, rows: with_rows(line, rows.replace(b"\n", b"\r\n")).replace(
        b"\n", b"\r\n", 1
    ),
    "gzip": lambda line, rows: gzip.compress(line + rows),
    "gzip, two members": lambda line, rows: gzip.compress(line) + gzip.compress(rows),
    "indented JSON": lambda line, rows: line.replace(b'":', b'" : ') + rows,
}


@pytest.mark.parametrize("how", ACCEPTED)
def test_what_is_the_same_file_is_read(noisy: Path, how: str) -> None:
    claims, certificate = read_claims_as_told(str(noisy))
    other = noisy.with_name("other.dat")
    other.write_bytes(ACCEPTED[how](*halves(noisy)))
    again, told = read_claims_as_told(str(other))
    assert told is not None
    assert certificate is not None
    assert (told.method, told.parameters, told.promise) == (
        certificate.method,
        certificate.parameters,
        certificate.promise,
    )
    assert read_certificate(str(other)).certificate == told
    assert len(again) == len(claims)
    assert sorted(again.values) == sorted(claims.values)


REFUSED: dict[str, tuple[Callable[[bytes, bytes], bytes], str]] = {
    "another row": (lambda line, rows: line + rows + b"x,a,1\n", "rows are not those"),
    "a row less": (lambda line, rows: line + rows[: rows.rindex(b"\n", 0, -1) + 1], "rows are not those"),
    "a digit": (lambda line, rows: line + rows.replace(b"1", b"2", 1), "rows are not those"),
    "ends of lines": (lambda line, rows: line + rows.replace(b"\n", b"\r\n"), "rows are not those"),
    "mark after the line": (lambda line, rows: line + b"\xef\xbb\xbf" + rows, "rows are not those"),
    "no digest": (
        lambda line, rows: line_of(json.loads(line.removeprefix(PREFIX)) | {"contents": {}}) + rows,
        "rows are not those",
    ),
    "two lines": (lambda line, rows: line + line + rows, "two lines with a certificate"),
    "not JSON": (lambda line, rows: PREFIX + b"x,user,value\n" + rows, "no certificate follows"),
    "not all of it": (lambda line, rows: line[:-9] + b"\n" + rows, "first line: is not a certificate"),
    "no text": (lambda line, rows: PREFIX + b"{\xff\xfe}\n" + rows, "first line: is not a certificate"),
    "an array": (lambda line, rows: PREFIX + b"[1]\n" + rows, "no certificate follows"),
    "nothing": (lambda line, rows: PREFIX + b"\n" + rows, "no certificate follows"),
    "other JSON": (lambda line, rows: PREFIX + b"{}\n" + rows, "is not a crowdveil certificate"),
    "no end": (lambda line, rows: line[:-1], "ends in its first line"),
    "too long": (lambda line, rows: PREFIX + b"{" * first_line.LONGEST + b"\n" + rows, "longer than any"),
    "too long, no end": (lambda line, rows: PREFIX + b" " * 2 * first_line.LONGEST, "longer than any"),
    "another law": (
        lambda line, rows: line.replace(b'"epsilon":1.0', b'"epsilon":0.1', 1) + rows,
        "was edited or is damaged",
    ),
    "another promise": (
        lambda line, rows: line.replace(b'"epsilon":1.0,"delta"', b'"epsilon":0.5,"delta"', 1) + rows,
        "was edited or is damaged: promise.epsilon",
    ),
    "no sign of a seed": (
        lambda line, rows: line.replace(b'"seeded":true', b'"seeded":false') + rows,
        "was edited or is damaged",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("zipped", [False, True])
def test_what_was_changed_is_refused_by_every_reader(
    noisy: Path, what: str, zipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_line, "LONGEST", 2**13)
    if what == "no sign of a seed":
        perturbed = perturb(read_claims(str(noisy)), LAPLACE.build(), rng=seeded(1))
        _write(perturbed, noisy)
    change, words = REFUSED[what]
    changed = change(*halves(noisy))
    assert changed != noisy.read_bytes()
    noisy.write_bytes(gzip.compress(changed) if zipped else changed)
    readers: tuple[Callable[[str], Any], ...] = (
        read_claims,
        read_claims_as_told,
        read_frame,
        read_certificate,
    )
    for read in readers:
        with pytest.raises(InputError, match=words) as refused:
            read(str(noisy))
        assert "zürich" not in str(refused.value)
        assert str(refused.value).count("\n") == 0


def test_a_certificate_without_rows_is_no_table(noisy: Path) -> None:
    noisy.write_bytes(with_rows(halves(noisy)[0], b""))
    with pytest.raises(InputError, match="not a CSV file that can be read"):
        read_claims(str(noisy))


def test_a_file_beside_does_not_speak_for_a_table_that_speaks_itself(noisy: Path) -> None:
    noisy.with_name("noisy.csv.mechanism.json").write_text("{")
    assert read_claims_as_told(str(noisy))[1] is not None
    assert read_certificate(str(noisy)).certificate.kind == "noisy claims"


def test_nothing_is_written_beside_a_table(noisy: Path) -> None:
    assert [path.name for path in noisy.parent.iterdir()] == ["noisy.csv"]


def test_an_endless_line_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "endless.csv"
    with path.open("wb") as file:
        file.write(PREFIX + b"{")
        file.truncate(2**30)  # zeros that take no room
    tracemalloc.start()
    with pytest.raises(InputError, match="longer than any certificate"):
        read_claims(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * first_line.LONGEST


def test_other_programs_read_the_rows(noisy: Path) -> None:
    ours = read_claims(str(noisy))
    for values in (
        pl.read_csv(noisy, skip_lines=1)["value"].to_list(),
        pl.read_csv(noisy, skip_rows=1)["value"].to_list(),
        pd.read_csv(noisy, skiprows=1)["value"].tolist(),
    ):
        assert sorted(values) == sorted(ours.values)
    cut = pd.read_csv(BytesIO(halves(noisy)[0] + b"object,user,value\nroom #7,a,1\n"), comment="#")
    assert cut["object"].tolist() == ["room "]  # the trap that docs/files.md tells of
