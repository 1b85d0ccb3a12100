"""Figures of the experiments, as SVG in the colour of the surrounding text; the only user of matplotlib.

Figures contain no name from the data: names are part of the page's text, where they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import MissingExtra
from crowdveil.report.charts import COLOURS
from crowdveil.report.drawing import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, alone
from crowdveil.report.numbers import number

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator
except ModuleNotFoundError as missing:
    raise MissingExtra("pictures need matplotlib: pip install 'crowdveil[plots]'") from missing

__all__ = [
    "Axes",
    "Figure",
    "draw_bars",
    "draw_density",
    "draw_line",
    "draw_lines",
    "draw_marks",
    "figure",
    "save",
    "scale_by_logarithm",
    "styled",
    "svg",
]

_INK = "#0a0b0c"  # a placeholder for the page's text colour

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crowdveil",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
}


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures are drawn in the project's style."""
    with mpl.rc_context(_STYLE):
        yield


def svg(figure: Figure) -> str:
    """The figure as an SVG element for a page."""
    text = StringIO()
    with styled():
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    element = text.getvalue()
    return element[element.index("<svg") :].replace(_INK, "currentColor")


def save(figure: Figure, path: Path) -> None:
    """Save the figure as an SVG file that follows the reader's colour scheme."""
    path.write_text(alone(svg(figure)), encoding="utf-8")


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """An empty figure and its axes, in reading order."""
    single = rows * columns == 1  # fixed margins suffice and take a tenth of the time
    with styled():
        empty = Figure(figsize=(width, height), layout=None if single else "constrained")
        axes = empty.subplots(rows, columns, squeeze=False)
        if single:
            empty.subplots_adjust(left=0.14, right=0.98, bottom=0.2, top=0.96)
    return empty, list(axes.flat)


@styled()
def draw_density(
    axes: Axes, points: Floats, curves: Mapping[str, Floats], claims: Floats | None, outliers: Any
) -> None:
    """Draw density curves, with claims below them: circles, and crosses for outliers."""
    for name, heights in curves.items():
        axes.plot(points, heights, color=COLOURS[name], label=name, linewidth=1.6)
    if claims is not None:
        top = max(float(heights.max()) for heights in curves.values())
        level = np.full(claims.size, -0.06 * top)
        far = np.asarray(outliers, dtype=bool)
        axes.plot(claims[~far], level[~far], "o", color=SKY, markersize=4, fillstyle="none")
        axes.plot(claims[far], level[far], "x", color=ORANGE, markersize=5)
    axes.set_ylabel("density")
    axes.legend(fontsize=8)


@styled()
def draw_bars(axes: Axes, groups: Sequence[str], series: Mapping[str, Sequence[float]], label: str) -> None:
    """Draw grouped bars, one for each series."""
    colours = [RED, GREEN, SKY, BLUE, PURPLE, ORANGE]
    width = 0.8 / len(series)
    places = np.arange(len(groups))
    for index, (name, heights) in enumerate(series.items()):
        axes.bar(
            places + (index - (len(series) - 1) / 2) * width,
            heights,
            width,
            label=name,
            color=colours[index % 6],
        )
    axes.set_xticks(places, groups)
    axes.set_ylabel(label)
    axes.legend(fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


@styled()
def draw_marks(axes: Axes, places: Floats, heights: Floats, label: str) -> None:
    """Draw marks over bars, for values from another source."""
    axes.plot(places, heights, "D", color=_INK, markersize=4, label=label)
    axes.legend(fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


@styled()
def draw_line(axes: Axes, x: Sequence[float], y: Sequence[float], label: str) -> None:
    """Draw one line."""
    axes.plot(x, y, color=RED, linewidth=1.6)
    axes.set_ylabel(label)


@styled()
def draw_lines(
    axes: Axes, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], label: str, *, dashed: str = ""
) -> None:
    """Draw a line through the points (x, y) of each name; the line `dashed` has the text's colour."""
    colours = [RED, GREEN, SKY, BLUE, PURPLE, ORANGE]
    for index, (name, (x, y)) in enumerate(lines.items()):
        style: Any = {"color": colours[index % 6], "linestyle": "-" if index < 6 else ":"}
        if name == dashed:
            style = {"color": _INK, "linestyle": "--"}
        axes.plot(x, y, marker="o", markersize=3, linewidth=1.4, label=name, **style)
    axes.set_ylabel(label)
    axes.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def scale_by_logarithm(axes: Axes, places: Sequence[float]) -> None:
    """Set logarithmic axes with ticks at `places` on x and at 1, 2, 5, 10, ... on y."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(places, [number(place, 6) for place in places])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: number(value, 6))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
