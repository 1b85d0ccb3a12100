"""The audits of devices, run against the JavaScript samplers, and a planted bug in each that is found.

A planted bug is a line of the modules broken in a copy of them. Pairs of inputs, events and bounds are those
of the audits of the Python devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_side import SOURCES, broken, draws, needs_node
from test_same_laws import record_call

from crowdveil.audit import cells, local, oracles, records, slots
from crowdveil.audit.case import Audit, Draws, Outputs, at_least, column, equal
from crowdveil.audit.run import run_audit
from crowdveil.local.gaussian_exponential import VariancePerUser
from crowdveil.local.split_krr import SplitKRR
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness

pytestmark = needs_node
SEED = 18
DRAWS, MANY = 40_000, 400_000
Edit = tuple[str, str, str]


@dataclass(frozen=True)
class Case:
    """An audit of the Python device, what JavaScript's is called with in both worlds, and a bug."""

    audit: Audit
    worlds: tuple[dict[str, Any], dict[str, Any]]
    bug: tuple[Edit, ...]
    outputs: Callable[[Outputs], Outputs] = lambda rows: rows
    draws: int = DRAWS

    def with_sources(self, sources: Path) -> Audit:
        """The same audit of the JavaScript device."""

        def drawn(world: int, count: int, rng: Randomness) -> Outputs:
            seed = rng.stream("javascript", purpose="audit").uniforms(4).tolist()
            return self.outputs(draws(self.worlds[world], count, *seed, sources=sources))

        given: Draws = drawn
        return replace(self.audit, draws=given)


def _claims(mechanism: str, *worlds: tuple[float, ...], **parameters: Any) -> Any:
    given = {"draw": "claims", "mechanism": mechanism, "parameters": parameters}
    return tuple({**given, "values": values} for values in worlds)


def _cells(mechanism: str, *worlds: Any, place: int = 0, **parameters: Any) -> Any:
    given = {"draw": "cells", "mechanism": mechanism, "parameters": parameters, "place": place}
    return tuple({**given, "values": values} for values in worlds)


def _records(oracle: Any, columns: int = 1) -> Any:
    return tuple(record_call(oracle, [world] * columns) for world in (0, 1))


ZEROS, ONES = (0.0,) * 30, (1.0,) * 30
FLOORED = VariancePerUser(1.0, Range(0.0, 1.0), floor=17.1)
FLOORED_AUDIT = Audit(
    name="gaussian-exponential-per-user with a floor",
    epsilon=FLOORED.epsilon_at(1e-6),
    delta=1e-6,
    unit="a claim, local",
    whose="ours",
    worlds="a claim at 0 or at 1",
    draws=local.sent(FLOORED, (0.0,), (1.0,)),
    events=at_least((0.0, 0.5, 1.0, 2.0, 4.0, 8.0), of=column(0)),
)
LAPLACE = replace(local.LAPLACE_AUDIT, events=(*local.LAPLACE_AUDIT.events, *equal(range(11), of=column(0))))
NOISE: dict[str, Any] = {"epsilon": 1.0, "range": [0, 10], "resolution": 1.0}
HALF_NOISE = ("laplace.js", "strength));\n", "times(strength, fraction(2n))));\n")
QUARTER = (
    "variance_per_user.js",
    "BigInt(steps) * this.step, this.parts]",
    "BigInt(steps) * this.step, 16n * this.parts]",
)
STEPS = 0.001


def _bytes(rows: Outputs) -> Outputs:
    return rows.astype(np.uint8)


def _whole(rows: Outputs) -> Outputs:
    return rows.astype(np.int64)


CASES = {
    "laplace: half the noise": Case(LAPLACE, _claims("laplace", (0.0,), (10.0,), **NOISE), (HALF_NOISE,)),
    "laplace: zero counted twice": Case(
        LAPLACE,
        _claims("laplace", (0.0,), (10.0,), **NOISE),
        (("discrete_laplace.js", "if (size !== 0) return -size;", "return -size + 0;"),),
    ),
    "laplace: values that are not clamped": Case(
        LAPLACE,
        _claims("laplace", (-20.0,), (30.0,), **NOISE),
        (
            ("grid.js", "Math.min(Math.max(value, this.low), this.high)", "value"),
            ("grid.js", "Math.min(Math.max(nearest, 0), this.steps)", "nearest"),
        ),
    ),
    "laplace: a biased uniform number": Case(
        LAPLACE,
        _claims("laplace", (0.0,), (10.0,), **NOISE),
        (
            (
                "random.js",
                "return leading === 32 ? 0 : 0xffffffff >>> leading;",
                "return leading === 32 ? 0 : 0x1fffffff >>> leading;",
            ),
        ),
    ),
    "gaussian-exponential: another rate": Case(
        local.FRESH_AUDIT,
        _claims("gaussian-exponential", (0.0,), (1.0,), range=[0, 1], rate=0.5),
        (("fresh_variance.js", "Math.sqrt(2 * rate)", "Math.sqrt(8 * rate)"),),
        lambda rows: STEPS * rows,
    ),
    "gaussian-exponential-per-user: a smaller variance, a claim": Case(
        local.CLAIM_AUDIT,
        _claims("gaussian-exponential-per-user", ZEROS, (1.0, *ZEROS[1:]), range=[0, 1], rate=0.5),
        (QUARTER,),
        lambda rows: STEPS * rows,
        4000,
    ),
    "gaussian-exponential-per-user: a smaller variance, a user": Case(
        local.USER_AUDIT,
        _claims("gaussian-exponential-per-user", ZEROS, ONES, range=[0, 1], rate=0.02),
        (QUARTER,),
        lambda rows: STEPS * rows,
        4000,
    ),
    "gaussian-exponential-per-user: no floor": Case(
        FLOORED_AUDIT,
        _claims("gaussian-exponential-per-user", (0.0,), (1.0,), range=[0, 1], rate=1.0, floor=17.1),
        (("variance_per_user.js", "return [(ALWAYS + this.floor)", "return [ALWAYS"),),
        lambda rows: STEPS * rows,
    ),
    "cell-response: NULL as it is": Case(
        cells.RESPONSE_AUDIT,
        _cells("cell-response", [None], [0], epsilon=1.0, range=[0, 4]),
        (
            (
                "cell_response.js",
                "return this.response.draw(symbol, words);",
                "return symbol === levels ? symbol : this.response.draw(symbol, words);",
            ),
        ),
    ),
    "three-symbols: kept too often": Case(
        cells.THREE_SYMBOLS_AUDIT,
        _cells("cell-response", [None], [9], epsilon=1.0, range=[0, 9], levels=2),
        (("response.js", "if (drawn < this.keep)", "if (3n * drawn < 4n * this.keep)"),),
    ),
    "slots: kept too often": Case(
        slots.SLOTS_AUDIT,
        _cells("slots", [None] * 6, [4] * 6, epsilon=1.0, range=[0, 4], slots=2, listed=2, levels=2),
        (
            (
                "slot_response.js",
                "[this.response.draw(joint, words)]",
                "[below(words, 9) ? this.response.draw(joint, words) : joint]",
            ),
        ),
    ),
    "slots, unnamed: as it is, now and then": Case(
        slots.UNNAMED_AUDIT,
        _cells("slots", [None] * 6, [4] * 6, place=1, epsilon=1.0, range=[0, 4], levels=2, unnamed=2),
        (
            (
                "slot_response.js",
                "if (lists === null)",
                "if (lists === null && below(words, 4) === 0) return [this.#unnamedSymbol(answers, words)];\n"
                "    if (lists === null)",
            ),
        ),
    ),
    "krr: kept too often": Case(
        oracles.KRR_AUDIT,
        _records(oracles.KRR_CELLS),
        (
            (
                "krr.js",
                "return this.response.draw(code, words);",
                "return words.next32() % 8 ? this.response.draw(code, words) : code;",
            ),
        ),
        lambda rows: rows[:, 0],
    ),
    "oue: no coin for the true cell": Case(
        oracles.OUE_AUDIT, _records(oracles.OUE_CELLS), (("oue.js", "coin(words) ? own : 0", "own"),), _bytes
    ),
    "olh: the hash as it is, now and then": Case(
        oracles.OLH_AUDIT,
        _records(oracles.OLH_CELLS),
        (
            (
                "olh.js",
                "return [seed, this.response.draw(",
                "if (words.next32() % 4 === 0) return [seed, valueOf(seed, keyOf(code), this.values)];\n"
                "    return [seed, this.response.draw(",
            ),
        ),
        _whole,
    ),
    "bloom: fewer flips": Case(
        oracles.BLOOM_AUDIT,
        _records(oracles.BLOOM_CELLS),
        (
            (
                "bloom.js",
                "const flips = this.flips.draw(8 * step, words)",
                "const flips = this.flips.draw(8 * step, words) & words.next32()",
            ),
        ),
        _bytes,
    ),
    "split-krr: one column as it is": Case(
        records.SAMPRIVSYN_AUDIT,
        _records(SplitKRR.of(1.0, (5, 5)), 2),
        (
            (
                "split_krr.js",
                "this.columns[at].payload(value, words)",
                "at ? this.columns[at].payload(value, words) : value",
            ),
        ),
        lambda rows: _whole(rows) @ np.array([5, 1]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_is_not_refuted_and_the_planted_bug_is(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    ours = case.with_sources(SOURCES)
    bug = case.with_sources(broken(tmp_path, *case.bug))
    assert run_audit(bug, draws=case.draws, seed=SEED, threads=1).verdict == "refuted"
    assert run_audit(ours, draws=case.draws, seed=SEED, threads=1).verdict == "not refuted"


@pytest.mark.slow_audit
@pytest.mark.parametrize("name", CASES)
def test_claims_are_not_refuted_by_many_draws(name: str) -> None:
    case = CASES[name]
    outcome = run_audit(case.with_sources(SOURCES), draws=min(MANY, case.audit.usual), seed=SEED, threads=2)
    assert outcome.verdict == "not refuted", outcome.to_dict()
