"""A ranked dot plot: a dot for each estimate on a line for its interval, along one axis for all.

Objects that are measured in different units do not share an axis: there is one panel for each unit and, among
objects without a unit, one for each public range. The plot is as wide as the page and its text keeps its
size, so places across are percents of the plot's width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

import numpy as np

from crowdveil.report.axes import Axis, padded
from crowdveil.report.drawing import BLUE, fluid, text, titled
from crowdveil.report.language import say
from crowdveil.report.numbers import count, interval, number

MOST_ROWS = 60
BESIDE = 12  # longer names stand above their line, not beside it
ABOVE = 48  # letters of such a name
_ROW, _TALL, _AXIS, _TITLE, _NOTE, _LABELS = 22, 38, 40, 24, 22, 16  # heights
_TALL_PANEL = 15  # rows; taller panels have ticks at both ends
_RADIUS, _LETTERS = 4.5, 30  # of a dot; how many letters fit below the axis on a phone
_STROKE, _MIDDLE, _SLANTED = (
    f'stroke="{BLUE}" stroke-width="2.5"',
    'text-anchor="middle"',
    'font-style="italic"',
)
_FAINT = 'stroke="currentColor" stroke-opacity="0.14"'
_ARROWS = ("M5 -4L0 0L5 4", "M-5 -4L0 0L-5 4")


@dataclass(frozen=True)
class Estimate:
    """An estimate of one object; None or a number that is not finite is unknown."""

    name: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    range: tuple[float, float] | None = None  # public

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.value is not None and isfinite(self.value)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval if both are finite."""
        if self.lower is None or self.upper is None or not (isfinite(self.lower) and isfinite(self.upper)):
            return None
        return self.lower, self.upper

    def rank(self) -> float:
        """What rows are ordered by: the largest estimate comes first, an unknown one last."""
        return -self.value if self.value is not None and self.known else np.inf

    @property
    def kind(self) -> tuple[str, tuple[float, float] | None]:
        """What shares an axis: a unit or, without one, a range."""
        return (self.unit, None) if self.unit else ("", self.range)


@dataclass(frozen=True)
class Panel:
    """Estimates of one kind, the largest first and unknown ones last; `hidden` of them are not drawn."""

    rows: tuple[Estimate, ...]
    hidden: int
    axis: Axis | None  # None if no estimate is known
    heading: str


def dot_plot(estimates: Iterable[Estimate], label: str | None = None, most: int = MOST_ROWS) -> str:
    """Estimates with intervals, ranked, at most `most` of them; `label` says what the axes measure."""
    label = say("estimate") if label is None else label
    drawn = panels(estimates, label, most)
    longest = max((len(row.name) for panel in drawn for row in panel.rows), default=0)
    top, parts = 0.0, []
    for panel in drawn:
        marks, height = _panel(panel, longest, headed=len(drawn) > 1)
        parts.append(f'<svg y="{top:g}" width="100%" height="{height:g}" overflow="visible">{marks}</svg>')
        top += height
    rows = sum(len(panel.rows) for panel in drawn)
    title = say("{label}, ranked, with intervals; rows: {rows}", label=label, rows=count(rows))
    return fluid(max(top, _NOTE), title, "".join(parts) or text("0", 15, say("nothing to show")))


def panels(estimates: Iterable[Estimate], label: str, most: int = MOST_ROWS) -> list[Panel]:
    """What is drawn: a panel for each kind; the largest estimates of each if there are too many."""
    kinds: dict[object, list[Estimate]] = {}
    for estimate in estimates:
        kinds.setdefault(estimate.kind, []).append(estimate)
    shares = _fair([len(members) for members in kinds.values()], most)
    made = []
    for members, rows in zip(kinds.values(), shares, strict=True):
        if rows:
            shown = tuple(sorted(members, key=Estimate.rank)[:rows])
            heading = _heading(shown[0], label, alone=len(kinds) == 1)
            made.append(Panel(shown, len(members) - rows, _axis(shown), heading))
    return made


def _fair(sizes: Sequence[int], most: int) -> list[int]:
    """How many rows each panel gets: small panels all, the others the same number each."""
    given, left = [0] * len(sizes), most
    for rank, place in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        given[place] = min(sizes[place], ceil(left / (len(sizes) - rank)))
        left -= given[place]
    return given


def _axis(rows: Sequence[Estimate]) -> Axis | None:
    """The axis that shows all estimates, and intervals as far as they lie in the public range."""
    values = [row.value for row in rows if row.known]
    if not values:
        return None
    known = np.array(values, dtype=np.float64)
    ends = np.array([end for row in rows if row.known and row.ends for end in row.ends])
    if ends.size and rows[0].range is not None:
        lows, highs = zip(*(row.range for row in rows if row.range is not None), strict=True)
        ends = np.clip(ends, min(lows), max(highs))
    return Axis(*padded(np.append(known, ends)), 0.0, 100.0)


def _heading(row: Estimate, label: str, *, alone: bool) -> str:
    if row.unit:
        return f"{label} ({row.unit})"
    if row.range is not None and not alone:
        low, high = map(number, row.range)
        return say("{label} (range {low} to {high})", label=label, low=low, high=high)
    return label


def _panel(panel: Panel, longest: int, *, headed: bool) -> tuple[str, float]:
    """Names and marks of a panel, and its height; `longest` is the number of letters of the longest name."""
    beside = longest <= BESIDE
    step, start = (_ROW if beside else _TALL), (_TITLE if headed else 4)
    title, tall = "" if headed else panel.heading, len(panel.rows) > _TALL_PANEL
    start += _LABELS if tall else 0
    left = 4 + 2.3 * longest if beside else 2.0  # percents of the page
    bottom = start + step * len(panel.rows)
    names, marks = [], []
    for number_of_row, row in enumerate(panel.rows):
        y = start + step * (number_of_row + (0.5 if beside else 0.74))
        if beside:
            names.append(text(f"{left - 3:.1f}%", y + 4, row.name, 'text-anchor="end"'))
        else:
            names.append(text("0", y - 12, row.name, most=ABOVE))
        marks.append(
            f'<line x1="0%" x2="100%" y1="{y:.1f}" y2="{y:.1f}" {_FAINT}/>{_row(row, panel.axis, y)}'
        )
    if headed:
        names.append(text("0", 15, panel.heading, 'font-weight="600"'))
    if panel.axis is not None:
        marks.insert(0, _ground(panel.axis, start, bottom, title, tall=tall))
    height = bottom + _AXIS
    if panel.hidden:
        words = say(
            "The largest {shown}; {hidden} more are not drawn.",
            shown=count(len(panel.rows)),
            hidden=count(panel.hidden),
        )
        names.append(text("0", height + 10, words, _SLANTED))
        height += _NOTE
    plot = f'<svg x="{left:.1f}%" width="{97 - left:.1f}%" height="{height}" overflow="visible">'
    return "".join(names) + plot + "".join(marks) + "</svg>", height


def _row(row: Estimate, axis: Axis | None, y: float) -> str:
    """One object's line and dot, which tell their numbers in a title."""
    if axis is None or row.value is None or not row.known:
        return f'<g class="row">{text("0", y + 4, say("no estimate"), _SLANTED)}</g>'
    ends = row.ends
    value, low, high = interval(row.value, *(ends or (None, None)))
    told = f"{row.name}: {value} {row.unit}".strip() + (
        say(", {low} to {high}", low=low, high=high) if ends else say(", interval unknown")
    )
    fill = BLUE if ends else "none"
    dot = f'<circle cx="{axis.place(row.value):.2f}%" cy="{y:.1f}" r="{_RADIUS}" fill="{fill}" {_STROKE}/>'
    return f'<g class="row">{titled(told)}{_interval(ends, axis, y) if ends else ""}{dot}</g>'


def _interval(ends: tuple[float, float], axis: Axis, y: float) -> str:
    """A line between two ends; an arrow where it goes on beyond the axis."""
    shown = [min(max(end, axis.low), axis.high) for end in ends]
    places = [axis.place(end) for end in shown]
    line = (
        f'<line x1="{places[0]:.2f}%" x2="{places[1]:.2f}%" y1="{y:.1f}" y2="{y:.1f}" {_STROKE} '
        'stroke-opacity="0.6" stroke-linecap="round"/>'
    )
    arrows = [
        f'<svg x="{place:.2f}%" y="{y:.1f}" overflow="visible">'
        f'<path d="{arrow}" fill="none" {_STROKE}/></svg>'
        for place, end, cut, arrow in zip(places, ends, shown, _ARROWS, strict=True)
        if end != cut
    ]
    return line + "".join(arrows)


def _ground(axis: Axis, top: float, bottom: float, heading: str, *, tall: bool) -> str:
    """Lines, ticks and the heading of an axis; a tall panel has ticks above it too."""
    parts = [f'<line x1="0%" x2="100%" y1="{bottom}" y2="{bottom}" stroke="currentColor"/>']
    for label, x in axis.labels(5, _LETTERS):
        upright = f'x1="{x:.2f}%" x2="{x:.2f}%" y1="{top}" y2="{bottom}"'
        parts.append(f"<line {upright} {_FAINT}/>")
        anchor = 'text-anchor="end"' if x > 90 and len(label) > 5 else _MIDDLE
        parts.append(text(f"{x:.2f}%", bottom + 16, label, anchor))
        if tall:
            parts.append(text(f"{x:.2f}%", top - 5, label, anchor))
    if heading:
        parts.append(text("50%", bottom + 33, heading, _MIDDLE, most=40))
    return "".join(parts)
