"""The figure of `plan sensing`: the noise ratios that privacy requires and those that utility allows."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.planning.sensing_theory import TradeOff
from crowdveil.report import plots
from crowdveil.report.drawing import BLUE, GREEN, ORANGE, PURPLE, RED
from crowdveil.report.plots import Axes, Figure

WEAK_DELTA = 0.1  # at which even a variance without a floor has a guarantee
POINTS = 200  # of a curve


def trade_off_picture(campaign: TradeOff, *, epsilon: float, delta: float) -> Figure:
    """Noise ratios over epsilon, at `delta` and at a weak delta: the paper's region and the valid ones."""
    deltas = [delta, WEAK_DELTA] if delta else [WEAK_DELTA]
    figure, axes = plots.figure(4.6 * len(deltas), 4.8, columns=len(deltas))
    figure.set_layout_engine("constrained")
    epsilons = np.geomspace(min(0.1, 0.3 * epsilon), max(20.0, 3.0 * epsilon), POINTS)
    with plots.styled():
        for place, at in zip(axes, deltas, strict=True):
            _draw(place, campaign, epsilons, at)
            place.axvline(epsilon, color="grey", linewidth=0.8, linestyle=":")
        figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=2, loc="outside lower center")
    return figure


def _draw(axes: Axes, campaign: TradeOff, epsilons: Floats, delta: float) -> None:
    """Draw the lower bounds by privacy, the upper bounds by utility, and the regions between them."""
    curves = [campaign.privacy(at, delta) for at in epsilons.tolist()]
    lower = {name: np.array([curve[name] for curve in curves]) for name in curves[0]}
    upper = campaign.utility()
    user = f"a user of {campaign.claims:,} claims" if campaign.claims > 1 else "a user"
    for name, colour, label, style in (
        ("claim", BLUE, "privacy of a claim: above", "-"),
        ("user", PURPLE, f"privacy of {user}: above", "-"),
        ("paper", RED, "the paper's privacy of a user", "--"),
        ("laplace_claim", ORANGE, "fresh variances (Laplace), a claim, delta 0", ":"),
    ):
        axes.plot(epsilons, lower[name], color=colour, label=label, linestyle=style, linewidth=1.8)
    for name, colour, label, style in (
        ("paper", RED, "the paper's utility (refuted)", "-."),
        ("mean", GREEN, "utility of the plain mean: below", "-"),
    ):
        if upper[name] > 0:
            axes.axhline(upper[name], color=colour, label=label, linestyle=style, linewidth=1.2)
    for low, high, colour in (
        (lower["paper"], upper["paper"], RED),
        (lower["claim"], upper["mean"], GREEN),
        (lower["laplace_claim"], upper["mean"], ORANGE),
    ):
        axes.fill_between(epsilons, low, high, where=low <= high, color=colour, alpha=0.12, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("noise ratio c: variance of noise / of errors")
    axes.set_title(f"delta = {delta:g}, alpha = {campaign.alpha:g}, beta = {campaign.beta:g}", fontsize=9)
