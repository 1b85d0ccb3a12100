"""The stylesheet: text can be read in both colour schemes, every colour has a name."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import pairwise

import pytest

from crowdveil.report import drawing
from crowdveil.report.style import chart_rules, stylesheet

DARK = "@media screen and (prefers-color-scheme: dark)"
TEXTS = [
    *((ink, page) for ink in ("ink", "soft", "accent", "bad") for page in ("page", "card")),
    *((kind, f"{kind}-page") for kind in ("good", "warn", "bad")),
    ("on-accent", "accent"),
    ("on-accent-page", "accent-page"),
    ("on-danger", "danger"),
    *(("on-pale", f"heat-{shade}") for shade in range(4)),
    ("on-middle", "heat-4"),
    *(("on-strong", f"heat-{shade}") for shade in range(5, 8)),
    ("ink", "halo"),
]
OUTLINES = [("edge", "page"), ("edge", "card"), ("accent", "page"), ("danger", "page")]
MARKS = ("BLUE", "ORANGE", "GREEN", "RED", "PURPLE", "SKY")


def colours(scheme: str) -> dict[str, str]:
    """The named colours of a scheme."""
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for block in re.finditer(r":root\s*\{(.*?)\}", stylesheet(), re.DOTALL):
        inside = stylesheet()[: block.start()].rstrip().endswith(f"{DARK} {{")
        (dark if inside else light).update(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block[1]))
    assert light.keys() == dark.keys()
    return light if scheme == "light" else dark


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast ratio after WCAG 2."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colours() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme: str) -> None:
    named = colours(scheme)
    weak = {pair: contrast(named[pair[0]], named[pair[1]]) for pair in TEXTS}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_outlines_and_marks_stand_out(scheme: str) -> None:
    named = colours(scheme)
    for first, second in OUTLINES:
        assert contrast(named[first], named[second]) >= 3, (first, second)
    for mark in MARKS:
        for page in ("page", "card"):
            assert contrast(getattr(drawing, mark), named[page]) >= 3, (mark, page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_go_from_the_pages_own_to_the_farthest_in_even_steps(scheme: str) -> None:
    named = colours(scheme)
    shades = [contrast(named[f"heat-{shade}"], named["page"]) for shade in range(8)]
    assert shades == sorted(shades)
    steps = [after / before for before, after in pairwise(shades)]
    assert 1.15 < min(steps) <= max(steps) < 1.6


def test_every_colour_is_named_and_every_name_is_defined() -> None:
    rules = re.sub(r":root\s*\{.*?\}", "", stylesheet(), flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgb|hsl", rules) == []
    assert set(re.findall(r"var\(--([\w-]+)\)", rules)) == set(colours("light"))


def test_the_stylesheet_fetches_nothing_and_ends_no_element() -> None:
    assert "url(" not in stylesheet()
    assert "@import" not in stylesheet()
    assert "<" not in stylesheet()
    assert stylesheet().count("{") == stylesheet().count("}")


def test_charts_alone_bring_the_rules_for_their_cells() -> None:
    svg = drawing.scaled(10, 10, "x", '<rect class="heat-3"/>')
    assert ".heat-3 {" in drawing.alone(svg)
    assert ".heat-3 {" not in drawing.alone(drawing.scaled(10, 10, "x", ""))
    assert "body" not in chart_rules()
    assert "/*" not in chart_rules()


def test_templates_have_no_style_of_their_own() -> None:
    for template in files("crowdveil.report").joinpath("templates").iterdir():
        source = template.read_text()
        assert "style=" not in source
        assert source.count("<style") == (template.name == "base.html")
