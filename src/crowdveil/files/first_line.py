"""The first line of a CSV file that carries a certificate: a fixed prefix, then JSON without a line break.

No other line has a meaning, whatever it begins with. The certificate tells the digest of all bytes after the
line. The line is ASCII with an even number of quotation marks, so that readers who count them skip it whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, cast

from crowdveil.errors import InputError, ParameterError

PREFIX = b"#crowdveil "
LONGEST = 2**24  # bytes of the line
DIGEST = "sha256"  # the entry of a certificate's contents, for bytes
GZIP = b"\x1f\x8b"  # how a gzipped file begins
_BLOCK = 2**20  # bytes
_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some programs put at the start of a file


def line_of(certificate: Mapping[str, Any]) -> bytes:
    """A certificate as the first line of a CSV file."""
    text = json.dumps(certificate, allow_nan=False, separators=(",", ":"))
    even = re.sub(r"\\(.)", lambda escape: r"\u0022" if escape[1] == '"' else escape[0], text)
    return PREFIX + even.encode("ascii") + b"\n"


def check_header(columns: Sequence[str]) -> None:
    """Raise `ParameterError` for names of columns that a CSV file would show as a second certificate."""
    if columns and columns[0].encode("utf-8", errors="replace").startswith(PREFIX + b"{"):
        raise ParameterError(
            "the name of the first column begins like a certificate, and a CSV file could not be read: "
            "rename the column, or write a file that ends in .parquet"
        )


def take_line(file: BinaryIO, source: str) -> str | None:
    """The certificate at the start of a file, which then stands at the rows; None, and at the start, without.

    Raises `InputError` for a line that has no end within `LONGEST` bytes, and for a second one.
    """
    start = file.read(len(_MARK + PREFIX))
    file.seek(0)
    if not start.removeprefix(_MARK).startswith(PREFIX):
        return None
    line = file.readline(LONGEST + 1)
    if len(line) > LONGEST:
        raise InputError(f"{source}: its first line is longer than any certificate; write the file anew")
    if not line.endswith(b"\n"):
        raise InputError(f"{source}: ends in its first line; write the file anew")
    rows = file.tell()
    second = file.read(len(PREFIX) + 1)
    file.seek(rows)
    if second == PREFIX + b"{":  # a first column may have a name like this line, but for the brace
        raise InputError(f"{source}: has two lines with a certificate; keep the one that it was written with")
    text = line.removeprefix(_MARK).removeprefix(PREFIX).decode("utf-8", errors="replace").strip()
    if not text.startswith("{"):
        raise InputError(
            f"{source}: its first line begins with '{PREFIX.decode()}', and no certificate follows; "
            "remove the line, or rename the column if it is a header"
        )
    return text


def unpacked(file: BinaryIO) -> BinaryIO:
    """What a gzipped file holds, or the file itself if it is none."""
    zipped = file.read(len(GZIP)) == GZIP
    file.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if zipped else file


def digest(rows: BinaryIO) -> str:
    """A hash of what is left of a file and may be published: it ties a certificate to it."""
    sha256 = hashlib.sha256()
    while block := rows.read(_BLOCK):
        sha256.update(block)
    return sha256.hexdigest()
