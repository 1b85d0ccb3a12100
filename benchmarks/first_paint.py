"""Time until a page of the service shows something, and its bytes, in Chromium with a CPU four times slower.

Usage: python benchmarks/first_paint.py [FOLDER FOR SCREENSHOTS]

Every page is opened in five fresh browsers on loopback; the median counts. Pages in all must have less than
150,000 bytes on the way and show something within a second.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browsing import DESKTOP, PHONE, Traffic, chromium  # noqa: E402
from crowdveil.service import demo, demo_people  # noqa: E402
from devices import create  # noqa: E402
from serving import Server  # noqa: E402

REPEATS, SLOWER = 5, 4
MOST_BYTES, MOST_SECONDS = 150_000, 1.0
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main(shots: Path | None) -> int:
    """Measure every page, write the results, and say whether all are small and quick enough."""
    folder = Path(tempfile.mkdtemp())
    with Server(f"sqlite:///{folder / 'service.sqlite3'}", folder) as server, chromium() as browser:
        token = server.command("operator", "add", "ann")["token"]
        api = server.client(token)
        pages = {"operator: sign in": "/sign-in", "operator: list": "/"}
        for request in demo.SAMPLES:
            kind, campaign = request["kind"], create(api, request)
            answered(server, campaign, kind)
            base = f"/campaigns/{campaign['id']}"
            pages |= {f"participant: {kind}": f"/c/{campaign['id']}", f"operator: new {kind}": f"/new/{kind}"}
            pages |= {f"operator: {kind}": base, f"operator: {kind} results": f"{base}/results"}
        slots = create(api, {**demo.SAMPLES[1], "unit": "person"})
        pages["participant: slots"] = f"/c/{slots['id']}"
        time.sleep(10)  # until there are results
        cookies = signed_in(browser, server, token)
        measured = {
            name: measure(browser, f"{server.url}{path}", [] if "participant" in name else cookies)
            for name, path in pages.items()
        }
        if shots is not None:
            for name, path in pages.items():
                shoot(
                    browser, f"{server.url}{path}", cookies, shots / name.replace(": ", "-").replace(" ", "-")
                )
    (ROOT / "benchmarks" / "results" / "first_paint.json").write_text(json.dumps(measured, indent=1) + "\n")
    for name, row in measured.items():
        print(f"{name:32} {row['seconds']:.3f} s  {row['bytes']:8,} bytes")
    good = all(row["seconds"] < MOST_SECONDS and row["bytes"] < MOST_BYTES for row in measured.values())
    return 0 if good else 1


def answered(server: Server, campaign: dict[str, Any], kind: str) -> None:
    """A crowd has answered."""
    from crowdveil.client.campaign_client import CampaignClient
    from crowdveil.client.delivery import Delivery, Person
    from crowdveil.client.memory import Memory

    client = CampaignClient(f"{server.url}/c/{campaign['id']}")
    people = [Person(f"p{at}", said) for at, said in enumerate(demo_people.answers(kind))]
    memory = Memory(Path(tempfile.mkdtemp()) / "memory.sqlite3")
    Delivery(client, client.look(), memory, distinct_names=True).deliver(people)


def signed_in(browser: Any, server: Server, token: str) -> Any:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password or token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    cookies = context.cookies()
    context.close()
    return cookies


def measure(browser: Any, url: str, cookies: Any) -> dict[str, float]:
    """Median seconds until something is painted, and bytes on the way."""
    seconds, size = [], 0
    for _ in range(REPEATS):
        context, traffic = browser.new_context(viewport=PHONE), Traffic()
        if not url.endswith("/sign-in"):
            context.add_cookies(cookies)
        page = context.new_page()
        traffic.watch(page)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.goto(url, wait_until="networkidle")
        seconds.append(page.evaluate(PAINT) / 1000)
        size = sum(traffic.received.values())
        context.close()
    return {"seconds": statistics.median(seconds), "slowest": max(seconds), "bytes": size}


def shoot(browser: Any, url: str, cookies: Any, stem: Path) -> None:
    """Pictures of a page on a phone and on a desk."""
    for name, viewport in (("phone", PHONE), ("desktop", DESKTOP)):
        context = browser.new_context(viewport=viewport, locale="en-GB")
        if not url.endswith("/sign-in"):
            context.add_cookies(cookies)
        page = context.new_page()
        page.goto(url, wait_until="networkidle")
        if "/new/" in url:
            write(page, url.rpartition("/")[2])
        page.screenshot(path=f"{stem}-{name}.png", full_page=True)
        if "/c/" in url:
            take_part(page, stem, name)
        context.close()


def take_part(page: Any, stem: Path, viewport: str) -> None:
    """Answer on a participant's page, with pictures of the questions and of what was sent."""
    page.click("#continue")
    page.locator("#answer").wait_for()
    for number in page.locator("#fields input[inputmode=decimal]").all()[:2]:
        number.fill("45")
    for choice in page.locator("#fields select").all()[:3]:
        choice.focus()  # long lists get their choices when they are needed
        choice.select_option(index=1)
    page.screenshot(path=f"{stem}-answer-{viewport}.png", full_page=True)
    page.click("#send")
    page.locator("#delivered").wait_for()
    page.screenshot(path=f"{stem}-sent-{viewport}.png", full_page=True)


def write(page: Any, kind: str) -> None:
    """Fill in the form of a new campaign, so that its preview shows."""
    page.fill("#title", "Noise at night" if kind == "sensing" else "How are you?")
    if kind == "records":
        page.fill("#questions", "job: cook, nurse, smith\nage: 0 < 30 < 60 < 120\nsmokes?: yes, no")
    else:
        page.fill("#objects", "Main Street | dB\nPark | dB" if kind == "sensing" else "tired\ndizzy\nsick")
    if kind == "sensing":
        page.fill("#low", "30")
        page.fill("#high", "90")
    page.locator("#preview svg").wait_for()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
