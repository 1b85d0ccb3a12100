"""Charts that compare records: a heat map over pairs of columns, and two bars for each value of a column.

Names of columns and values come from the public schema; they are escaped, and long names are shortened.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.report.drawing import BLUE, ORANGE, WIDTH, room, scaled, text
from crowdveil.report.heat import cell
from crowdveil.report.numbers import share as percent

_CELL, _BAR = 34, 10
_LONGEST = 26  # letters of a name
MOST_NAMED = 40  # columns; the cells of larger maps show no numbers
MOST_VALUES = 12  # of a column; the other values are shown as one
_END, _SMALL = 'text-anchor="end"', 'font-size="9.5"'


def shade_map(names: Sequence[str], shares: Floats, label: str, top: float | None = None) -> str:
    """A heat map of numbers from 0 to 1 with one cell for each pair of columns.

    `top` has the last shade: the largest number, unless several maps share their scale.
    """
    left = _room(names)
    side = left + _CELL * len(names) + 4
    top = top or float(shares.max()) or 1.0
    parts = []
    for row, name in enumerate(names):
        middle = left + _CELL * (row + 0.5)
        parts.append(text(f"{left - 6}", middle + 4, name, _END, most=_LONGEST))
        turned = f'transform="translate({middle + 4:.1f} {left - 6}) rotate(-90)"'
        parts.append(text("0", 0, name, turned, most=_LONGEST))
        for place, share in enumerate(shares[row].tolist()):
            told, shown = (
                f"{name}, {names[place]}: {share:.4f}",
                _short(share) if len(names) <= MOST_NAMED else "",
            )
            x, y = left + _CELL * place, left + _CELL * row
            parts.append(cell(x, y, (_CELL, _CELL), share, top, told, shown))
    return scaled(side, side, label, "".join(parts), "natural" if side <= WIDTH else "scaled")


def side_by_side(
    labels: Sequence[str], real: Floats, synthetic: Floats, top: float | None = None, letters: int = 0
) -> str:
    """Two bars for each value: its share of the real and of the synthetic records.

    The most frequent values are shown in the order of the domain, and all others as one. Charts that share an
    axis are given `top`, the share at its end, and the `letters` of the longest name.
    """
    labels, real, synthetic = most_frequent(labels, real, synthetic)
    left, width, step = _room([*labels, letters * " "]), 430, 2 * _BAR + 8
    scale = (width - left - 50) / (top or max(float(real.max()), float(synthetic.max())) or 1.0)
    parts = []
    for row, label in enumerate(labels):
        y = 4 + step * row
        parts.append(text(f"{left - 6}", y + _BAR + 4, label, _END, most=_LONGEST))
        for below, share, colour in ((0, real[row], BLUE), (_BAR, synthetic[row], ORANGE)):
            length = float(share) * scale
            parts.append(
                f'<rect x="{left}" y="{y + below}" width="{length:.1f}" height="{_BAR - 1}" fill="{colour}"/>'
            )
            parts.append(
                text(f"{left + length + 4:.1f}", y + below + _BAR - 1, percent(float(share)), _SMALL)
            )
    return scaled(width, step * len(labels) + 6, "shares of values, real and synthetic", "".join(parts))


def most_frequent(labels: Sequence[str], real: Floats, synthetic: Floats) -> tuple[list[str], Floats, Floats]:
    """The most frequent values, and all others as one."""
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


def _room(names: Sequence[str]) -> int:
    """The width of the longest name."""
    return room(min(_LONGEST, max(len(name) for name in names))) + 12


def _short(share: float) -> str:
    """A share in few characters, such as .05 or 1."""
    shown = f"{share:.2f}"
    return "1" if shown == "1.00" else shown.removeprefix("0")
