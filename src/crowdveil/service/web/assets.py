"""Files that pages need: the stylesheet, scripts, and the browser client as it is, without a build.

Their address has a digest of them all, so that a browser keeps them for good and never mixes two versions.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request, Response

from crowdveil.report.style import stylesheet
from crowdveil.service.problems import Refused

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
FOR_GOOD = "public, max-age=31536000, immutable"
HERE = Path(str(files("crowdveil.service.web")))

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    content: bytes
    packed: bytes  # with gzip
    kind: str


def client_folder() -> Path:
    """The modules of the browser client: inside the installed package, or in the source checkout."""
    installed = HERE / "client"
    return installed if installed.is_dir() else HERE.parents[3] / "clients" / "js" / "src"


@cache
def assets() -> dict[str, Asset]:
    """All files by name; modules of the client are in `src/`."""
    found = {"style.css": stylesheet().encode()}
    found |= {path.name: path.read_bytes() for path in sorted((HERE / "static").glob("*.js"))}
    found |= {f"src/{path.name}": path.read_bytes() for path in sorted(client_folder().glob("*.js"))}
    return {
        name: Asset(content, gzip.compress(content, 9, mtime=0), KINDS[Path(name).suffix])
        for name, content in found.items()
    }


@cache
def digest() -> str:
    """Of all files together."""
    whole = hashlib.sha256()
    for name, asset in assets().items():
        whole.update(f"{name}\n{len(asset.content)}\n".encode() + asset.content)
    return whole.hexdigest()[:16]


def address(name: str) -> str:
    """Where a browser finds a file."""
    if name not in assets():
        raise KeyError(name)
    return f"/static/{digest()}/{name}"


@router.get("/static/{version}/{name:path}")
async def asset(version: str, name: str, request: Request) -> Response:
    """A file of this version; a page of another one has to be loaded again."""
    found = assets().get(name) if version == digest() else None
    if found is None:
        raise Refused(404, "unknown-file", "there is no such file")
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {
        "Content-Type": found.kind,
        "Cache-Control": FOR_GOOD,
        "Vary": "Accept-Encoding",
    }
    return Response(
        found.packed if packed else found.content,
        headers=headers | ({"Content-Encoding": "gzip"} if packed else {}),
    )
