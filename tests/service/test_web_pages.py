"""Pages as they are sent: texts in every language, files that are kept for good, nothing inline."""

from __future__ import annotations

import ast
import gzip
import json
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crowdveil.report import numbers
from crowdveil.report.dot_plot import Estimate, dot_plot
from crowdveil.report.language import speaking
from crowdveil.service.web import assets, guesses, page, texts
from crowdveil.service.web.page import POLICY
from devices import KINDS, create, operator
from service_fixtures import running_server
from serving import Server

WEB = Path(texts.__file__).parent
PAIR = {"objects": ["east", "west"]}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow_audit)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Pages do not know which database they come from: on PostgreSQL they are tested at night."""
    yield from running_server(request, tmp_path_factory.mktemp("server"))


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def read(language: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((WEB / "texts" / f"{language}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_every_language_has_every_text_with_the_same_places(language: str) -> None:
    own, first = read(language), read(texts.LANGUAGES[0])
    if language != texts.LANGUAGES[0]:
        first |= {texts.CHART + english: english for english in said_by_charts()}
    assert own.keys() == first.keys()
    for name, text in own.items():
        assert text.strip()
        assert placeholders(text) == placeholders(first[name]), name


def said_by_charts() -> set[str]:
    """All English texts of charts that pages of the service show, in the code."""
    root = WEB.parents[1]
    sources = [*(root / "report").glob("*.py"), root / "campaigns" / "error_curves.py"]
    calls = [
        node
        for source in sources
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"
    ]
    assert calls
    return {ast.literal_eval(call.args[0]) for call in calls}


def test_charts_and_numbers_are_in_the_language_of_the_page() -> None:
    estimates = [Estimate("a", 1260.456, 1260.123, 1260.791), Estimate("b", None)]
    english = dot_plot(estimates)
    with speaking(texts.texts("de").spoken):
        german = dot_plot(estimates)
        assert (numbers.number(1260.5, 5), numbers.count(-1260)) == ("1.260,5", "\N{MINUS SIGN}1.260")
        assert numbers.number(3.5e20).startswith("3,5")
    for plot, number, words in (
        (english, "1,260.46", "no estimate"),
        (german, "1.260,46", "keine Schätzung"),
    ):
        assert number in plot
        assert words in plot
    assert "estimate" not in german
    assert numbers.number(1260.5, 5) == "1,260.5"


def test_every_text_is_used_and_every_text_that_is_used_is_there() -> None:
    pages = "\n".join(path.read_text() for path in (WEB / "templates").glob("*.html"))
    scripts = "\n".join(path.read_text() for path in (WEB / "static").glob("*.js"))
    known = texts.texts("en").names()
    used = set(re.findall(r"""\bt\(["']([\w.-]+)["'][,)]""", pages))
    used |= {f"script.{name}" for name in re.findall(r"""(?:say|fill)\(['"]([\w-]+)['"]""", scripts)}
    assert used <= known
    used |= set(re.findall(r"""["']([\w.-]+)["']""", pages)) & known  # chosen by a template
    by_name = {"ask.", *re.findall(r"""\bt\(["']([\w.-]+)["'] ~""", pages)}  # of a kind, a unit, a state
    codes = {"draft", "paused", "closed", "reported", "withdrawn", "not-invited", "token", "document", "full"}
    codes |= {"resting"}  # before anything was drawn
    codes |= {"unreachable", "accepted", "store", "bug", "object", "yours", "sent", "often", "share"}
    codes |= {"more", "last"}  # by the number of the wave
    codes |= {"tally", "tally-several"}  # by how much a report names
    unused = (
        known
        - used
        - {f"script.{code}" for code in codes}
        - {
            "number.point",
            "number.separator",
            "op.preview.busy",  # said by creating.py
            "op.understood.missing",  # by understood.py
            "op.understood.span",
        }
    )
    assert {name for name in unused if not any(name.startswith(start) for start in by_name)} == set()


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-CH, en;q=0.9", "de"),
        ("fr, en;q=0.3, de;q=0.4", "de"),
        ("fr", "en"),
        ("en, de", "en"),
        ("de;q=x, en;q=0.1", "en"),
        ("de;q=0", "en"),
    ],
)
def test_the_language_that_is_liked_best(header: str, language: str) -> None:
    assert texts.wanted(header).language == language


def test_files_are_kept_for_good_under_their_digest(server: Server) -> None:
    for name, asset in assets.assets().items():
        answer = httpx.get(f"{server.url}{assets.address(name)}")
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == assets.FOR_GOOD
        assert answer.headers["content-type"].endswith("charset=utf-8")
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == asset.content
        assert gzip.decompress(asset.packed) == asset.content
    plain = httpx.get(f"{server.url}{assets.address('style.css')}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert httpx.get(f"{server.url}/static/0123/style.css").status_code == 404  # of another version
    assert httpx.get(f"{server.url}/static/0123/../../settings.py").status_code == 404


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_nothing_inline_and_escapes_what_operators_wrote(server: Server, kind: str) -> None:
    hostile = "<script>alert(1)</script>"
    campaign = create(operator(server), KINDS[kind], title=hostile)
    answer = httpx.get(f"{server.url}/c/{campaign['id']}")
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in POLICY
    assert hostile not in answer.text
    assert re.findall(r"<script(?![^>]*(?: src=| type=\"application/json\"))", answer.text) == []
    assert "<style" not in answer.text
    assert re.findall(r" (?:style|on\w+)=", answer.text) == []


def test_the_number_on_the_page_is_that_of_the_promise(server: Server) -> None:
    """A guess between two cases is right with e^epsilon / (1 + e^epsilon): .8808 for 2, .98202 for 4."""
    ann = operator(server)
    for waves, share in ((1, "88.1"), (2, "98.3")):
        campaign = create(ann, waves=waves)
        assert f"at most {share}" in httpx.get(f"{server.url}/c/{campaign['id']}").text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"epsilon": 5.1}, {"guess": "at most 99.4", "person": "practically not protected"}),
        ({"epsilon": 5.25}, {"guess": "practically not protected"}),
        ({"epsilon": 1}, {"guess": "at most 73.2", "person": "at most 88.1"}),
        ({"epsilon": 2, "waves": 3}, {"guess": "practically not protected", "waves": "at most 88.1"}),
        ({"epsilon": 6, "waves": 2}, {"waves": "Each time it is practically not protected"}),
        ({"epsilon": 1, "objects": ["east"]}, {"guess": "at most 73.2"}),
        ({"epsilon": 1, "unit": "person"}, {"guess": "at most 73.2"}),
    ],
)
@pytest.mark.parametrize("kind", ["sensing", "sparse"])
def test_a_weak_promise_is_said_in_words(
    server: Server, kind: str, more: dict[str, Any], said: dict[str, str]
) -> None:
    """From 99.5 % on a share would look like one; a person's level is told where another one is promised."""
    campaign = create(operator(server), {**KINDS[kind], **({} if "objects" in more else PAIR)}, **more)
    text = httpx.get(f"{server.url}/c/{campaign['id']}").text
    found = dict(re.findall(r'<p id="(guess|person|waves)">(.*?)</p>', text))
    assert found.keys() >= said.keys()
    assert ("person" in found) == ("person" in said)
    for name, words in said.items():
        assert words in found[name]
    assert "100.0" not in " ".join(found.values())


def test_in_sensing_the_promise_for_a_person_is_about_numbers_alone(server: Server) -> None:
    """Which things somebody answers about is not hidden there."""
    campaign = create(operator(server), unit="person")
    page = httpx.get(f"{server.url}/c/{campaign['id']}").text
    assert "two sets of numbers of yours about the same things" in page
    assert "Which ones you answer is not hidden" in page


def test_a_share_that_is_promised_is_rounded_up() -> None:
    """e / (1 + e) is .73106, which is more than 73.1 %."""
    assert guesses.right_at_most({"epsilon": 1.0, "delta": 0.0}) == 0.732
    assert guesses.right_at_most({"epsilon": None, "delta": None}) == 1.0


def test_the_level_of_a_campaign_is_that_of_its_unit() -> None:
    one, all_waves = [{"epsilon": 1.0}, {"epsilon": 2.0}], [{"epsilon": 3.0}, {"epsilon": 4.0}]
    levels = {"levels": one, "all_waves": all_waves}
    assert guesses.own_level({"unit": "claim", **levels}) == all_waves[0]
    assert guesses.own_level({"unit": "person", **levels}) == all_waves[1]
    assert guesses.own_level({"unit": "person", **levels}, "levels") == one[1]


def test_many_people_behind_one_address_can_load_the_page(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    """A page needs dozens of files, which count in no limit."""
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", worker=False, requests_per_minute=5)
    names = [assets.address(name) for name in assets.assets()]
    assert len(names) > 40
    with httpx.Client(base_url=server.url) as client:
        assert {client.get(name).status_code for name in [*names, *names, "/c/worker.js"]} == {200}


def test_a_link_to_nothing_is_a_page_that_says_so(server: Server) -> None:
    for id in ("0" * 32, "x", "\u00e4"):
        answer = httpx.get(f"{server.url}/c/{id}")
        assert answer.status_code == 404
        assert "This campaign is not here" in answer.text


def test_an_epsilon_on_a_page_is_rounded_up() -> None:
    """To the nearest it would be 2, which is less than what was promised."""
    assert page._bound(2.00004) != "2"
    assert float(page._bound(2.00004)) >= 2.00004
    assert page._bound(2.0) == "2"
