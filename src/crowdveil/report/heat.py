"""Cells of heat maps: eight shades of one hue, from the page's own shade to the one farthest from it.

A cell's class names its shade; style.css gives the colours of cells and of the numbers in them.
"""

from __future__ import annotations

from math import isfinite

from crowdveil.report.drawing import scaled, text, titled
from crowdveil.report.language import say
from crowdveil.report.numbers import share

SHADES = 8


def shade(value: float, top: float) -> int:
    """The shade of a value between 0 and `top`; what lies outside has the shade of the nearer end."""
    if not isfinite(value) or not top > 0:
        return 0
    return min(SHADES - 1, max(0, int(SHADES * value / top)))


def cell(
    x: float, y: float, size: tuple[float, float], value: float, top: float, told: str, shown: str
) -> str:
    """A cell with its shade, the number that it shows, and what it tells when it is pointed at."""
    level, (width, height) = shade(value, top), size
    rect = (
        f'<rect class="heat-{level}" x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" '
        f'height="{height - 1:.1f}">{titled(told)}</rect>'
    )
    if not shown:
        return rect
    look = f'class="on-{level}" text-anchor="middle" font-size="11"'
    return rect + text(f"{x + (width - 1) / 2:.1f}", y + height / 2 + 3.5, shown, look)


def legend(top: float) -> str:
    """The scale of shades from 0 to `top`."""
    side = 24
    cells = [
        f'<rect class="heat-{level}" x="{1 + side * level}" y="2" width="{side}" height="12"/>'
        for level in range(SHADES)
    ]
    ends = text("0", 29, share(0.0)) + text(f"{2 + side * SHADES}", 29, share(top), 'text-anchor="end"')
    title = say("shades from {low} to {high}", low=share(0.0), high=share(top))
    return scaled(side * SHADES + 4, 34, title, "".join(cells) + ends, "natural")
