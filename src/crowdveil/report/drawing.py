"""What all charts have in common: the element around them, names in them, and their colours.

Charts carry no style of their own: lines and text have the colour of the page's text (`currentColor`), marks
have mid-tones that are seen on light and dark pages, cells of heat maps have classes of style.css.
"""

from __future__ import annotations

import re
from math import ceil
from xml.sax.saxutils import escape, quoteattr

from crowdveil.report.style import chart_rules

# Mid-tones (after Okabe and Ito): at least 3 to 1 against light and dark pages.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#3d8fd1", "#cb7614", "#1b9e74", "#d9584f", "#a874c0", "#2f93c8"

FONT = 'font-family="system-ui, sans-serif"'
LETTER = 7.0  # width of a letter at the charts' size of text
WIDTH = 360  # of charts that scale with the page: their text stays readable on a phone

_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ALONE = "svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#ddd;background:#12151b}}"


def scaled(width: float, height: float, title: str, marks: str, look: str = "scaled") -> str:
    """An SVG element that scales with the page; with the look "natural" it keeps its size."""
    size = f'class="{look}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return _element(size, title, marks)


def fluid(height: float, title: str, marks: str) -> str:
    """An SVG element as wide as the page, in which text keeps its size; places across are percents."""
    return _element(f'class="fluid" width="100%" height="{height:g}"', title, marks)


def _element(size: str, title: str, marks: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT} font-size="12" role="img" '
        f"aria-label={quoteattr(legible(title))}>{titled(title)}"
        f'<g fill="currentColor">{marks}</g></svg>'
    )


def alone(svg: str) -> str:
    """A chart as a separate SVG file, which follows the reader's colour scheme."""
    end = svg.index(">") + 1
    rules = chart_rules() if 'class="heat-' in svg else ""
    return f"{svg[:end]}<style>{_ALONE}{rules}</style>{svg[end:]}"


def legible(text: str) -> str:
    """A text in which a sign replaces the characters that XML forbids, and other control characters."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def text(x: str, y: float, words: str, attributes: str = "", most: int | None = None) -> str:
    """A text at (x, y). Beyond `most` letters it is cut and tells all of it in its title."""
    shown = legible(words)
    if most is None or len(shown) <= most:
        return f'<text x="{x}" y="{y:.1f}" {attributes}>{escape(shown)}</text>'
    return f'<text x="{x}" y="{y:.1f}" {attributes}>{cut(words, most)}{titled(words)}</text>'


def tick_text(x: float, y: float, label: str) -> str:
    """The number of a tick, centred as far as the chart's edges allow."""
    half = LETTER * len(label) / 2
    inside = min(max(x, half), WIDTH - half)
    return text(f"{inside:.1f}", y, label, 'text-anchor="middle"')


def titled(words: str) -> str:
    """What a mark tells when it is pointed at."""
    return f"<title>{escape(legible(words))}</title>"


def cut(words: str, most: int) -> str:
    """The first letters of a text, escaped."""
    shown = legible(words)
    return escape(shown if len(shown) <= most else shown[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}")


def room(letters: int) -> int:
    """The width of so many letters."""
    return ceil(LETTER * letters)
