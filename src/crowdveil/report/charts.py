"""Charts in a frame with two axes, written directly as SVG, which takes milliseconds.

Lines and text have the colour of the page's text, in light and in dark mode. Labels are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats
from crowdveil.report.axes import Axis
from crowdveil.report.drawing import (
    BLUE,
    GREEN,
    LETTER,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    room,
    scaled,
    text,
    tick_text,
)

COLOURS = {"true": BLUE, "uniform": GREEN, "global only": PURPLE, "combined": RED, "released": ORANGE}

HEIGHT = 220
_TOP, _BOTTOM = 10, 42
_MIDDLE, _END = 'text-anchor="middle"', 'text-anchor="end"'


@dataclass
class Chart:
    """A chart with axes from `low` to `high` (x, y); methods add marks to it.

    `right` is the space right of the frame, `logarithmic` tells which axes are.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    logarithmic: tuple[bool, bool] = (False, False)
    right: int = 10
    height: int = HEIGHT
    marks: list[str] = field(default_factory=list)

    @cached_property
    def up(self) -> Axis:
        """The axis of y."""
        return Axis(self.low[1], self.high[1], self.height - _BOTTOM, _TOP, self.logarithmic[1])

    @cached_property
    def left(self) -> int:
        """The space left of the frame, which the numbers of y need."""
        return 28 + room(max(len(label) for label, _ in self.up.labels(6)))

    @cached_property
    def across(self) -> Axis:
        """The axis of x."""
        return Axis(self.low[0], self.high[0], self.left, WIDTH - self.right, self.logarithmic[0])

    def places(self, x: Floats, y: Floats) -> Iterable[tuple[float, float]]:
        """Where points lie on the page."""
        return zip(self.across.at(x).tolist(), self.up.at(y).tolist(), strict=True)

    def line(self, x: Floats, y: Floats, colour: str, attributes: str = 'stroke-width="1.8"') -> None:
        """Add a curve."""
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in self.places(x, y))
        self.marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" {attributes}/>')

    def circles(self, x: Floats, y: Floats, colour: str) -> None:
        """Add small circles."""
        for across, down in self.places(x, y):
            self.marks.append(
                f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.4" fill="none" stroke="{colour}"/>'
            )

    def crosses(self, x: Floats, y: Floats, colour: str) -> None:
        """Add small crosses."""
        for across, down in self.places(x, y):
            arms = f"M{across - 2.5:.1f} {down - 2.5:.1f}l5 5m0 -5l-5 5"
            self.marks.append(f'<path d="{arms}" stroke="{colour}" stroke-width="1.4"/>')

    def bars(self, edges: Floats, heights: Floats, colour: str) -> None:
        """Add bars from 0 to `heights` between consecutive edges."""
        lefts, tops = self.across.at(edges).tolist(), self.up.at(heights).tolist()
        ground = self.up.place(0.0)
        for i, top in enumerate(tops):
            width = max(0.0, lefts[i + 1] - lefts[i] - 0.5)
            self.marks.append(
                f'<rect x="{lefts[i]:.1f}" y="{top:.1f}" width="{width:.1f}" '
                f'height="{ground - top:.1f}" fill="{colour}"/>'
            )

    def legend(self, entries: Mapping[str, str]) -> None:
        """Add a legend of names and colours at the top right."""
        start = WIDTH - self.right - room(max(map(len, entries), default=0)) - 24
        for row, (name, colour) in enumerate(entries.items()):
            y = _TOP + 8 + 15 * row
            self.marks.append(f'<path d="M{start} {y - 4}h16" stroke="{colour}" stroke-width="2.4"/>')
            self.marks.append(text(f"{start + 21}", y, name))

    def svg(self, across: str, up: str, title: str | None = None) -> str:
        """The chart as an SVG element with labels of both axes."""
        bottom, frame = self.height - _BOTTOM, WIDTH - self.right
        parts = []
        for label, y in self.up.labels(6):
            parts.append(text(f"{self.left - 6}", y + 4, label, _END))
            parts.append(
                f'<path d="M{self.left} {y:.1f}H{frame}" stroke="currentColor" stroke-opacity="0.14"/>'
            )
        parts.append(f'<path d="M{self.left} {_TOP}V{bottom}H{frame}" fill="none" stroke="currentColor"/>')
        for label, x in self.across.labels(6, int((frame - self.left) / LETTER)):
            parts.append(tick_text(x, bottom + 16, label))
            parts.append(f'<path d="M{x:.1f} {bottom}v4" stroke="currentColor"/>')
        parts.append(text(f"{(self.left + frame) / 2:.0f}", self.height - 6, across, _MIDDLE))
        turned = f'transform="rotate(-90)" {_MIDDLE}'
        parts.append(text(f"{-(_TOP + bottom) / 2:.0f}", 12, up, turned))
        return scaled(WIDTH, self.height, title or f"{up} by {across}", "".join([*parts, *self.marks]))


def density_chart(
    points: Floats,
    curves: Mapping[str, Floats],
    claims: Floats | None = None,
    outliers: NDArray[np.bool_] | None = None,
    top: float | None = None,
) -> str:
    """Density curves, with claims below them: circles, and crosses for outliers.

    `top` is the largest density of several charts that share their axes.
    """
    top = max(float(heights.max()) for heights in curves.values()) if top is None else top
    low = 0.0 if claims is None else -0.12 * top
    chart = Chart((float(points[0]), low), (float(points[-1]), 1.05 * top))
    for name, heights in curves.items():
        chart.line(points, heights, COLOURS[name])
    if claims is not None and outliers is not None:
        level = np.full(claims.size, -0.06 * top)
        chart.circles(claims[~outliers], level[~outliers], SKY)
        chart.crosses(claims[outliers], level[outliers], ORANGE)
    if len(curves) > 1:
        chart.legend({name: COLOURS[name] for name in curves})
    return chart.svg("value", "density", f"density: {', '.join(curves)}")


def histogram(values: Floats) -> tuple[Floats, Floats]:
    """Heights and edges of bars, whose edges differ whatever the numbers."""
    low, high = float(values.min()), float(values.max())
    bins = min(60, max(10, int(np.sqrt(values.size))))
    blur = max(1e-12 * max(abs(low), abs(high)), 1e-300)
    if high - low < bins * blur:
        low, high = low - bins * blur, high + bins * blur
    heights, edges = np.histogram(values, bins=bins, range=(low, high))
    return heights.astype(np.float64), edges


def histogram_chart(values: Floats, label: str) -> str:
    """A histogram of values."""
    heights, edges = histogram(values)
    chart = Chart((float(edges[0]), 0.0), (float(edges[-1]), 1.05 * float(heights.max())))
    chart.bars(edges, heights, BLUE)
    return chart.svg(label, "count")
