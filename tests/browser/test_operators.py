"""An operator in a real browser: from signing in to the export, and people who answer meanwhile."""

from __future__ import annotations

import io
import itertools
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from browsing import AXE, DESKTOP, PHONE, Traffic, serious_problems, storage
from crowdveil.service.store import operators
from devices import Json, create, database_of, fill, until
from serving import Server

SECRET = "61.7391"
FORMS: dict[str, dict[str, str]] = {
    "sensing": {
        "title": "Noise at night",
        "objects": "Main Street | dB\nPark | dB",
        "low": "30",
        "high": "90",
        "epsilon": "2",
    },
    "sparse": {
        "title": "Side effects",
        "objects": "dizzy\ntired\nsick\nitchy",
        "low": "1",
        "high": "5",
        "epsilon": "2",
    },
    "records": {
        "title": "Work and life",
        "questions": "job: cook, nurse, smith\nincome: 0 < 50 < 100\nsmokes?: yes, no",
        "epsilon": "3",
        "people": "40",
    },
}
OTHERS: dict[str, Json] = {
    "sensing": {"Main Street": 55.0, "Park": 41.5},
    "sparse": {"dizzy": 2},
    "records": {"job": "cook", "income": 20, "smokes": "no"},
}
_numbers = itertools.count()


@dataclass
class Ann:
    """An operator: her token, and a client of the API to look at what her pages did."""

    server: Server
    name: str = field(default_factory=lambda: f"ann{next(_numbers)}")
    token: str = ""

    def __post_init__(self) -> None:
        with database_of(self.server) as connection:
            self.token = operators.new_token(connection, operators.add(connection, self.name))

    @property
    def api(self) -> httpx.Client:
        return self.server.client(self.token)

    def sign_in(self, context: Any, traffic: Traffic | None = None, path: str = "/") -> Any:
        page = context.new_page()
        page.set_default_timeout(20_000)
        if traffic is not None:
            traffic.watch(page)
        page.goto(f"{self.server.url}{path}")
        page.get_by_label("Name").fill(self.name)
        page.get_by_label("Password or token").fill(self.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        return page


@pytest.fixture
def ann(pages: Server) -> Ann:
    return Ann(pages)


def write(page: Any, kind: str, **more: str) -> None:
    """Fill in the form of a new campaign."""
    for name, value in {**FORMS[kind], **more}.items():
        if name in ("admission", "unit"):
            page.select_option(f"#{name}", value)
        else:
            page.fill(f"#{name}", value)


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def created(page: Any, server: Server, kind: str, **more: str) -> str:
    """The id of a campaign that was created and opened on the page."""
    page.goto(f"{server.url}/new/{kind}")
    write(page, kind, **more)
    press(page, "Create as a draft")
    page.wait_for_url("**/campaigns/*")
    press(page, "Open it")
    page.locator(".badge.open").wait_for()
    return str(page.url).rpartition("/")[2]


def answer(context: Any, traffic: Traffic, url: str, kind: str) -> Any:
    """Somebody takes part, on a page of their own."""
    page = context.new_page()
    page.set_default_timeout(20_000)
    traffic.watch(page)
    page.goto(url)
    page.wait_for_selector("#continue:not([disabled])")
    page.click("#continue")
    page.wait_for_selector("#answer:not([hidden])")
    if kind == "sensing":
        page.get_by_label("Main Street (dB)", exact=True).fill(SECRET)
    elif kind == "records":
        page.get_by_label("job").select_option("nurse")
        page.get_by_label("income").fill(SECRET)
    else:
        page.get_by_label("tired").select_option("4")
    page.click("#send")
    page.wait_for_function(
        "() => document.getElementById('outcome').textContent.includes('Your report has arrived')"
    )
    return page


def figures(page: Any, name: str, count: int) -> None:
    """Wait until the page tells that many of something, by itself."""
    page.locator(f".figures div:has(dt:text-is('{name}')) dd:text-is('{count}')").wait_for()


@pytest.mark.parametrize("kind", FORMS)
def test_a_whole_campaign_from_its_first_line_to_its_last_file(
    pages: Server, ann: Ann, browser: Any, kind: str, tmp_path: Path
) -> None:
    hers, theirs, seen, sent = (
        *(browser.new_context(locale="en-GB") for _ in range(2)),
        Traffic(),
        Traffic(),
    )
    page = ann.sign_in(hers, seen)
    page.get_by_role("link", name=re.compile("Ask|Write")).nth(list(FORMS).index(kind)).click()
    write(page, kind)
    page.locator("#preview", has_text="the right one is picked in at most").wait_for()
    page.locator("#preview svg").wait_for()  # the error to expect
    press(page, "Create as a draft")
    page.get_by_text("This is a draft").wait_for()
    link = page.get_by_label("Link", exact=True).input_value()
    id = link.rpartition("/")[2]
    early = theirs.new_page()
    early.goto(link)
    early.get_by_text("This campaign is not open yet.").wait_for()
    press(page, "Open it")
    page.locator(".badge.open").wait_for()
    assert page.locator("figure svg").count() == 1  # the code for phones
    taken_part = answer(theirs, sent, link, kind)
    figures(page, "reports", 1)  # without loading it again
    figures(page, "in the estimate so far", 1)
    fill(pages.client(), ann.api.get(f"/campaigns/{id}").json(), 19, answer=OTHERS[kind])
    figures(page, "in the estimate so far", 20)

    page.get_by_role("link", name="Results").click()
    page.locator("#findings figure svg").first.wait_for()
    if kind == "records":
        page.get_by_role("heading", name="Synthetic table").wait_for()
        page.get_by_text("counted at a wrong choice").wait_for()
    else:
        page.get_by_role("heading", name="How much each person counts").wait_for()
    page.get_by_role("link", name="Overview").click()
    press(page, "Pause")
    page.locator(".badge.paused").wait_for()
    press(page, "Resume")
    page.locator(".badge.open").wait_for()
    press(page, "Publish")
    page.get_by_role("link", name="See the public page").wait_for()
    assert httpx.get(f"{link}/results").status_code == 200
    page.get_by_text("Close this campaign").click()
    press(page, "Close for good")
    page.locator(".badge.closed").wait_for()
    until(lambda: not ann.api.get(f"/campaigns/{id}/results").json()["provisional"])
    page.get_by_role("link", name="Results").click()
    with page.expect_download() as loading:
        page.get_by_role("link", name="zip").click()
    loading.value.save_as(tmp_path / "bundle.zip")
    bundle = (tmp_path / "bundle.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        assert "certificate.json" in archive.namelist()
        assert SECRET not in "".join(repr(archive.read(name)) for name in archive.namelist())
    page.get_by_role("link", name="Log").click()
    page.get_by_text("download: bundle of wave 1").wait_for()
    page.get_by_role("link", name="Overview").click()
    page.get_by_text("Delete this campaign").click()
    page.get_by_label("I know that nothing of it can be had back.").check()
    press(page, "Delete everything")
    page.get_by_text("You have no campaign yet").wait_for()
    assert httpx.get(link).status_code == 404
    press(page, "Sign out")
    page.get_by_role("heading", name="Sign in to crowdveil").wait_for()

    assert len(sent.reports()) == 1
    for told in (*seen.sent, *sent.sent, *seen.said, storage(taken_part), pages.log.read_text()):
        assert SECRET not in told
    assert ann.token not in json.dumps(seen.sent[1:]).replace(f"secret={ann.token}", "")
    assert [words for words in seen.said if "404" not in words] == []
    hers.close()
    theirs.close()


def test_an_invitation_that_was_made_on_the_page_can_be_used_once(
    pages: Server, ann: Ann, browser: Any
) -> None:
    hers, sent = browser.new_context(locale="en-GB"), Traffic()
    page = ann.sign_in(hers)
    id = created(page, pages, "sensing", admission="invited")
    page.get_by_role("link", name="People").click()
    page.get_by_label("How many people").fill("2")
    press(page, "Make invitations")
    links = page.get_by_label("Links, one in each line").input_value().split()
    assert len(links) == 2
    with page.expect_download() as loading:
        press(page, "Save as a file")
    assert Path(loading.value.path()).read_text().split() == links
    for place, link in enumerate((links[0], links[1], links[0])):
        theirs = browser.new_context(locale="en-GB")
        if place < 2:
            answer(theirs, sent, link, "sensing")
        else:  # the storage of another browser is as good as cleared
            again = theirs.new_page()
            again.goto(link)
            again.get_by_text("A report with this link is there already").wait_for()
        theirs.close()
    assert ann.api.get(f"/campaigns/{id}/results").json()["reports"] == 2
    assert not any(link.rpartition("#")[2] in told.split('", {"')[0] for told in sent.sent for link in links)
    hers.close()


@pytest.mark.parametrize("name", ["{name}", "%", "{name}:x"])
def test_a_link_from_another_site_signs_nobody_in(pages: Server, ann: Ann, context: Any, name: str) -> None:
    page = context.new_page()
    page.goto(f"{pages.url}/sign-in#{name.format(name=ann.name)}:{ann.token}")
    page.wait_for_function("() => location.hash === ''")
    assert page.get_by_label("Password or token").input_value() == ""
    page.goto(f"{pages.url}/")
    assert "/sign-in" in page.url


def test_the_link_of_a_demonstration_signs_in_and_does_not_keep_the_token(
    tmp_path: Path, start: Callable[..., Server], context: Any
) -> None:
    ann = Ann(start(f"sqlite:///{tmp_path / 'service.sqlite3'}", demo=True))
    page, traffic = context.new_page(), Traffic()
    traffic.watch(page)
    page.goto(f"{ann.server.url}/sign-in#{ann.name}:{ann.token}")
    page.get_by_role("button", name="Sign out").wait_for()
    assert "simulated" in page.locator("body").inner_text()
    assert ann.token not in page.url
    assert ann.token not in storage(page)
    sent = [json.loads(each) for each in traffic.sent]
    assert not any(ann.token in url for _, url, _, _ in sent)
    page.go_back()
    assert ann.token not in page.url


def test_what_is_promised_follows_what_is_typed(pages: Server, ann: Ann, context: Any) -> None:
    """A guess is right with e^epsilon / (1 + e^epsilon): .8808 for 2, .6226 for .5."""
    page = ann.sign_in(context)
    page.goto(f"{pages.url}/new/sensing")
    write(page, "sensing")
    page.locator("#preview", has_text="at most 88.1").wait_for()
    page.fill("#epsilon", "0.5")
    page.locator("#preview", has_text="at most 62.3").wait_for()
    page.locator("#epsilon-slider").focus()
    page.keyboard.press("Home")
    assert page.input_value("#epsilon") == "0.1"
    page.locator("#preview", has_text="at most 52.5").wait_for()
    page.fill("#epsilon", "1,5")  # .8176
    page.locator("#preview", has_text="at most 81.8").wait_for()
    page.context.clear_cookies()
    page.fill("#epsilon", "8")
    page.locator("#preview", has_text="could not be computed").wait_for()
    assert "at most" not in page.locator("#preview").text_content()
    page = ann.sign_in(context, path="/new/sensing")
    write(page, "sensing")
    page.locator("#preview", has_text="at most 88.1").wait_for()
    page.fill("#high", "30")
    page.locator("#preview svg").wait_for(state="detached")
    assert "at most" not in page.locator("#preview").text_content()
    assert ann.api.get("/campaigns").json()["campaigns"] == []


def test_everything_works_without_scripts(pages: Server, ann: Ann, browser: Any) -> None:
    context = browser.new_context(locale="en-GB", java_script_enabled=False)
    page = ann.sign_in(context)
    page.goto(f"{pages.url}/new/sensing")
    write(page, "sensing")
    press(page, "Show what it promises")
    page.locator("#preview", has_text="at most 88.1").wait_for()
    assert page.input_value("#title") == "Noise at night"
    press(page, "Create as a draft")
    press(page, "Open it")
    page.locator(".badge.open").wait_for()
    assert page.get_by_role("button", name="Copy").count() == 0
    context.close()


def test_a_double_click_creates_no_more_than_one_state(pages: Server, ann: Ann, context: Any) -> None:
    page = ann.sign_in(context)
    page.goto(f"{pages.url}/new/sparse")
    write(page, "sparse")
    press(page, "Create as a draft")
    page.get_by_role("button", name="Open it").dblclick()
    page.locator(".badge.open").wait_for()
    page.go_back()  # a page that was left is not shown from memory with old buttons
    page.reload()
    page.locator(".badge.open").wait_for()
    (made,) = ann.api.get("/campaigns").json()["campaigns"]
    assert made["state"] == "open"


def paths(ann: Ann, campaign: Json) -> list[str]:
    base = f"/campaigns/{campaign['id']}"
    return [
        "/",
        f"/new/{campaign['kind']}",
        base,
        *(f"{base}/{tab}" for tab in ("results", "people", "record")),
    ]


@pytest.fixture(scope="module")
def full(pages: Server) -> tuple[Ann, list[Json]]:
    """An operator with a campaign of each kind, and results."""
    ann = Ann(pages)
    schema = {"columns": {"job": {"values": ["cook", "nurse"]}, "age": {"edges": [0, 30, 60]}}}
    wanted: list[Json] = [
        {"kind": "sensing", "objects": [{"name": f"street {at}", "unit": "dB"} for at in range(12)]},
        {"kind": "sparse", "objects": [f"effect {at}" for at in range(30)], "admission": "invited"},
        {"kind": "records", "schema": schema, "people": 50},
    ]
    made = []
    for request in wanted:
        more = {} if request["kind"] == "records" else {"range": [0, 10]}
        campaign = create(ann.api, {"title": request["kind"], "epsilon": 2, **request, **more})
        if request["kind"] != "sparse":
            reply = {"sensing": {"street 1": 4.0, "street 2": 8.0}, "records": {"job": "cook", "age": 33}}
            fill(pages.client(), campaign, 5, answer=reply[request["kind"]])
            counted = f"/campaigns/{campaign['id']}/results"
            until(lambda counted=counted: ann.api.get(counted).json()["counted"] == 5)  # type: ignore[misc]
        made.append(campaign)
    return ann, made


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make js-packages")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    full: tuple[Ann, list[Json]], browser: Any, scheme: str
) -> None:
    ann, campaigns = full
    context = browser.new_context(locale="en-GB", color_scheme=scheme, viewport=PHONE)
    page = context.new_page()
    page.goto(f"{ann.server.url}/sign-in")
    assert serious_problems(page) == []
    page = ann.sign_in(context)
    for path in sorted({path for campaign in campaigns for path in paths(ann, campaign)}):
        page.goto(f"{ann.server.url}{path}")
        if path.startswith("/new/"):
            write(page, path.rpartition("/")[2])
            page.locator("#preview svg").wait_for()
        assert serious_problems(page) == [], path
    page.goto(f"{ann.server.url}/nothing")
    assert serious_problems(page) == []
    context.close()


def test_no_page_is_wider_than_a_phone(full: tuple[Ann, list[Json]], browser: Any) -> None:
    ann, campaigns = full
    context = browser.new_context(locale="de-DE", viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(f"{ann.server.url}/sign-in")
    page.get_by_label("Name").fill(ann.name)
    page.get_by_label("Passwort oder Token").fill(ann.token)
    page.get_by_role("button", name="Anmelden").click()
    page.get_by_role("button", name="Abmelden").wait_for()
    for path in sorted({path for campaign in campaigns for path in paths(ann, campaign)}):
        page.goto(f"{ann.server.url}{path}")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, path
    context.close()


def test_no_page_is_larger_than_150_kilobytes(full: tuple[Ann, list[Json]], browser: Any) -> None:
    ann, campaigns = full
    context = browser.new_context(locale="en-GB")
    cookies = ann.sign_in(context).context.cookies()
    context.close()
    for path in sorted({path for campaign in campaigns for path in paths(ann, campaign)}):
        context, traffic = browser.new_context(locale="en-GB", viewport=DESKTOP), Traffic()
        context.add_cookies(cookies)
        page = context.new_page()
        traffic.watch(page)
        page.goto(f"{ann.server.url}{path}", wait_until="networkidle")
        assert sum(traffic.received.values()) < 150_000, (path, traffic.received)
        others = [url for url in traffic.received if not url.startswith((ann.server.url, "data:"))]
        assert others == []
        context.close()


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_published_page_is_styled_under_a_policy_without_exceptions(
    full: tuple[Ann, list[Json]], browser: Any, scheme: str, viewport: Any
) -> None:
    ann, campaigns = full
    context, traffic = browser.new_context(color_scheme=scheme, viewport=viewport), Traffic()
    page = context.new_page()
    traffic.watch(page)
    for campaign in campaigns:
        assert ann.api.patch(f"/campaigns/{campaign['id']}", json={"published": True}).status_code == 200
        answer = page.goto(f"{ann.server.url}/c/{campaign['id']}/results")
        assert "unsafe" not in answer.headers["content-security-policy"]
        family = page.evaluate("() => getComputedStyle(document.body).fontFamily")
        assert "system-ui" in family
        assert serious_problems(page) == []
    assert traffic.said == []
    context.close()
