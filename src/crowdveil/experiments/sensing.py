"""The simulated experiments of the sensing paper, figures 2 to 5, with errors to the truth added.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018.
Notation: lambda1, lambda2 = rates of users' error variances and of the variances of their noise; S users.

The paper's figures have no numbers; its text has one, "less than 0.1" at an average noise near 1. The paper
states neither b nor eta, which determine the width gamma_s/lambda1 for which its epsilon holds: see `B` and
`ETA`. It does not clamp claims. Here devices clamp them to a public range that exceeds the truths by ten mean
deviations on either side, which changes almost no claim. Epsilons are the paper's and not guarantees of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log1p, sqrt
from typing import Any

from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sensing_trials import (
    AWARE,
    METHODS,
    ORACLE,
    averaged,
    by_setting,
    lines_over,
    mechanism,
    noise_of,
    rate_of,
    trial,
)
from crowdveil.local import paper_bound
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.simulation.sensing import SimulatedSensing
from crowdveil.truth import gtm
from crowdveil.truth.registry import Discover
from crowdveil.truths import Truths

NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)  # average noises
HEADLINE_NOISE, HEADLINE = 1.0, 0.1  # the paper: near this average noise the change is below this
B, ETA = 2.0, 0.9  # with these the paper's width covers 78 % of differences, by its lemma
DELTAS = (0.1, 0.3, 0.5)
DELTA = 0.3
LAMBDAS = (0.5, 1.0, 2.0, 4.0, 8.0)
CROWDS = (20, 50, 150, 600, 2000)
TRADEOFF_HEADER = (
    *("average noise", "paper's epsilon", "delta that holds: a claim", "a user", "in the range"),
    *("change: crh", "gtm", "mean", "paper, crh", "error: crh", "gtm", "mean", AWARE, ORACLE),
)
STRONG_PRIOR = "gtm, strong prior"


def _gtm_of_the_literature(claims: Claims, *, engine: Engine) -> Truths:
    return gtm.discover(claims, gtm.GTM(alpha=10.0, beta=10.0), engine=engine)


def _trials(
    simulation: SimulatedSensing,
    noise: float,
    settings: Settings,
    tried: Mapping[str, Discover] = METHODS,
    **setting: float,
) -> list[dict[str, Any]]:
    """Rows of mean scores over the seeds, at the average noise `noise`; `setting` is added to each row."""
    scores = [trial(simulation, noise, seed, settings.engine, tried) for seed in settings.each_seed()]
    labels = {**setting, "noise": noise}
    settings.engine.progress(", ".join(f"{key} {value:g}" for key, value in labels.items()), 1.0)
    return averaged(scores, **labels)


# --- Figure 2 -----------------------------------------------------------------------------------------------


def tradeoff(settings: Settings) -> Outcome:
    """Figure 2: change of the aggregates against the paper's epsilon, and the deltas that hold there."""
    simulation = SimulatedSensing()
    rows, privacy = [], []
    for noise in NOISES:
        rows += _trials(simulation, noise, settings)
        privacy += [privacy_at(simulation, noise, delta) for delta in DELTAS]
    change, error = by_setting(rows, "noise", "mae_change"), by_setting(rows, "noise", "error")
    at_delta = {row["noise"]: row for row in privacy if row["delta"] == DELTA}
    return Outcome(
        {
            "experiment": "sensing-tradeoff",
            "seeds": settings.seeds,
            "paper": {"b": B, "eta": ETA, "noise": HEADLINE_NOISE, "mae_change_below": HEADLINE},
            "rows": rows,
            "privacy": privacy,
        },
        list(TRADEOFF_HEADER),
        [
            [f"{noise:g}"]
            + [f"{at_delta[noise]['epsilon']:.3g}"]
            + [f"{at_delta[noise][key]:.3f}" for key in ("claim_delta", "user_delta", "claim_delta_in_range")]
            + [f"{change[noise][name]:.3f}" for name in ("crh", "gtm", "mean")]
            + [_headline(noise)]
            + [f"{error[noise][name]:.3f}" for name in ("crh", "gtm", "mean", AWARE, ORACLE)]
            for noise in NOISES
        ],
        _tradeoff_picture(change, privacy),
        f"The paper's epsilon is what its theorem gives with delta {DELTA:g}, b {B:g} and eta {ETA:g} (it "
        f"states neither b nor eta). Deltas that hold at that epsilon: for one claim and for a user of "
        f"{simulation.objects} if claims stay in the paper's width, and for one claim in the public range.",
    )


def privacy_at(simulation: SimulatedSensing, noise: float, delta: float) -> dict[str, Any]:
    """The epsilon of the paper's theorem at this noise and delta, and the deltas that hold at that epsilon.

    These deltas are upper bounds, nearly exact for many claims. `user_delta_at_least` is a lower bound, from
    the mean of a user's noisy claims.
    """
    rate = rate_of(noise)
    gamma = B * sqrt(-2.0 * log1p(-ETA))
    epsilon = gamma * gamma * rate / (-2.0 * simulation.lambda1**2 * log1p(-delta))
    bound = paper_bound(simulation.lambda1, epsilon, delta, b=B, eta=ETA, claims=simulation.claims_of_a_user)
    device = mechanism(rate, simulation.range)
    return {
        "noise": noise,
        "delta": delta,
        "epsilon": epsilon,
        "claim_delta": bound.claim_at_most,
        "user_delta": bound.user_at_most,
        "user_delta_at_least": bound.user_at_least,
        "verdict": bound.verdict,
        "claim_delta_in_range": device.delta_at(epsilon),
        "user_delta_in_range": device.delta_at(epsilon, simulation.claims_of_a_user),
    }


def _headline(noise: float) -> str:
    return f"< {HEADLINE:g}" if noise == HEADLINE_NOISE else "-"


def _tradeoff_picture(change: Mapping[float, Mapping[str, float]], privacy: list[dict[str, Any]]) -> Figure:
    picture, axes = plots.figure(10.5, 3.4, 1, 3)
    at = {delta: [row for row in privacy if row["delta"] == delta] for delta in DELTAS}
    epsilons = {delta: [row["epsilon"] for row in rows] for delta, rows in at.items()}
    changes = {
        f"delta {delta:g}": (epsilons[delta], [change[row["noise"]]["crh"] for row in rows])
        for delta, rows in at.items()
    }
    noises = {f"delta {delta:g}": (epsilons[delta], [row["noise"] for row in at[delta]]) for delta in DELTAS}
    names = {"delta": "the paper's", "claim_delta": "holds, one claim", "user_delta": "holds, a user"}
    deltas = {name: (epsilons[DELTA], [row[key] for row in at[DELTA]]) for key, name in names.items()}
    plots.draw_lines(axes[0], changes, "MAE change, CRH")
    plots.draw_lines(axes[1], noises, "average noise")
    plots.draw_lines(axes[2], deltas, f"delta, where the paper has {DELTA:g}", dashed="the paper's")
    for panel in axes:
        panel.set_xlabel("the paper's epsilon")
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
    return picture


# --- Figures 3 to 5 -----------------------------------------------------------------------------------------


def quality(settings: Settings) -> Outcome:
    """Figure 3: change and error against lambda1, with the noise that the paper's theorem then asks for."""
    rows: list[dict[str, Any]] = []
    for lambda1 in LAMBDAS:
        bound = paper_bound(lambda1, 1.0, DELTA, b=B, eta=ETA, claims=SimulatedSensing.objects)
        noise = noise_of(bound.rate)
        rows += _trials(SimulatedSensing(lambda1=lambda1), noise, settings, lambda1=lambda1)
    noises = {row["lambda1"]: row["noise"] for row in rows}
    return Outcome(
        {
            "experiment": "sensing-lambda1",
            "seeds": settings.seeds,
            "epsilon": 1.0,
            "delta": DELTA,
            "rows": rows,
        },
        ["lambda1, measure", "average noise", *METHODS, AWARE, ORACLE],
        [[name, f"{noises[at]:.3g}", *cells] for at, name, cells in _lines(rows, "lambda1")],
        _picture(rows, "lambda1", "lambda1", noises),
        f"The noise is what the paper's theorem asks for at epsilon 1 and delta {DELTA:g} (b {B:g}, eta "
        f"{ETA:g}): it is inverse to lambda1, while users' own deviations are inverse to its root.",
    )


def users(settings: Settings) -> Outcome:
    """Figure 4: change and error against the number of users, at an average noise of 1."""
    rows: list[dict[str, Any]] = []
    for crowd in CROWDS:
        rows += _trials(SimulatedSensing(users=crowd), HEADLINE_NOISE, settings, users=crowd)
    return Outcome(
        {"experiment": "sensing-users", "seeds": settings.seeds, "noise": HEADLINE_NOISE, "rows": rows},
        ["users, measure", *METHODS, AWARE, ORACLE],
        [[name, *cells] for _, name, cells in _lines(rows, "users")],
        _picture(rows, "users", "users"),
        "Devices do not know of each other: the average noise of a claim is 1 whatever the number of users.",
    )


def methods(settings: Settings) -> Outcome:
    """Figure 5: change and error against the noise for GTM, the paper's second method, and for all others."""
    tried = METHODS | {STRONG_PRIOR: _gtm_of_the_literature}
    rows: list[dict[str, Any]] = []
    for noise in (0.0, *NOISES):
        rows += _trials(SimulatedSensing(), noise, settings, tried)
    lines = [line for line in _lines(rows, "noise") if line[1] != "0 change"]
    return Outcome(
        {
            "experiment": "sensing-methods",
            "seeds": settings.seeds,
            "paper": {"noise": HEADLINE_NOISE, "mae_change_below": HEADLINE},
            "rows": rows,
        },
        ["average noise, measure", "paper", *tried, AWARE, ORACLE],
        [[name, _headline(at) if "change" in name else "-", *cells] for at, name, cells in lines],
        _picture(rows, "noise", "average noise"),
        "The strong prior is the literature's, alpha 10 and beta 10. Oracle weights know the variance of "
        "each user's error and of each user's noise.",
    )


def _lines(rows: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, str, list[str]]]:
    """A line of changes and one of errors for each setting: the setting, a name, cells by method."""
    lines = []
    for measure, name in (("mae_change", "change"), ("error", "error")):
        for at, by_method in by_setting(rows, key, measure).items():
            lines.append((at, f"{at:g} {name}", [f"{value:.3f}" for value in by_method.values()]))
    return sorted(lines, key=lambda line: line[0])


def _picture(
    rows: Sequence[Mapping[str, Any]], key: str, label: str, noises: Mapping[float, float] | None = None
) -> Figure:
    """Changes and errors as lines over the settings, and the noise if it differs between them."""
    picture, axes = plots.figure(10.5 if noises else 8.5, 3.8, 1, 3 if noises else 2)
    shown = [row for row in rows if row[key]]  # 0 cannot be drawn on a logarithmic axis
    plots.draw_lines(axes[0], lines_over(shown, key, "mae_change"), "MAE change", dashed=ORACLE)
    plots.draw_lines(axes[1], lines_over(shown, key, "error"), "error to the truth", dashed=ORACLE)
    if noises:
        plots.draw_lines(axes[2], {"noise": (list(noises), list(noises.values()))}, "average noise")
    for panel in axes:
        panel.set_xlabel(label)
        plots.scale_by_logarithm(panel, sorted({row[key] for row in shown}))
    return picture
