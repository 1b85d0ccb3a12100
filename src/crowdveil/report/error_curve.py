"""The error to expect over epsilon, for several numbers of people, with the current choice marked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.axes import padded
from crowdveil.report.charts import Chart
from crowdveil.report.drawing import BLUE, room, text, titled
from crowdveil.report.language import say
from crowdveil.report.numbers import count, number

_APART = 14  # between the labels of two curves
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2")


def error_curve(
    epsilons: Floats,
    errors: Mapping[int, Floats],
    *,
    epsilon: float | None = None,
    people: int | None = None,
    label: str | None = None,
) -> str:
    """A curve of errors for each number of people; the curve of `people` stands out, with a dot at `epsilon`.

    Errors that are not finite and above 0 leave a gap. The axis of epsilon is logarithmic, and so is the axis
    of errors if they span more than a factor of 10. `label` tells what is measured, with its unit: it is in
    the chart's title, and as it is long the page writes it above the chart.
    """
    label = say("expected error") if label is None else label
    epsilons = np.asarray(epsilons, dtype=np.float64)
    curves = {number_of: np.asarray(curve, dtype=np.float64) for number_of, curve in sorted(errors.items())}
    if epsilons.size < 2 or not (epsilons > 0).all() or not (np.diff(epsilons) > 0).all():
        raise ParameterError("a curve needs two or more ascending epsilons above 0")
    if any(curve.shape != epsilons.shape for curve in curves.values()):
        raise ParameterError("a curve needs one error for each epsilon")
    known = np.concatenate([curve[_usable(curve)] for curve in curves.values()] or [np.zeros(0)])
    if not known.size:
        known = np.ones(1)
    wide = float(known.max()) > 10 * float(known.min())
    low, high = (known.min() / 1.3, known.max() * 1.3) if wide else (0.0, padded(known)[1])
    names = {number_of: _named(number_of) for number_of in curves}
    right = 8 + room(max(map(len, names.values()), default=0))
    chart = Chart(
        (float(epsilons[0]), float(low)), (float(epsilons[-1]), float(high)), (True, wide), right, 240
    )
    for place, (number_of, curve) in enumerate(curves.items()):
        usable, chosen = _usable(curve), number_of == people
        dashes = "" if chosen else f'stroke-dasharray="{_DASHES[place % len(_DASHES)]}"'
        look = f'stroke-width="{3 if chosen else 1.6}" {dashes} stroke-opacity="{1 if chosen else 0.75}"'
        for part in _runs(usable):
            chart.line(epsilons[part], curve[part], BLUE if chosen else "currentColor", look)
    _name_curves(chart, curves, names, people)
    if epsilon is not None:
        _mark(chart, epsilons, curves.get(people) if people is not None else None, epsilon)
    return chart.svg(say("epsilon (smaller is more private)"), "", say("{label} over epsilon", label=label))


def _named(people: int) -> str:
    return say("1 person") if people == 1 else say("{count} people", count=count(people))


def _usable(curve: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.isfinite(curve) & (curve > 0)


def _runs(usable: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[slice]:
    """The stretches of a curve without a gap."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], usable, [False]]).astype(np.int8)))
    return [slice(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _name_curves(
    chart: Chart, curves: Mapping[int, Floats], names: Mapping[int, str], people: int | None
) -> None:
    """Write each curve's name at its right end; names that would overlap are moved apart."""
    ends = {
        number_of: chart.up.place(float(curve[_usable(curve)][-1]))
        for number_of, curve in curves.items()
        if _usable(curve).any()
    }
    below = -np.inf
    for number_of, y in sorted(ends.items(), key=lambda end: end[1]):
        below = max(y, below + _APART)
        weight = 'font-weight="700"' if number_of == people else ""
        chart.marks.append(text(f"{chart.across.end + 5:.1f}", below + 4, names[number_of], weight))


def _mark(chart: Chart, epsilons: Floats, curve: Floats | None, epsilon: float) -> None:
    """Mark the current choice: a line at its epsilon and a dot on its curve, which tells the error."""
    if not chart.across.low <= epsilon <= chart.across.high:
        return
    x = chart.across.place(epsilon)
    upright = f"M{x:.1f} {chart.up.end}V{chart.up.start}"
    chart.marks.append(f'<path d="{upright}" stroke="currentColor" stroke-dasharray="3 3"/>')
    if curve is None or not _usable(curve).all():
        return
    error = float(np.exp(np.interp(np.log(epsilon), np.log(epsilons), np.log(curve))))
    y = chart.up.place(error)
    words = say("{error} at epsilon {epsilon}", error=number(error, 3), epsilon=number(epsilon, 3))
    dot = f'cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{BLUE}" stroke="currentColor"'
    chart.marks.append(f"<circle {dot}>{titled(words)}</circle>")
