"""Figures of the measurements, in the style of the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.harness import Found, Measured, Work
from crowdveil.report.plots import styled

Points = Sequence[tuple[float, float]]
OURS, PEERS = "#d9584f", "#56b4e9"
CURVES = (OURS, "#3d8fd1", "#1fa67a", "#e08a1e")


@styled()
def seconds_as_bars(results: Found) -> Figure:
    """One panel for each work and one bar for each contestant: median seconds on a log scale, with the range.

    Our bars are red. The label of a bar gives its median and its ratio to the baseline.
    """
    panels = [(work, _shown(results, work)) for work in results.works]
    panels = [(work, shown) for work, shown in panels if shown]
    heights = [0.55 + 0.24 * len(shown) for _, shown in panels] or [1.0]
    figure = Figure(figsize=(7.2, sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    for axes, (work, shown) in zip(grid.flat, panels, strict=False):
        _draw_bars(axes, results, work, shown)
    return figure


def _shown(results: Found, work: Work) -> list[Measured]:
    return [one for one in results.of(work) if one.median_of("seconds") is not None]


def _draw_bars(axes: Axes, results: Found, work: Work, shown: list[Measured]) -> None:
    axes.set_xscale("log")
    for place, one in enumerate(reversed(shown)):
        times = [second * one.scale for second in one.seconds]
        middle = one.median_of("seconds") or 0.0
        axes.barh(place, middle, height=0.7, color=PEERS if one.contestant.requirements else OURS)
        axes.plot([min(times), max(times)], [place, place], color="#808080", linewidth=1.2)
        ratio = results.ratio(work.name, one.contestant.name, work.baseline) if work.baseline else None
        label = f"{_plain(middle)} s" + ("" if ratio is None else f", {_plain(ratio)}x")
        axes.annotate(label, (max(times), place), (4, 0), textcoords="offset points", va="center", fontsize=7)
    middles = [one.median_of("seconds") or 0.0 for one in shown]
    low, high = 10.0 ** floor(log10(min(middles) / 1.5)), max(middles)
    axes.set_xlim(low, high * max(2.0, (high / low) ** 0.3))  # room for the text
    _plain_numbers(axes.xaxis)
    axes.set_yticks(range(len(shown)), [one.contestant.name for one in reversed(shown)], fontsize=8)
    axes.set_title(f"{work.name} ({work.count:,} {work.unit}), seconds", fontsize=9, loc="left")


def _plain(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


@styled()
def growth_curves(panels: Sequence[tuple[str, str, Mapping[str, Points]]]) -> Figure:
    """One panel for each (label of x, label of y, curves by name), with logarithmic axes."""
    figure = Figure(figsize=(3.4 * len(panels), 3.0), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, (counted, measured, curves) in zip(grid.flat, panels, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        for colour, (name, points) in zip(CURVES, curves.items(), strict=False):
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=colour, markersize=4, label=name)
        _plain_numbers(axes.yaxis)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(counted)
        axes.set_ylabel(measured)
        if any(curves.values()):
            axes.legend(fontsize=7)
    return figure


def _plain_numbers(axis: Axis) -> None:
    """Label ticks as 0.01, 0.1, 1 instead of powers of ten."""
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
