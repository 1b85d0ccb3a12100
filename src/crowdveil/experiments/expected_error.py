"""The error to expect of certified releases beside the observed one, and chosen caps beside others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.files import read_claims
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.releases.certified import Certified
from crowdveil.releases.expected_error import ExpectedError, chosen_cap
from crowdveil.releases.method import release
from crowdveil.releases.neighbours import Neighbours
from crowdveil.report import plots

UNIT = Range(0.0, 1.0)
OBJECTS = 60
CLAIMS = (3, 10, 30, 100, 300, 1000)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SPREADS = (0.003, 0.01, 0.03, 0.1, 0.25)
REAL: dict[str, Range] = {
    "population": Range(0.0, 8.0),  # log10
    "flight_20111208": Range(0.0, 1440.0),
    "n_emotion": Range(-100.0, 100.0),
    "crowd_count": Range(0.0, 100.0),
    "web_wsd": Range(0.0, 2.0),
    "web_relevance": Range(0.0, 4.0),
}
REAL_EPSILONS = (0.3, 1.0, 3.0, 10.0)
CROWDS: dict[str, Callable[[Floats], Floats]] = {  # numbers of claims of users, from uniform numbers
    "one claim each": lambda u: np.full(2 * u.size, 1.0),
    "ten each": lambda u: np.full(u.size // 2, 10.0),
    "heavy tail": lambda u: np.ceil((1 - u) ** -1.25),
    "a bot among threes": lambda u: np.append(np.full(u.size, 3.0), OBJECTS),
    "half of one, some of thirty": lambda u: np.append(np.ones(u.size), np.full(u.size // 30, 30.0)),
    "thirty users of sixty": lambda u: np.full(u.size // 50, float(OBJECTS)),
}
USERS = 1500
OTHER_CAPS = (1, 2, 3, 5, 8, 12, 20, 30, 60)


def errors(settings: Settings) -> Outcome:
    """Expected and observed errors of released medians: simulated objects, and real claims."""
    rows: list[dict[str, Any]] = []
    for spread in SPREADS:
        ratios = [_simulated(n, epsilon, spread, settings) for n in CLAIMS for epsilon in EPSILONS]
        rows.append({"claims": f"simulated, spread {spread:g} of the range", **_quality(ratios)})
        settings.engine.progress(f"expected error, spread {spread:g}", 1.0)
    folder = data_folder(settings.data)
    for name, limits in REAL.items():
        claims = _real(folder, name, limits)
        medians = np.array([np.median(claims.of(i)) for i in range(len(claims.objects))])
        spread = _typical_spread(claims, medians)
        for epsilon in REAL_EPSILONS:
            parameters = Certified(epsilon, limits, unit="claim")
            observed = np.mean(
                [_error(claims, parameters, medians, s, settings.engine) for s in settings.each_seed()]
            )
            expected = parameters.expected_error(max(spread, limits.length / 1e4)).over(claims.counts())
            usual = parameters.expectation(claims)
            assert usual is not None
            middle = float(np.abs(medians - (limits.low + limits.high) / 2).mean())
            rows.append(
                {
                    "claims": name,
                    "epsilon": epsilon,
                    "observed": float(observed),
                    "expected": expected.error,
                    "expected, usual spread": usual.error,
                    "refused": not expected.useful,
                    "middle of the range": middle,
                }
            )
        settings.engine.progress(f"expected error, {name}", 1.0)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Outcome(
        {"experiment": "expected-error", "seeds": settings.seeds, "rows": rows},
        columns,
        [[_cell(row.get(column)) for column in columns] for row in rows],
        _error_picture(rows),
        "Mean error of released medians: simulated to the centre, real to the median of all raw claims.",
    )


def caps(settings: Settings) -> Outcome:
    """Errors of releases of simulated crowds with the chosen cap, and with other caps."""
    rows: list[dict[str, Any]] = []
    for name, sizes in CROWDS.items():
        crowds = {seed: _crowd(sizes, rng=seeded(seed)) for seed in settings.each_seed()}
        rows += [_cap_row(name, crowds, UNIT, epsilon, settings.engine) for epsilon in (0.3, 1.0, 4.0, 16.0)]
        settings.engine.progress(f"caps, {name}", 1.0)
    return _cap_outcome("user-caps", rows, settings)


def real_caps(settings: Settings) -> Outcome:
    """Errors of releases of real claims with the chosen cap, and with other caps."""
    folder = data_folder(settings.data)
    rows: list[dict[str, Any]] = []
    for name in ("population", "crowd_count", "web_wsd"):
        claims = _real(folder, name, REAL[name])
        medians = np.array([np.median(claims.of(i)) for i in range(len(claims.objects))])
        crowds = dict.fromkeys(settings.each_seed(), (claims, medians))
        rows += [
            _cap_row(name, crowds, REAL[name], epsilon, settings.engine) for epsilon in (4.0, 16.0, 64.0)
        ]
        settings.engine.progress(f"caps, {name}", 1.0)
    return _cap_outcome("user-caps-real", rows, settings)


def _cap_row(
    name: str, crowds: dict[int, tuple[Claims, Floats]], limits: Range, epsilon: float, engine: Engine
) -> dict[str, Any]:
    """Mean errors with the cap of every rule, and with the best cap in hindsight, over crowds by seed."""
    by_rule: dict[str, list[float]] = {}
    by_cap: dict[int, list[float]] = {}
    for seed, (claims, centres) in crowds.items():
        numbers = claims.claims_per_user()
        most = int(numbers.max())
        rules = {
            "cap": chosen_cap(claims, epsilon),
            "1": 1,
            "5": min(5, most),
            "median": max(1, int(np.median(numbers))),
            "most": most,
        }
        found = {
            cap: _error(claims, Certified(epsilon, limits, unit="user", cap=cap), centres, seed, engine)
            for cap in {*rules.values(), *(cap for cap in OTHER_CAPS if cap < most)}
        }
        for cap, error in found.items():
            by_cap.setdefault(cap, []).append(error)
        for rule, cap in rules.items():
            by_rule.setdefault(rule, []).append(found[cap])
        by_rule.setdefault("caps", []).append(rules["cap"])
    best = min(float(np.mean(errors)) for errors in by_cap.values())
    means = {rule: float(np.mean(errors)) for rule, errors in by_rule.items()}
    chosen = {"crowd": name, "epsilon": epsilon, "cap": means["caps"], "best": best, "chosen": means["cap"]}
    return chosen | {rule: means[rule] for rule in ("1", "5", "median", "most")}


def _cap_outcome(name: str, rows: list[dict[str, Any]], settings: Settings) -> Outcome:
    return Outcome(
        {"experiment": name, "seeds": settings.seeds, "rows": rows},
        list(rows[0]),
        [[_cell(value) for value in row.values()] for row in rows],
        _cap_picture(rows),
        "Mean error of released medians, in units of the values; best: the best cap in hindsight.",
    )


def _simulated(n: int, epsilon: float, spread: float, settings: Settings) -> float:
    """Expected over observed error for one point of the grid."""
    observed = []
    for seed in settings.each_seed():
        rng = seeded(seed)
        centres = rng.stream("centres", purpose="expected error").uniforms(OBJECTS)
        normals = rng.stream("claims", purpose="expected error").normals(OBJECTS * n).reshape(OBJECTS, n)
        values = np.clip(centres[:, None] + spread * normals, 0.0, 1.0).ravel()
        claims = Claims.from_columns(np.repeat(np.arange(OBJECTS), n), np.arange(OBJECTS * n), values)
        observed.append(
            _error(claims, Certified(epsilon, UNIT, unit="claim"), centres, seed, settings.engine)
        )
    expected = ExpectedError(epsilon, Neighbours("claim"), 1.0, spread).of(n)
    return float(expected) / float(np.mean(observed))


def _quality(ratios: list[float]) -> dict[str, Any]:
    off = np.exp(np.abs(np.log(ratios)))
    return {
        "points": len(ratios),
        "median factor": float(np.median(off)),
        "within 1.5": float(np.mean(off < 1.5)),
        "within 2": float(np.mean(off < 2)),
        "largest factor": float(off.max()),
    }


def _error(claims: Claims, parameters: Certified, centres: Floats, seed: int, engine: Engine) -> float:
    """The mean error of medians; an object that the cap leaves no claim has the middle of the range."""
    drawn = release(claims, parameters, rng=seeded(seed), engine=engine)
    medians = np.full(centres.size, 0.5 * (parameters.range.low + parameters.range.high))
    places = claims.objects.search_sorted(drawn.objects).to_numpy()
    medians[places] = np.median(drawn.values.reshape(len(drawn.objects), -1), axis=1)
    return float(np.abs(medians - centres).mean())


def _crowd(sizes: Callable[[Floats], Floats], *, rng: Randomness) -> tuple[Claims, Floats]:
    """Users with so many claims about random objects, of a spread of a tenth of the range."""
    uniforms = rng.stream("sizes", purpose="crowd").uniforms(USERS)
    numbers = np.minimum(sizes(uniforms), OBJECTS).astype(np.int64)
    order = rng.stream("objects", purpose="crowd").uniforms(numbers.size * OBJECTS)
    ranks = order.reshape(numbers.size, OBJECTS).argsort(axis=1)
    objects = np.concatenate([ranks[user, :number] for user, number in enumerate(numbers)])
    centres = rng.stream("centres", purpose="crowd").uniforms(OBJECTS)
    normals = rng.stream("claims", purpose="crowd").normals(objects.size)
    values = np.clip(centres[objects] + 0.1 * normals, 0.0, 1.0)
    claims = Claims.from_columns(objects, np.repeat(np.arange(numbers.size), numbers), values)
    return claims, centres[claims.objects.to_numpy()]


def _real(folder: Path, name: str, limits: Range) -> Claims:
    claims = read_claims(str(folder / f"{name}_claims.parquet"))
    if name == "population":
        logs = np.log10(np.maximum(claims.values, 1.0))
        claims = Claims(claims.objects, claims.users, claims.offsets, claims.user_codes, logs)
    return claims.clamped(limits.low, limits.high)[0]


def _typical_spread(claims: Claims, medians: Floats) -> float:
    """The deviation of a normal law with the claims' mean distance from their objects' medians."""
    return float(np.abs(claims.values - medians[claims.owners()]).mean() * np.sqrt(np.pi / 2))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _error_picture(rows: list[dict[str, Any]]) -> Any:
    picture, (axes,) = plots.figure(9, 4)
    real = [row for row in rows if row.get("epsilon") == 3.0]
    series = {
        key: [row[key] / row["middle of the range"] for row in real] for key in ("observed", "expected")
    }
    plots.draw_bars(axes, [row["claims"] for row in real], series, "error, relative to the middle's")
    axes.tick_params(axis="x", labelsize=7)
    picture.subplots_adjust(top=0.85)
    return picture


def _cap_picture(rows: list[dict[str, Any]]) -> Any:
    picture, (axes,) = plots.figure(9, 4)
    shown = [row for row in rows if row["epsilon"] == 4.0]
    series = {rule: [row[rule] for row in shown] for rule in ("best", "chosen", "median", "most")}
    plots.draw_bars(axes, [row["crowd"] for row in shown], series, "error")
    axes.tick_params(axis="x", labelsize=6)
    picture.subplots_adjust(top=0.85)
    return picture
