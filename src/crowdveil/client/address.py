"""The address of a campaign: the page for participants, or the API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from crowdveil.errors import ParameterError

_PATH = re.compile(r"(?P<before>(?:/[^/]+)*)/(?:c|api/v1/campaigns)/(?P<id>[A-Za-z0-9._~-]{1,200})/?")
WANTED = "--to takes the address of a campaign: http://HOST/c/ID, or http://HOST/api/v1/campaigns/ID"


@dataclass(frozen=True)
class Address:
    """Where a campaign is: the service, and the campaign's id."""

    service: str
    campaign: str
    encrypted: bool

    @classmethod
    def of(cls, url: str) -> Address:
        """From the address of the participants' page or of the API; `ParameterError` for any other one."""
        try:
            parts = urlsplit(url.strip())
            if not url.isprintable() or " " in parts.netloc or parts.port == 0:  # refuses what is no number
                raise ValueError
        except ValueError:
            raise ParameterError(WANTED) from None
        found = _PATH.fullmatch(parts.path)
        if parts.scheme not in ("http", "https") or not parts.hostname or found is None:
            raise ParameterError(WANTED)
        if "@" in parts.netloc:
            raise ParameterError("the address of a campaign has no user and no password in it")
        service = f"{parts.scheme}://{parts.netloc}{found['before']}"
        return cls(service, found["id"], parts.scheme == "https" or _is_here(parts))

    @property
    def api(self) -> str:
        """The address of the campaign in the API."""
        return f"{self.service}/api/v1/campaigns/{self.campaign}"


def _is_here(parts: SplitResult) -> bool:
    """Whether the service runs on this machine."""
    host = parts.hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
