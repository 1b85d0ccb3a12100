"""An operator who signed in, without a browser: what her browser would send."""

from __future__ import annotations

import re
from typing import Any

import httpx

from serving import Server

PAGE = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
KEY = re.compile(r'name="form_key" value="([0-9a-f]{64})"')


def browser(server: Server, **headers: str) -> httpx.Client:
    """Somebody who has not signed in."""
    return server.kept(httpx.Client(base_url=server.url, headers={**PAGE, **headers}, timeout=60))


def signed_in(server: Server, name: str, secret: str, **headers: str) -> httpx.Client:
    """Somebody who has."""
    client = browser(server, **headers)
    answer = client.post("/sign-in", data={"name": name, "secret": secret})
    assert answer.status_code == 303, answer.text
    return client


def key_of(client: httpx.Client, path: str = "/") -> str:
    """The key in the forms of a page."""
    found = KEY.search(client.get(path).text)
    assert found is not None
    return found[1]


def post(client: httpx.Client, path: str, **fields: Any) -> httpx.Response:
    """A form that is sent from a page."""
    return client.post(path, data={"form_key": key_of(client), **fields})
