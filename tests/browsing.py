"""A real browser for tests: Debian's Chromium, driven by Playwright; what leaves a page is noted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "build" / "js" / "node_modules" / "axe-core" / "axe.min.js"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

STORAGE = """async () => {
  const found = { local: { ...localStorage }, session: { ...sessionStorage }, cookies: document.cookie };
  found.databases = {};
  for (const { name } of await indexedDB.databases()) {
    const db = await new Promise((done) => {
      const open = indexedDB.open(name);
      open.onsuccess = () => done(open.result);
    });
    for (const store of db.objectStoreNames) {
      const all = (way) => new Promise((done) => {
        const asked = db.transaction(store).objectStore(store)[way]();
        asked.onsuccess = () => done(asked.result);
      });
      found.databases[`${name} ${store}`] = [await all('getAllKeys'), await all('getAll')];
    }
    db.close();
  }
  found.caches = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      found.caches[request.url] = await (await cache.match(request)).text();
    }
  }
  return JSON.stringify(found);
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Traffic:
    """All that a browser sent, and what pages said on their consoles."""

    sent: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    received: dict[str, int] = field(default_factory=dict)  # bytes on the way, by address

    def watch(self, page: Any) -> None:
        """Note what a page does from now on."""
        page.on("request", self._request)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        addresses: dict[str, str] = {}
        session.on(
            "Network.responseReceived",
            lambda event: addresses.update({event["requestId"]: event["response"]["url"]}),
        )
        session.on("Network.loadingFinished", lambda event: self._finished(addresses, event))

    def _request(self, request: Any) -> None:
        self.sent.append(
            json.dumps([request.method, request.url, request.headers, request.post_data], ensure_ascii=False)
        )

    def _finished(self, addresses: dict[str, str], event: dict[str, Any]) -> None:
        address = addresses.get(event["requestId"], "?")
        self.received[address] = self.received.get(address, 0) + int(event["encodedDataLength"])

    def reports(self) -> list[dict[str, Any]]:
        """The bodies of all reports that were sent."""
        found = [json.loads(each) for each in self.sent]
        return [
            json.loads(body)
            for method, url, _, body in found
            if method == "POST" and url.endswith("/reports")
        ]


def storage(page: Any) -> str:
    """All that the page's site keeps in the browser, as text."""
    return str(page.evaluate(STORAGE))


def serious_problems(page: Any) -> list[str]:
    """What axe-core finds on a page that is serious or critical."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
