"""People answer in a real browser: what they enter leaves the page nowhere, and a report goes out once."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import Any

import httpx
import pytest

from browsing import AXE, DESKTOP, PHONE, Traffic, serious_problems, storage
from devices import Json, create, operator
from serving import Server

SECRET = "61.7391"
KINDS: dict[str, Json] = {
    "sensing": {
        "title": "Noise at night",
        "kind": "sensing",
        "objects": [{"name": "Main Street", "unit": "dB"}, "Park"],
        "range": [30, 90],
        "epsilon": 2,
    },
    "sparse": {
        "title": "Side effects",
        "kind": "sparse",
        "objects": ["dizzy", "tired", "sick", "itchy"],
        "range": [1, 5],
        "epsilon": 2,
    },
    "slots": {
        "title": "Side effects of a person",
        "kind": "sparse",
        "objects": ["dizzy", "tired", "sick", "itchy"],
        "range": [1, 5],
        "epsilon": 2,
        "unit": "person",
    },
    "records": {
        "title": "Work and life",
        "kind": "records",
        "schema": {
            "columns": {
                "job": {"values": ["cook", "nurse", "smith"]},
                "income": {"edges": [0, 50, 100]},
                "smokes": {"values": ["yes", "no"], "missing": True},
            }
        },
        "epsilon": 2,
        "people": 40,
    },
}


@pytest.fixture(scope="module")
def ann(pages: Server) -> httpx.Client:
    return operator(pages)


def opened(context: Any, traffic: Traffic, url: str, viewport: Any = None) -> Any:
    """A page of a participant, watched from its first request on."""
    page = context.new_page()
    page.set_default_timeout(20_000)
    if viewport is not None:
        page.set_viewport_size(viewport)
    traffic.watch(page)
    page.goto(url)
    return page


def ready(page: Any) -> None:
    page.wait_for_selector("#continue:not([disabled])")


def begin(page: Any) -> None:
    ready(page)
    page.click("#continue")
    page.wait_for_selector("#answer:not([hidden])")


def fill(page: Any, kind: str) -> None:
    """What somebody enters, with a number that is easy to find again."""
    if kind == "sensing":
        page.get_by_label("Main Street (dB)", exact=True).fill(SECRET)
        page.get_by_label("Park", exact=True).fill("44.5")
    elif kind == "records":
        page.get_by_label("job").select_option("nurse")
        page.get_by_label("income").fill(SECRET)
    else:
        page.get_by_label("tired").select_option("4")


def outcome(page: Any, words: str = "Your report has arrived") -> None:
    page.wait_for_function(
        "words => document.getElementById('outcome').textContent.includes(words)", arg=words
    )


def take_part(page: Any, kind: str) -> None:
    """From the promise to a report that has arrived."""
    begin(page)
    fill(page, kind)
    page.click("#send")
    outcome(page)


def count(ann: httpx.Client, campaign: Json) -> int:
    return int(ann.get(f"/campaigns/{campaign['id']}/results").json()["reports"])


def url_of(pages: Server, campaign: Json) -> str:
    return f"{pages.url}/c/{campaign['id']}"


def questionnaire(mechanism: str, *sizes: int) -> Json:
    """Questions with so many choices, one each."""
    columns = {
        name: {"values": [f"{name}{at}" for at in range(size)]}
        for name, size in zip("abc", sizes, strict=False)
    }
    return {**KINDS["records"], "schema": {"columns": columns}, "mechanism": mechanism, "epsilon": 1}


WORDED = {
    "sensing": (KINDS["sensing"], None),
    "sparse": (KINDS["sparse"], None),
    "slots": (KINDS["slots"], "slots"),
    "krr": (questionnaire("independent", 3, 3), "krr"),
    "split": (questionnaire("samprivsyn", 3, 3), "split-krr"),
    "oue": (questionnaire("independent", 40, 40), "oue"),
    "olh": (questionnaire("independent", 90, 90), "olh"),
}


@pytest.mark.parametrize("sort", WORDED)
def test_examples_and_what_was_sent_are_in_words(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, sort: str
) -> None:
    what, mechanism = WORDED[sort]
    page = opened(context, traffic, url_of(pages, create(ann, what)), PHONE)
    ready(page)
    examples = page.locator("#examples")
    if sort == "sensing":
        assert examples.locator("circle").count() == 60
    else:
        rows = examples.locator("tbody tr")
        assert 2 <= rows.count() <= 13
        named = sum(
            int(rows.nth(at).locator("td").first.inner_text().split()[0]) for at in range(rows.count())
        )
        assert named == 60 or sort in ("oue", "olh")
    begin(page)
    for field in page.locator("#fields select, #fields input[inputmode=decimal]").all():
        field.select_option(index=1) if field.evaluate("each => each.tagName") == "SELECT" else field.fill(
            "50"
        )
    page.click("#send")
    outcome(page)
    report = json.loads(page.locator("#report").text_content())
    if mechanism is None:
        sent = page.locator("#shown tbody tr td:last-child").all_inner_texts()
        assert len(sent) == len(what["objects"])
        assert all(text == "no answer" or float(text.replace(",", "")) for text in sent)
        return
    assert report["mechanism"] == mechanism
    words = page.locator("#named").inner_text()
    if sort == "krr":
        named_value = re.search(r"reported: (\w): \1(\d+)\.", words)
        assert named_value is not None
        assert int(named_value[2]) == report["payload"]
    elif sort in ("oue", "olh"):
        assert f"{len(what['schema']['columns']['a']['values'])} possible answers" in words
    else:
        assert words.startswith("Your device reported: ")


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_randomized_before_it_leaves_the_page(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, kind: str, viewport: Any
) -> None:
    campaign = create(ann, KINDS[kind])
    page = opened(context, traffic, url_of(pages, campaign), viewport)
    take_part(page, kind)
    assert count(ann, campaign) == 1
    (sent,) = traffic.reports()
    assert (
        json.loads(page.inner_text("#report") if page.is_visible("#report") else page.text_content("#report"))
        == sent["report"]
    )
    if kind in ("sensing", "records"):
        found = {"traffic": "\n".join(traffic.sent), "storage": storage(page), "address": page.url}
        found["log"] = pages.log.read_text()
        found["console"] = "\n".join(traffic.said)
        with closing(sqlite3.connect(pages.database.removeprefix("sqlite:///"))) as database:
            found["database"] = "\n".join(database.iterdump())
        assert [where for where, text in found.items() if SECRET in text] == []
        assert SECRET in page.text_content("#shown")  # beside what was sent, on this page alone
    else:
        assert "tired" not in json.dumps(sent)
    assert [said for said in traffic.said if "error" in said.lower() or "refused" in said.lower()] == []
    page.reload()
    outcome(page)
    assert SECRET not in page.content()
    assert (count(ann, campaign), len(traffic.reports())) == (1, 1)


def test_whoever_refuses_leaves_nothing(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    ready(page)
    page.click("#refuse")
    page.wait_for_function(
        "() => document.getElementById('message').textContent.includes('No answer was drawn')"
    )
    assert page.is_disabled("#continue")
    assert count(ann, campaign) == 0
    assert "report http" not in storage(page)  # as the keys of drawn reports begin


def test_a_double_click_sends_once(pages: Server, ann: httpx.Client, context: Any, traffic: Traffic) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    fill(page, "sensing")
    page.dblclick("#send")
    outcome(page)
    assert (count(ann, campaign), len(traffic.reports())) == (1, 1)


def test_two_tabs_have_one_report(pages: Server, ann: httpx.Client, context: Any, traffic: Traffic) -> None:
    campaign = create(ann, KINDS["sensing"])
    tabs = [opened(context, traffic, url_of(pages, campaign)) for _ in range(2)]
    for page in tabs:
        begin(page)
        fill(page, "sensing")
    for page in tabs:
        page.evaluate("document.getElementById('form').requestSubmit()")
    for page in tabs:
        outcome(page)
    assert count(ann, campaign) == 1
    assert len({(body["key"], json.dumps(body["report"])) for body in traffic.reports()}) == 1


def test_the_back_button_asks_nothing_again(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    take_part(page, "sensing")
    page.goto(f"{pages.url}/healthz")
    page.go_back()
    outcome(page)
    assert not page.is_visible("#form")
    assert SECRET not in page.content()
    assert (count(ann, campaign), len(traffic.reports())) == (1, 1)


@pytest.mark.parametrize("kind", ["sensing", "records"])
def test_without_a_connection_a_report_waits_and_is_sent_once(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, kind: str
) -> None:
    campaign = create(ann, KINDS[kind])
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    fill(page, kind)
    context.set_offline(True)
    page.click("#send")
    outcome(page, "There is no connection")
    assert count(ann, campaign) == 0
    assert not page.is_visible("#delivered")  # whoever could look now could still keep it back
    drawn = json.loads(storage(page))["databases"]
    context.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    outcome(page)
    (kept,) = [each["report"] for _, rows in drawn.values() for each in rows if "report" in each]
    assert json.loads(kept) == traffic.reports()[-1]["report"]
    assert count(ann, campaign) == 1


def test_an_invitation_counts_once_even_if_the_browser_forgets(
    pages: Server, ann: httpx.Client, browser: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"], admission="invited")
    (token,) = ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 1}).json()["tokens"]
    url = f"{url_of(pages, campaign)}#i={token}"
    first = browser.new_context(locale="en-GB")
    page = opened(first, traffic, url)
    take_part(page, "sensing")
    first.close()
    cleared = browser.new_context(locale="en-GB")
    page = opened(cleared, traffic, url)
    page.wait_for_function(
        "() => document.getElementById('message').textContent.includes('is there already')"
    )
    assert page.is_disabled("#continue")
    assert len(traffic.reports()) == 1
    assert token not in "\n".join(json.loads(each)[1] for each in traffic.sent)  # no address has it
    cleared.close()
    assert count(ann, campaign) == 1


def test_an_invitation_that_is_open_on_two_devices_is_drawn_for_once(
    pages: Server, ann: httpx.Client, browser: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"], admission="invited")
    (token,) = ann.post(f"/campaigns/{campaign['id']}/invitations", json={"count": 1}).json()["tokens"]
    devices = [browser.new_context(locale="en-GB") for _ in range(2)]
    phone, laptop = (opened(each, traffic, f"{url_of(pages, campaign)}#i={token}") for each in devices)
    for page in (phone, laptop):
        begin(page)
        fill(page, "sensing")
    phone.click("#send")
    outcome(phone)
    laptop.click("#send")
    laptop.wait_for_selector("#problem:not([hidden])")
    assert "Nothing was drawn again" in laptop.inner_text("#problem")
    assert len(traffic.reports()) == 1
    for each in devices:
        each.close()


def test_text_that_is_no_number_is_not_taken_for_a_missing_answer(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    schema = {"columns": {"income": {"edges": [0, 50, 100], "missing": True}, "job": {"values": ["a", "b"]}}}
    campaign = create(ann, KINDS["records"], schema=schema)
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    page.get_by_label("job").select_option("a")
    page.get_by_label("income").focus()
    page.keyboard.type("1e")  # a number that is not whole yet
    page.click("#send")
    page.wait_for_selector("#problem:not([hidden])")
    assert traffic.reports() == []


@pytest.mark.parametrize(
    ("state", "words"),
    [("draft", "not open yet"), ("paused", "is paused"), ("closed", "is closed")],
)
def test_a_campaign_that_is_not_open_says_so(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, state: str, words: str
) -> None:
    campaign = create(ann, KINDS["sensing"], state=state)
    page = opened(context, traffic, url_of(pages, campaign))
    page.wait_for_function(
        "words => document.getElementById('message').textContent.includes(words)", arg=words
    )
    assert page.is_disabled("#continue")


def test_an_old_link_says_so(pages: Server, context: Any, traffic: Traffic) -> None:
    for id in ("0" * 32, "nothing"):
        page = opened(context, traffic, f"{pages.url}/c/{id}")
        assert "This campaign is not here" in page.inner_text("h1")


def test_a_page_speaks_the_readers_language(pages: Server, ann: httpx.Client, browser: Any) -> None:
    campaign = create(ann, KINDS["sensing"])
    german = browser.new_context(locale="de-CH")
    page = german.new_page()
    page.goto(url_of(pages, campaign))
    assert page.get_attribute("html", "lang") == "de"
    assert "Bevor Sie antworten" in page.inner_text("#promise-title")
    german.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_small_and_painted_soon(
    pages: Server, ann: httpx.Client, browser: Any, traffic: Traffic, kind: str
) -> None:
    """Under 150 kB in all; the first paint with a processor that is four times slower is only told."""
    campaign = create(ann, KINDS[kind])
    fresh = browser.new_context(locale="en-GB", service_workers="block")
    page = opened(fresh, traffic, url_of(pages, campaign))
    ready(page)
    page.wait_for_load_state("networkidle")
    assert 0 < sum(traffic.received.values()) < 150_000
    fresh.close()


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: make js-packages")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_serious_stands_in_anybodys_way(
    pages: Server, ann: httpx.Client, browser: Any, traffic: Traffic, kind: str, scheme: Any
) -> None:
    campaign = create(ann, KINDS[kind])
    fresh = browser.new_context(locale="en-GB", color_scheme=scheme, viewport=PHONE)
    page = opened(fresh, traffic, url_of(pages, campaign))
    ready(page)
    assert serious_problems(page) == []
    begin(page)
    assert serious_problems(page) == []
    fill(page, kind)
    page.click("#send")
    outcome(page)
    assert serious_problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fresh.close()


def test_a_page_can_be_used_with_the_keyboard_alone(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    ready(page)

    def tab_to(selector: str) -> None:
        for _ in range(30):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached")

    tab_to("#continue")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer:not([hidden])")
    tab_to("input[inputmode=decimal]")
    page.keyboard.type(SECRET)
    tab_to("#send")
    page.keyboard.press("Enter")
    outcome(page)
    assert count(ann, campaign) == 1


def withdraw(page: Any) -> None:
    page.click("#withdraw")
    page.click("#withdraw-yes")


def test_a_report_can_be_withdrawn_and_nothing_is_drawn_again(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    url = url_of(pages, campaign)
    page = opened(context, traffic, url)
    assert page.locator("#withdrawal").is_hidden()
    take_part(page, "sensing")
    other = opened(context, traffic, url)  # a second tab, which learns of it
    outcome(other)
    page.click("#withdraw")
    page.click("#withdraw-no")
    assert count(ann, campaign) == 1
    withdraw(page)
    outcome(page, "You withdrew your report")
    outcome(other, "You withdrew your report")
    assert count(ann, campaign) == 0
    page.reload()
    outcome(page, "You withdrew your report")
    assert page.locator("#continue").is_hidden()
    assert page.locator("#withdrawal").is_hidden()
    assert len({report["key"] for report in traffic.reports()}) == 1
    assert count(ann, campaign) == 0


def test_a_withdrawal_without_a_connection_or_from_a_closed_campaign_is_none(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    take_part(page, "sensing")
    context.set_offline(True)
    withdraw(page)
    page.get_by_text("It is not known whether your report was withdrawn").wait_for()
    context.set_offline(False)
    assert ann.patch(f"/campaigns/{campaign['id']}", json={"state": "closed"}).status_code == 200
    withdraw(page)
    page.get_by_text("no report can be withdrawn any more").wait_for()
    assert count(ann, campaign) == 1


def test_a_withdrawal_that_nobody_answered_stops_the_page_until_it_is_known(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    take_part(page, "sensing")
    page.click("#withdraw")
    assert "Whether you withdraw is not randomized" in page.inner_text("#confirm")
    page.route(
        "**/reports/*", lambda route: (route.fetch(), route.abort())
    )  # it arrives, its answer does not
    page.click("#withdraw-yes")
    page.get_by_text("It is not known whether your report was withdrawn").wait_for()
    assert count(ann, campaign) == 0
    page.reload()
    outcome(page, "It is not known whether your report was withdrawn")
    assert page.locator("#delivered").is_hidden()
    page.unroute("**/reports/*")
    withdraw(page)
    outcome(page, "You withdrew your report")
    assert len(traffic.reports()) == 1


def test_a_withdrawal_that_the_server_did_is_never_said_to_have_failed(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    """The browser's memory fails after the answer."""
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    take_part(page, "sensing")
    page.evaluate(
        """() => {
          const { put } = IDBObjectStore.prototype;
          IDBObjectStore.prototype.put = function (value, key) {
            if (value.outcome === 'accepted') throw new DOMException('the disk is full');
            return put.call(this, value, key);
          };
        }"""
    )
    withdraw(page)
    outcome(page, "You withdrew your report")
    assert page.locator("#withdraw-problem").is_hidden()
    page.reload()
    outcome(page, "It is not known whether")


def test_after_the_draw_no_page_says_that_nothing_was_sent(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    fill(page, "sensing")
    away = {"status": 307, "headers": {"Location": "https://elsewhere.example/"}}
    page.route("**/reports", lambda route: route.fulfill(**away))
    page.click("#send")
    outcome(page, "it is not known whether it arrived")
    assert "othing" not in page.inner_text("#outcome")
    page.unroute("**/reports")
    page.reload()
    outcome(page)
    assert count(ann, campaign) == 1


def test_without_a_connection_a_page_does_not_say_that_nothing_was_drawn(
    pages: Server, ann: httpx.Client, browser: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    fresh = browser.new_context(locale="en-GB", service_workers="block")  # or the campaign is kept
    page = opened(fresh, traffic, url_of(pages, campaign))
    take_part(page, "sensing")
    page.route("**/api/**", lambda route: route.abort())
    page.reload()
    page.get_by_text("this page needs one to begin").wait_for()
    assert "othing" not in page.inner_text("#message")
    fresh.close()


def test_waves_are_told_in_words(pages: Server, ann: httpx.Client, context: Any, traffic: Traffic) -> None:
    """e^2 / (1 + e^2) is .8808, e^4 / (1 + e^4) is .98201."""
    campaign = create(ann, KINDS["sensing"], waves=2)
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    told = page.locator("#waves").text_content()
    assert "up to 2 times; this is number 1" in told
    assert "88.1" in told
    assert "98.3" in told
    fill(page, "sensing")
    page.click("#send")
    outcome(page)
    page.get_by_text("This was number 1 of up to 2.").wait_for()


@pytest.mark.parametrize(
    ("range", "place", "value"),
    [
        ([100_000, 100_100], 123, "100012.3"),
        ([1900, 2100], 617, "2023.4"),
        ([0, 1e-9], 123, "1.23e-10"),
        ([-5, 5], 503, "0.03"),
        ([0, 1e6], 12, "12000"),
        ([1.23456789, 2.3456789], 1000, "2.3456789"),
        ([1.23456789, 2.3456789], 0, "1.23456789"),
    ],
)
def test_a_slider_reaches_its_whole_range(
    pages: Server,
    ann: httpx.Client,
    context: Any,
    traffic: Traffic,
    range: list[float],
    place: int,
    value: str,
) -> None:
    page = opened(context, traffic, url_of(pages, create(ann, KINDS["sensing"], range=range)))
    begin(page)
    page.locator("#fields input[type=range]").last.evaluate(
        """(slider, place) => {
          const [min, max] = [Number(slider.min), Number(slider.max)];
          slider.value = String(min + (place / 1000) * (max - min));
          slider.dispatchEvent(new Event('input'));
        }""",
        place,
    )
    assert page.locator("#fields input[inputmode=decimal]").last.input_value() == value


def test_ranges_and_answers_are_written_with_all_their_digits(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    objects = [{"name": "year", "range": [1900, 2100]}, {"name": "far", "range": [1_000_000.25, 1_000_100]}]
    asked = {"title": "Digits", "kind": "sensing", "objects": objects, "epsilon": 2}
    page = opened(context, traffic, url_of(pages, create(ann, asked)))
    begin(page)
    hints = page.locator("#fields .hint").all_inner_texts()
    assert [text for text in hints if text] == ["from 1900 to 2100", "from 1,000,000.25 to 1,000,100"]
    page.get_by_label("year", exact=True).fill("1999")
    page.get_by_label("far", exact=True).fill("1000050.12345")
    page.click("#send")
    outcome(page)
    own = page.locator("#shown tbody tr td:nth-child(2)").all_inner_texts()
    assert sorted(own) == ["1,000,050.12345", "1999"]
    sent = page.locator("#shown tbody tr td:last-child").all_inner_texts()
    assert all(len(text.partition(".")[2]) <= 2 for text in sent)  # the grid's steps are .2 and .09975


@pytest.mark.parametrize("kind", ["sensing", "records"])
def test_a_number_beyond_its_range_is_told_before_it_is_sent(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, kind: str
) -> None:
    page = opened(context, traffic, url_of(pages, create(ann, KINDS[kind])))
    begin(page)
    fill(page, kind)
    field = page.get_by_label("income" if kind == "records" else "Park", exact=True)
    low, high = ("0", "100") if kind == "records" else ("30", "90")
    hints = [f"#{name}" for name in field.get_attribute("aria-describedby").split()]

    def told() -> str:
        return " ".join(page.inner_text(hint) for hint in hints)

    assert "is used" not in told()
    field.fill("100.5")
    assert f"{high}, the nearest end, is used" in told()
    field.fill("-1e9")
    assert f"{low}, the nearest end, is used" in told()
    field.fill("50")
    assert "is used" not in told()
    field.fill("200")
    page.click("#send")
    outcome(page)


def test_long_lists_get_their_choices_when_they_are_needed(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    """10,000 things on a scale of 200 would be two million elements."""
    names = [f"thing {at}" for at in range(600)]
    campaign = create(ann, KINDS["sparse"], objects=names, range=[0, 199])
    page = opened(context, traffic, url_of(pages, campaign), PHONE)
    begin(page)
    page.wait_for_function("() => document.querySelector('#fields select').options.length === 201")
    assert page.locator("#fields option").count() < 20_000
    last = page.locator("#fields select").last
    assert last.evaluate("field => field.options.length") == 1
    last.evaluate("field => field.focus({ preventScroll: true })")
    assert last.evaluate("field => field.options.length") == 201
    page.locator("#fields input[type=search]").fill("thing 444")
    page.get_by_label("thing 444").select_option("77")
    page.click("#send")
    outcome(page)
    assert count(ann, campaign) == 1


@pytest.mark.parametrize("kind", ["sensing", "sparse"])
def test_examples_are_about_few_things(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic, kind: str
) -> None:
    names = [f"thing {at}" for at in range(10_000)]
    page = opened(context, traffic, url_of(pages, create(ann, KINDS[kind], objects=names)))
    ready(page)
    if kind == "sensing":
        assert page.locator("#examples circle").count() == 60
    else:
        assert page.locator("#examples tbody td").first.inner_text().endswith(" of 12")


def test_nothing_that_is_entered_is_translated_or_spelled_by_others(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    names = [f"thing {at}" for at in range(30)]
    page = opened(context, traffic, url_of(pages, create(ann, KINDS["sparse"], objects=names)))
    begin(page)
    for part in ("#fields", "#shown", "#fields input[type=search]"):
        assert page.locator(part).evaluate("part => [part.translate, part.spellcheck]") == [False, False]


def test_a_slider_is_reached_by_keyboard_and_is_no_answer_before(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, KINDS["sensing"])
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    field, slider = page.get_by_label("Park", exact=True), page.get_by_label("Park, slider, from 30 to 90")
    assert slider.get_attribute("aria-valuetext") == "no answer"
    page.click("#send")
    page.get_by_text("Give at least one number.").wait_for()  # sliders in the middle are no answers
    field.focus()
    page.keyboard.press("Tab")
    assert slider.evaluate("node => node === document.activeElement")
    page.keyboard.press("Home")
    assert field.input_value() == "30"
    assert slider.get_attribute("aria-valuetext") == "30"
    page.get_by_label("No answer about Park").click()
    assert field.input_value() == ""
    assert slider.get_attribute("aria-valuetext") == "no answer"


def test_a_key_that_ends_a_field_sends_nothing(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    names = [f"item {at}" for at in range(30)]
    lists = create(ann, {**KINDS["sparse"], "objects": names})
    for campaign, label in ((lists, "Find in the list"), (create(ann, KINDS["sensing"]), "Park")):
        page = opened(context, traffic, url_of(pages, campaign))
        begin(page)
        page.get_by_label(label, exact=True).fill("4")
        page.keyboard.press("Enter")
        page.wait_for_timeout(200)
        assert page.locator("#answer").is_visible()
    assert traffic.reports() == []


def test_numbers_have_a_decimal_point_or_a_comma(
    pages: Server, ann: httpx.Client, context: Any, traffic: Traffic
) -> None:
    campaign = create(ann, {**KINDS["sensing"], "objects": ["a", "b", "c"], "range": [-1, 10]})
    page = opened(context, traffic, url_of(pages, campaign))
    begin(page)
    for wrong in ("5,5,5", "five", "0x5", "9" * 400, "1 5"):
        page.get_by_label("a", exact=True).fill(wrong)
        page.click("#send")
        page.get_by_text("Write a number").wait_for()
    assert traffic.reports() == []
    for name, text in (("a", "5,5"), ("b", "5.5"), ("c", "\N{MINUS SIGN}0,25")):
        page.get_by_label(name, exact=True).fill(text)
    page.click("#send")
    outcome(page)
    answers = page.locator("#shown tbody tr td:nth-of-type(1)").all_inner_texts()
    assert [each.replace("\N{MINUS SIGN}", "-") for each in answers] == ["5.5", "5.5", "-0.25"]


def test_what_is_asked_can_be_seen_before(pages: Server, ann: httpx.Client, context: Any) -> None:
    campaign = create(ann, {**KINDS["sensing"], "admission": "invited"})
    page = context.new_page()
    page.goto(url_of(pages, campaign))
    page.get_by_text("open the link that you were given").wait_for()
    assert page.locator("#device").is_hidden()  # there is no link that is somebody's alone
    page.get_by_text("See what is asked").click()
    assert page.get_by_text("Main Street: 30 to 90 dB").is_visible()


def test_a_paused_campaign_says_nothing_about_a_draw_that_was_not(
    pages: Server, ann: httpx.Client, context: Any
) -> None:
    campaign = create(ann, KINDS["sensing"], state="paused")
    page = context.new_page()
    page.goto(url_of(pages, campaign))
    page.get_by_text("This campaign is paused").wait_for()
    assert "drawn" not in page.locator("#message").inner_text()
