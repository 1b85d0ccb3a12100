"""What noise does to one value: the true value, and examples of what a device would send in its place."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.axes import Axis, padded
from crowdveil.report.drawing import BLUE, LETTER, ORANGE, WIDTH, scaled, text, tick_text
from crowdveil.report.numbers import count, number

MOST_DRAWN = 500
_LEFT, _RIGHT, _TOP, _STRIP, _BOTTOM = 14, 14, 40, 84, 56
_RADIUS = 3.0
_MIDDLE = 'text-anchor="middle"'


def noise_picture(
    value: float, reports: Floats, low: float, high: float, unit: str = "", caption: str = "example reports"
) -> str:
    """The true value as a line, example reports as dots, and the public range [low, high] shaded.

    The axis holds the range, the value and the middle 98 % of the reports; how many lie beyond is said. Dots
    that would overlap are stacked.
    """
    reports = np.asarray(reports, dtype=np.float64)
    if not (np.isfinite([value, low, high]).all() and low < high and np.isfinite(reports).all()):
        raise ParameterError("a picture of noise needs finite numbers and a range whose low end comes first")
    reports = reports[:MOST_DRAWN]
    middle = np.quantile(reports, [0.01, 0.99]) if reports.size else np.zeros(0)
    axis = Axis(*padded(np.concatenate([[value, low, high], middle])), _LEFT, WIDTH - _RIGHT)
    inside = reports[(reports >= axis.low) & (reports <= axis.high)]
    ground = _TOP + _STRIP
    left, right = axis.place(low), axis.place(high)
    parts = [
        f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" height="{_STRIP}" fill="currentColor" '
        'fill-opacity="0.09"/>',
        f'<path d="M{_LEFT} {ground}H{WIDTH - _RIGHT}" stroke="currentColor"/>',
    ]
    for label, x in axis.labels(6, int((WIDTH - _LEFT - _RIGHT) / LETTER)):
        parts.append(f'<path d="M{x:.1f} {ground}v4" stroke="currentColor"/>')
        parts.append(tick_text(x, ground + 17, label))
    parts += _stacked(axis.at(np.sort(inside)), ground)
    parts += _true(axis.place(value), f"true value {number(value)} {unit}".strip(), ground)
    beyond = reports.size - inside.size
    words = f"{count(int(reports.size))} {caption}" + (f", {count(beyond)} beyond the axis" if beyond else "")
    parts.append(
        text(f"{WIDTH / 2:g}", ground + 35, f"value ({unit})" if unit else "value", _MIDDLE, most=40)
    )
    parts.append(
        text(f"{WIDTH / 2:g}", ground + 51, f"{words}; the range is shaded", f'{_MIDDLE} font-size="11"')
    )
    title = f"{words} of the true value {number(value)} {unit}".strip()
    return scaled(WIDTH, ground + _BOTTOM, title, "".join(parts))


def _stacked(places: Floats, ground: float) -> list[str]:
    """Dots above the axis; those that fall into the same narrow stretch stand on each other at their mean."""
    stretch = np.floor(places / (2 * _RADIUS)).astype(np.int64)
    first = np.searchsorted(stretch, stretch, side="left")
    heights = np.arange(places.size) - first
    middles = np.bincount(first, places, places.size) / np.maximum(
        1, np.bincount(first, minlength=places.size)
    )
    tallest = int(heights.max(initial=0)) + 1
    step = min(2 * _RADIUS, (_STRIP - 2 * _RADIUS) / tallest)
    return [
        f'<circle cx="{x:.1f}" cy="{ground - _RADIUS - 1 - step * height:.1f}" r="{_RADIUS - 0.3:g}" '
        f'fill="{BLUE}" fill-opacity="0.75"/>'
        for x, height in zip(middles[first].tolist(), heights.tolist(), strict=True)
    ]


def _true(x: float, words: str, ground: float) -> list[str]:
    anchor = "start" if x < WIDTH / 3 else "end" if x > 2 * WIDTH / 3 else "middle"
    return [
        f'<path d="M{x:.1f} {_TOP - 8}V{ground}" stroke="{ORANGE}" stroke-width="2.5"/>',
        text(f"{x:.1f}", _TOP - 14, words, f'text-anchor="{anchor}" font-weight="700"'),
    ]
