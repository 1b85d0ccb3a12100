"""The charts of a release's pages, written directly as SVG, which takes milliseconds.

Lines and text have the colour of the page's text, in light and in dark mode. Charts contain no name from the
data: names are part of the page's text, where they are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats

# Mid-tones (Okabe and Ito) that stand out on white and on black alike.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#3d8fd1", "#e08a1e", "#1fa67a", "#d9584f", "#b07cc6", "#56b4e9"
COLOURS = {"true": BLUE, "uniform": GREEN, "global only": PURPLE, "combined": RED, "released": ORANGE}

_ALONE = "<style>svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#ddd;background:#181a1f}}</style>"

WIDTH, HEIGHT = 400, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 8, 40


def alone(svg: str) -> str:
    """A chart as a separate SVG file, which follows the reader's colour scheme."""
    end = svg.index(">") + 1
    return svg[:end] + _ALONE + svg[end:]


def ticks(low: float, high: float, most: int = 6) -> Floats:
    """At most `most` round numbers between low and high."""
    rough = (high - low) / (most - 1)
    if not rough > 1e-15 * max(abs(low), abs(high)):
        return np.array([low])
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if power * factor >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return np.arange(first, last + 1, dtype=np.float64) * step


@dataclass
class Chart:
    """A chart with axes from `low` to `high` (x, y); methods add marks to it."""

    low: tuple[float, float]
    high: tuple[float, float]
    marks: list[str] = field(default_factory=list)

    def _across(self, x: Floats) -> Floats:
        share = (x - self.low[0]) / (self.high[0] - self.low[0])
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def _down(self, y: Floats) -> Floats:
        share = (y - self.low[1]) / (self.high[1] - self.low[1])
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    def _places(self, x: Floats, y: Floats) -> Iterable[tuple[float, float]]:
        return zip(self._across(x).tolist(), self._down(y).tolist(), strict=True)

    def line(self, x: Floats, y: Floats, colour: str) -> None:
        """Add a curve."""
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in self._places(x, y))
        self.marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')

    def circles(self, x: Floats, y: Floats, colour: str) -> None:
        """Add small circles."""
        for across, down in self._places(x, y):
            self.marks.append(
                f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.2" fill="none" stroke="{colour}"/>'
            )

    def crosses(self, x: Floats, y: Floats, colour: str) -> None:
        """Add small crosses."""
        for across, down in self._places(x, y):
            arms = f"M{across - 2.5:.1f} {down - 2.5:.1f}l5 5m0 -5l-5 5"
            self.marks.append(f'<path d="{arms}" stroke="{colour}" stroke-width="1.2"/>')

    def bars(self, edges: Floats, heights: Floats, colour: str) -> None:
        """Add bars from 0 to `heights` between consecutive edges."""
        lefts, tops = self._across(edges).tolist(), self._down(heights).tolist()
        ground = float(self._down(np.zeros(1))[0])
        for i, top in enumerate(tops):
            self.marks.append(
                f'<rect x="{lefts[i]:.1f}" y="{top:.1f}" width="{lefts[i + 1] - lefts[i]:.1f}" '
                f'height="{ground - top:.1f}" fill="{colour}"/>'
            )

    def legend(self, entries: Mapping[str, str]) -> None:
        """Add a legend of names and colours at the top right."""
        for row, (name, colour) in enumerate(entries.items()):
            y = _TOP + 8 + 14 * row
            self.marks.append(
                f'<path d="M{WIDTH - 92} {y}h16" stroke="{colour}" stroke-width="1.6"/>'
                f'<text x="{WIDTH - 70}" y="{y + 3}">{name}</text>'
            )

    def svg(self, across: str, up: str) -> str:
        """The chart as an SVG element with labels of both axes."""
        floor_at, middle = HEIGHT - _BOTTOM, (_LEFT + WIDTH - _RIGHT) / 2
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11" role="img" '
            f'aria-label="{up} by {across}">',
            f'<path d="M{_LEFT} {_TOP}V{floor_at}H{WIDTH - _RIGHT}" fill="none" stroke="currentColor"/>',
            '<g fill="currentColor">',
        ]
        for tick, x in self._labelled(self._across, 0):
            parts.append(f'<text x="{x:.1f}" y="{floor_at + 15}" text-anchor="middle">{tick}</text>')
            parts.append(f'<path d="M{x:.1f} {floor_at}v3" stroke="currentColor"/>')
        for tick, y in self._labelled(self._down, 1):
            parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
            parts.append(f'<path d="M{_LEFT} {y:.1f}h-3" stroke="currentColor"/>')
        parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{across}</text>')
        turned = f'x="{-(_TOP + floor_at) / 2:.0f}" y="11" transform="rotate(-90)"'
        parts.append(f'<text {turned} text-anchor="middle">{up}</text>')
        return "".join([*parts, *self.marks, "</g></svg>"])

    def _labelled(self, to_page: Callable[[Floats], Floats], axis: int) -> list[tuple[str, float]]:
        shown = ticks(self.low[axis], self.high[axis], most=6 if axis == 0 else 5)
        digits = _digits(shown)
        return [
            (f"{tick:.{digits}g}", place)
            for tick, place in zip(shown.tolist(), to_page(shown).tolist(), strict=True)
        ]


def _digits(shown: Floats) -> int:
    """The number of significant digits that distinguishes the ticks."""
    largest = float(np.abs(shown).max())
    step = float(shown[1] - shown[0]) if shown.size > 1 else 0.0
    if step <= 0 or largest == 0:
        return 3
    return min(17, max(1, floor(log10(largest)) - floor(log10(step) + 1e-9) + 1))


def density_chart(
    points: Floats,
    curves: Mapping[str, Floats],
    claims: Floats | None = None,
    outliers: NDArray[np.bool_] | None = None,
) -> str:
    """Density curves, with claims below them: circles, and crosses for outliers."""
    top = max(float(heights.max()) for heights in curves.values())
    low = 0.0 if claims is None else -0.12 * top
    chart = Chart((float(points[0]), low), (float(points[-1]), 1.05 * top))
    for name, heights in curves.items():
        chart.line(points, heights, COLOURS[name])
    if claims is not None and outliers is not None:
        level = np.full(claims.size, -0.06 * top)
        chart.circles(claims[~outliers], level[~outliers], SKY)
        chart.crosses(claims[outliers], level[outliers], ORANGE)
    chart.legend({name: COLOURS[name] for name in curves})
    return chart.svg("value", "density")


def histogram_chart(values: Floats, label: str) -> str:
    """A histogram of values."""
    low, high = float(values.min()), float(values.max())
    bins = min(60, max(10, int(np.sqrt(values.size))))
    blur = max(1e-12 * max(abs(low), abs(high)), 1e-300)  # edges of bins must differ, whatever the numbers
    if high - low < bins * blur:
        low, high = low - bins * blur, high + bins * blur
    heights, edges = np.histogram(values, bins=bins, range=(low, high))
    chart = Chart((float(edges[0]), 0.0), (float(edges[-1]), 1.05 * float(heights.max())))
    chart.bars(edges, heights.astype(np.float64), BLUE)
    return chart.svg(label, "count")
