"""Charts of records: a heat map of pairs of columns, and grouped bars of the values of one column.

Names of columns and values come from the public schema; they are escaped, and long names are shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.report.charts import BLUE, ORANGE

_CELL, _BAR, _LETTER = 34, 7, 6.2
_LONGEST = 26  # letters of a name
MOST_NAMED = 40  # columns; the cells of larger maps show no numbers
MOST_VALUES = 12  # of a column; the other values are shown as one


def shade_map(names: Sequence[str], shares: Floats, label: str) -> str:
    """A heat map of shares with one cell for each pair of columns; the largest share is darkest."""
    left = _room(names)
    side = left + _CELL * len(names) + 4
    top = float(shares.max()) or 1.0
    parts = [_begin(side, side, label)]
    for row, name in enumerate(names):
        middle = left + _CELL * (row + 0.5)
        parts.append(f'<text x="{left - 6}" y="{middle + 4:.1f}" text-anchor="end">{_cut(name)}</text>')
        turned = f'transform="translate({middle + 4:.1f} {left - 6}) rotate(-90)"'
        parts.append(f"<text {turned}>{_cut(name)}</text>")
        for place, share in enumerate(shares[row].tolist()):
            x, y = left + _CELL * place, left + _CELL * row
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="{BLUE}" '
                f'fill-opacity="{0.04 + 0.96 * share / top:.3f}"/>'
            )
            if len(names) <= MOST_NAMED:
                centre = f'x="{x + (_CELL - 1) / 2}" y="{y + _CELL / 2 + 3}" text-anchor="middle"'
                parts.append(f'<text {centre} font-size="10">{_short(share)}</text>')
    return "".join([*parts, "</g></svg>"])


def side_by_side(labels: Sequence[str], real: Floats, synthetic: Floats) -> str:
    """Two bars for each value: its share of the real and of the synthetic records.

    The most frequent values are shown in the order of the domain, and all others as one.
    """
    labels, real, synthetic = _most_frequent(labels, real, synthetic)
    left, width, step = _room(labels), 430, 2 * _BAR + 8
    scale = (width - left - 44) / (max(float(real.max()), float(synthetic.max())) or 1.0)
    parts = [_begin(width, step * len(labels) + 6, "shares of values, real and synthetic")]
    for row, label in enumerate(labels):
        y = 4 + step * row
        parts.append(f'<text x="{left - 6}" y="{y + _BAR + 4}" text-anchor="end">{_cut(label)}</text>')
        for below, share, colour in ((0, real[row], BLUE), (_BAR, synthetic[row], ORANGE)):
            length = float(share) * scale
            parts.append(
                f'<rect x="{left}" y="{y + below}" width="{length:.1f}" height="{_BAR - 1}" fill="{colour}"/>'
                f'<text x="{left + length + 4:.1f}" y="{y + below + _BAR - 1}" font-size="8">'
                f"{float(share):.3f}</text>"
            )
    return "".join([*parts, "</g></svg>"])


def _most_frequent(
    labels: Sequence[str], real: Floats, synthetic: Floats
) -> tuple[list[str], Floats, Floats]:
    if len(labels) <= MOST_VALUES:
        return list(labels), real, synthetic
    frequent = np.sort(np.argsort(-(real + synthetic), kind="stable")[: MOST_VALUES - 1])
    names = [labels[int(place)] for place in frequent]
    rest = f"{len(labels) - len(names)} others"
    return (
        [*names, rest],
        np.append(real[frequent], real.sum() - real[frequent].sum()),
        np.append(synthetic[frequent], synthetic.sum() - synthetic[frequent].sum()),
    )


def _begin(width: int, height: int, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img" aria-label="{escape(label)}">'
        '<g fill="currentColor">'
    )


def _cut(name: str) -> str:
    return escape(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}")


def _room(names: Sequence[str]) -> int:
    """The width of the longest name."""
    return ceil(_LETTER * min(_LONGEST, max(len(name) for name in names))) + 12


def _short(share: float) -> str:
    """A share in few characters, such as .05 or 1."""
    text = f"{share:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")
