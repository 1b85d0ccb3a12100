"""Charts of marginals: bars for single columns, heat maps for pairs, and both for many tables on one scale.

Names of columns and values come from a schema; they are escaped, and long names are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.drawing import BLUE, LETTER, WIDTH, room, scaled, text, titled
from crowdveil.report.heat import cell, legend
from crowdveil.report.language import say
from crowdveil.report.numbers import decimal, share

MOST_VALUES = 40  # of a column in a chart
MOST_PAIRS = 12  # heat maps on a page
_BAR, _CELL, _LONGEST = 22, 26, 16  # height of a bar and a cell; letters of a name
_FITS = 32  # the narrowest cell that holds a number
_END = 'text-anchor="end"'


@dataclass(frozen=True)
class Picture:
    """A chart with the words below it."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Marginals:
    """Bars of single columns on one axis and heat maps of pairs on one scale, whose legend is apart.

    `left_out` pairs are not drawn: there are too many, or their columns have too many values.
    """

    columns: tuple[Picture, ...]
    pairs: tuple[Picture, ...]
    legend: str
    left_out: int


def bars(
    column: str, labels: Sequence[str], shares: Floats, top: float | None = None, letters: int = 0
) -> str:
    """A bar for each value of a column.

    Charts that share an axis are given `top`, the share at its end, and the `letters` of the longest name.
    """
    shares = _checked(shares, len(labels))
    top = _top(shares) if top is None else top
    left = 8 + room(min(_LONGEST, max([letters, *map(len, labels)])))
    full = WIDTH - left - 54
    parts = []
    for row, (label, value) in enumerate(zip(labels, shares.tolist(), strict=True)):
        y, length = 2 + _BAR * row, full * min(1.0, max(0.0, value / top))
        parts.append(text(f"{left - 6}", y + 14, label, _END, most=_LONGEST))
        parts.append(
            f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{_BAR - 6}" fill="{BLUE}">'
            f"{titled(f'{label}: {share(value)}')}</rect>"
        )
        parts.append(text(f"{left + length + 5:.1f}", y + 14, share(value), 'font-size="11"'))
    height = 4 + _BAR * len(labels)
    parts.append(f'<path d="M{left} 0V{height}" stroke="currentColor"/>')
    return scaled(WIDTH, height, say("shares of the values of {column}", column=column), "".join(parts))


def heat_map(
    columns: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
    shares: Floats,
    top: float | None = None,
) -> str:
    """Shares of a pair of columns: the first downward, the second across.

    `top` is the share of the last shade, where several maps have one scale. Shades that are farther from the
    page's own are more: darker on a light page, lighter on a dark one.
    """
    downward, across = labels
    shares = _checked(shares, len(downward), len(across))
    top = _top(shares) if top is None else top
    left = 26 + room(min(_LONGEST, max(map(len, downward), default=0)))
    width = (WIDTH - left - 2) / max(1, len(across))
    level = all(len(label) * LETTER <= width - 3 for label in across)
    head = 40 if level else 26 + room(min(_LONGEST, max(map(len, across), default=0)))
    parts = [
        text(f"{(left + WIDTH) / 2:.0f}", 13, columns[1], 'text-anchor="middle" font-weight="600"', most=34)
    ]
    for place, label in enumerate(across):
        x = left + width * (place + 0.5)
        if level:
            parts.append(text(f"{x:.1f}", head - 8, label, 'text-anchor="middle"'))
        else:
            turned = f'transform="translate({x + 4:.1f} {head - 5}) rotate(-90)"'
            parts.append(text("0", 0, label, turned, most=_LONGEST))
    for row, label in enumerate(downward):
        y = head + _CELL * row
        parts.append(text(f"{left - 6}", y + _CELL / 2 + 4, label, _END, most=_LONGEST))
        for place, value in enumerate(shares[row].tolist()):
            told = f"{label}, {across[place]}: {share(value)}"
            shown = _short(value) if width >= _FITS else ""
            parts.append(cell(left + width * place, y, (width, _CELL), value, top, told, shown))
    height = head + _CELL * len(downward) + 2
    turned = 'transform="rotate(-90)" text-anchor="middle" font-weight="600"'
    parts.append(
        text(f"{-(head + height) / 2:.0f}", 12, columns[0], turned, most=max(6, int((height - head) / 7)))
    )
    title = say("shares of {first} and {second} together, in percent", first=columns[0], second=columns[1])
    return scaled(WIDTH, height, title, "".join(parts))


def marginals(tables: Sequence[Mapping[str, Any]], most_pairs: int = MOST_PAIRS) -> Marginals:
    """Charts of tables with `columns`, `labels` and `shares`, as results of records campaigns give them."""
    fitting = [table for table in tables if all(len(labels) <= MOST_VALUES for labels in table["labels"])]
    singles = [table for table in fitting if len(table["columns"]) == 1]
    pairs = [table for table in fitting if len(table["columns"]) == 2]
    drawn = pairs[:most_pairs]
    longest = max((_top(_floats(table)) for table in singles), default=1.0)
    letters = max((len(label) for table in singles for label in table["labels"][0]), default=0)
    darkest = max((_top(_floats(table)) for table in drawn), default=1.0)
    columns = []
    for table in singles:
        (name,), (labels,) = table["columns"], table["labels"]
        columns.append(Picture(name, bars(name, labels, _floats(table), longest, letters)))
    maps = []
    for table in drawn:
        first, second = table["columns"]
        down, across = table["labels"]
        picture = heat_map((first, second), (down, across), _floats(table), darkest)
        maps.append(Picture(say("{first} and {second}", first=first, second=second), picture))
    left_out = sum(len(table["columns"]) == 2 for table in tables) - len(drawn)
    return Marginals(tuple(columns), tuple(maps), legend(darkest), left_out)


def _floats(table: Mapping[str, Any]) -> Floats:
    return np.asarray(table["shares"], dtype=np.float64)


def _top(shares: Floats) -> float:
    """The largest share, or 1 where there is none above 0."""
    known = shares[np.isfinite(shares)]
    largest = float(known.max()) if known.size else 0.0
    return largest if largest > 0 else 1.0


def _checked(shares: Floats, *shape: int) -> Floats:
    table = np.asarray(shares, dtype=np.float64)
    if table.shape != shape:
        raise ParameterError("a chart of shares needs one share for each value")
    return np.where(np.isfinite(table), table, np.nan)


def _short(value: float) -> str:
    """A share in percent in few letters, such as 12, 3.4 or <0.1."""
    percent = 100 * value
    return "<0.1" if 0 < percent < 0.05 else decimal(percent, 1 if percent < 9.95 else 0)
