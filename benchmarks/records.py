"""Records: frequency oracles against pure-ldp and multi-freq-ldpy, synthesis against mbi and smartnoise.

The peers of the oracles use Python's or NumPy's Mersenne Twister, whose draws can be predicted from earlier
ones, and floating point; our draws are secure and exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work
from benchmarks.ours.records import ORACLES, as_records
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays
from crowdveil.evaluation import marginals
from crowdveil.experiments.records_data import adult
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.simulation.records import SimulatedRecords
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.simulated import collected

OURS = HERE / "ours" / "records.py"
NUMPY = ("numpy==2.4.6",)
PURE_LDP = (
    *("pure-ldp==1.2.0", "xxhash==3.8.2", "scikit-learn==1.9.1", "statsmodels==0.15.0", "scipy==1.17.1"),
    *NUMPY,
)
MULTI_FREQ = ("multi-freq-ldpy==0.2.5", "numba==0.68.1", "xxhash==3.8.2", *NUMPY)
JAX = ("jax==0.10.2", "jaxlib==0.10.2", "optax==0.2.8", "networkx==3.6.1", "scipy==1.17.1", *NUMPY)
MBI = ("mbi==2.0.0", *JAX)
SMARTNOISE = ("smartnoise-synth==1.0.8", "mbi==1.1.0", "torch==2.13.0", "pandas==2.3.3", *JAX)

CELLS, EPSILON = 64, 2.0  # of the frequency oracles
PEOPLE, COLUMNS, VALUES = 1_000_000, 9, 10
EPSILONS = (1.0, 4.0)  # of complete records
TABLES_EPSILON = 4.0
AIM_LIMITS = {"rounds": 18, "max_model_size": 1}  # 36 rounds took more than 900 s on a busy machine
STANDARD_ERRORS = 6.0

NAMES = {"krr": "kRR", "oue": "OUE", "olh": "OLH"}
SHARES = "{}: reports and shares of {} cells"
WHOLE = "{:,} {} records, epsilon {:g}"
TABLES = "records from tables of {:,} {} records"
TRUSTED = "Adult, epsilon {:g}: a server that is trusted"
MADE, REAL = "simulated", "Adult"
CROWDVEIL, ALONE = "crowdveil", "crowdveil, independent columns"
PURE, MULTI = "pure-ldp", "multi-freq-ldpy"
FIRST = ", first use"
MODELS = {"tree": "mbi, a tree of pairs", "mixture": "mbi, a mixture"}
SERVERS = {"mst": "smartnoise-synth MST", "aim": "smartnoise-synth AIM"}
OWN_ROWS = ", its own rows"

NOT_SECURE = "its draws are neither secure nor exact"
CUT = f"{NOT_SECURE}; shares below 0 are cut off and the others scaled, so they are not unbiased"
FIRST_USE = {
    "ours": "loads its loops, compiled earlier",
    "mbi": "compiles, as each new set of tables makes it",
}
GIVEN = {
    "tree": "of the same tables it got the single columns and the tree of pairs that depend most: all pairs "
    "would make one clique of the whole domain",
    "mixture": "got the same tables, all of them",
}
SERVER = "sees all records; (epsilon, 1e-9)-private"


def works(quick: bool) -> list[Work]:
    """Works of a million people, if quick of some thousands; if not quick also Adult, if it is at hand."""
    codes, rows, table_rows = (20_000, 5_000, 5_000) if quick else (PEOPLE, PEOPLE, 30_000)
    check = VALID if quick else KEPT  # with a few thousand people independent columns may be better
    listed = [
        *(_oracle(name, codes) for name in ORACLES),
        *(_whole(rows, epsilon, MADE, _simulated, check) for epsilon in EPSILONS),
        _tables(table_rows, MADE, _simulated, check),
    ]
    file = _folder() / "adult_train_complete30162.csv.gz"
    if not quick and file.is_file():
        real = adult(_folder())

        def repeated(count: int) -> Records:
            return Records(real.schema, np.resize(real.codes, (count, real.codes.shape[1])))

        listed += [
            *(_whole(rows, epsilon, REAL, repeated, check) for epsilon in EPSILONS),
            _tables(len(real), REAL, repeated, check),
            _trusted(len(real), TABLES_EPSILON, repeated),
        ]
    return listed


def _folder() -> Path:
    """The folder of real records, if there is one."""
    return Path(os.environ.get("CROWDVEIL_DATA") or "no such folder")


def _simulated(count: int) -> Records:
    """Nine columns of ten values, which depend on each other through latent classes."""
    return SimulatedRecords(count, COLUMNS, VALUES, dependence=0.5, classes=6).records(rng=seeded(1))


# --- frequency oracles -------------------------------------------------------------------------------------


def _oracle(name: str, codes: int) -> Work:
    options, check = {"oracle": name, "epsilon": EPSILON}, _shares_of(name)

    def make(_: Path, count: int) -> Arrays:
        chances = 1.0 / np.arange(1, CELLS + 1)
        uniforms = seeded(1).stream("codes", purpose="bench").uniforms(count)
        sampled = np.searchsorted(np.cumsum(chances / chances.sum())[:-1], uniforms, side="right")
        return {"codes": sampled.astype(np.int64), "cells": np.array(CELLS)}

    def peer(name: str, script: str, requirements: tuple[str, ...], remark: str) -> Contestant:
        path = HERE / "peers" / script
        return Contestant(name, path, "shares", options, requirements, check, 10, repeats=3, remark=remark)

    contestants = (
        Contestant(CROWDVEIL, OURS, "shares", options, check=check, remark="secure, exact draws"),
        peer(PURE, "pure_ldp_oracles.py", PURE_LDP, NOT_SECURE),
        peer(MULTI, "multi_freq_oracles.py", MULTI_FREQ, CUT),
    )
    return Work(
        *(SHARES.format(NAMES[name], CELLS), make, codes, "people", contestants),
        warm=1_000,
        part=_some_codes,
        baseline=CROWDVEIL,
    )


def _some_codes(inputs: Arrays, share: int) -> Arrays:
    return {**inputs, "codes": inputs["codes"][::share]}


def _shares_of(name: str) -> Check:
    oracle = ORACLES[name](EPSILON, CELLS)

    def complaint(inputs: Arrays, answers: Arrays) -> str | None:
        """Compare errors with the oracle's variance for these people."""
        n = inputs["codes"].size
        real = np.bincount(inputs["codes"], minlength=CELLS) / n
        worst = float(np.max(np.abs(answers["shares"] - real) / np.sqrt(oracle.variance(real, n))))
        return None if worst <= STANDARD_ERRORS else f"a share is off by {worst:.1f} standard errors"

    return Check(f"shares within {STANDARD_ERRORS:g} standard errors of the real ones", complaint)


# --- synthetic records -------------------------------------------------------------------------------------


def _whole(rows: int, epsilon: float, which: str, records_of: Callable[[int], Records], check: Check) -> Work:
    """Reports about all records, estimates from them, and as many synthetic records."""
    options = {"method": CROWDVEIL, "epsilon": epsilon}
    ours = Contestant(CROWDVEIL, OURS, "records", options, check=check, repeats=3)
    return Work(
        *(
            WHOLE.format(rows, which, epsilon),
            lambda _, count: _arrays(records_of(count)),
            rows,
            "records",
            (ours,),
        ),
        warm=2_000,
        scores={**DISTANCE, "independent": lambda inputs, _: float(inputs["independent"])},
    )


def _tables(rows: int, which: str, records_of: Callable[[int], Records], check: Check) -> Work:
    """Synthetic records from the same noisy tables for all contestants."""

    def make(_: Path, count: int) -> Arrays:
        real = records_of(count)
        collection = collected(real, LatentClassSynthesis(TABLES_EPSILON, rounds=1), rng=seeded(1))
        tables, even = collection.tables, {table.question: table for table in collection.halves[0]}
        columns = np.full((len(tables), 2), -1)
        for place, table in enumerate(tables):
            columns[place, : len(table.question.columns)] = table.question.columns
        # The variance of a share: the mechanism's, and approximately that of sampling the people asked.
        variances = [table.variance() + 1.0 / (table.question.cells * table.asked) for table in tables]
        return {
            **_arrays(real),
            "rows": np.array(count),
            "epsilon": np.array(TABLES_EPSILON),
            "columns": columns,
            "support": np.concatenate([table.support for table in tables]),
            "shares": np.concatenate([table.frequencies().ravel() for table in tables]),
            "ends": np.cumsum([table.question.cells for table in tables]),
            "asked": np.array([table.asked for table in tables]),
            "even_support": np.concatenate([even[table.question].support for table in tables]),
            "even_asked": np.array([even[table.question].asked for table in tables]),
            "deviations": np.sqrt(variances),
        }

    def ours(used: bool) -> Contestant:
        name, remark = CROWDVEIL + ("" if used else FIRST), "" if used else FIRST_USE["ours"]
        return Contestant(name, OURS, "from_tables", {"used": used}, check=check, remark=remark)

    def theirs(model: str, used: bool) -> Contestant:
        name, path = MODELS[model] + ("" if used else FIRST), HERE / "peers" / "mbi_synthesis.py"
        remark = GIVEN[model] + ("" if used else f"; {FIRST_USE['mbi']}")
        options = {"model": model, "used": used}
        return Contestant(name, path, "from_tables", options, MBI, VALID, repeats=3, remark=remark)

    variants = [(model, used) for model in MODELS for used in (True, False)]
    return Work(
        TABLES.format(rows, which),
        make,
        rows,
        "records",
        (ours(True), ours(False), *(theirs(*variant) for variant in variants)),
        warm=0,
        baseline=CROWDVEIL,
        scores=DISTANCE,
    )


def _trusted(rows: int, epsilon: float, records_of: Callable[[int], Records]) -> Work:
    """Synthesis by a trusted server that gets all records, for comparison."""

    def ours(name: str, method: str) -> Contestant:
        return Contestant(name, OURS, "records", {"method": method, "epsilon": epsilon}, check=VALID)

    def theirs(method: str, apart: bool) -> Contestant:
        name, path = SERVERS[method] + ("" if apart else OWN_ROWS), HERE / "peers" / "smartnoise_synth.py"
        limits = AIM_LIMITS if method == "aim" else {}
        options = {"method": method, "epsilon": epsilon, "apart": apart, "limits": limits}
        remark = SERVER + ("; rows drawn one by one" if apart else "; rows as it makes them")
        remark += "; at most 18 rounds and a model of 1 MB" if limits else ""
        return Contestant(name, path, "records", options, SMARTNOISE, VALID, repeats=1, remark=remark)

    contestants = (
        ours(CROWDVEIL, CROWDVEIL),
        ours(ALONE, "independent"),
        *(theirs("mst", apart) for apart in (True, False)),
        theirs("aim", True),
    )
    return Work(
        *(TRUSTED.format(epsilon), lambda _, count: _arrays(records_of(count)), rows, "records", contestants),
        warm=0,
        scores=DISTANCE,
    )


def _arrays(records: Records) -> dict[str, np.ndarray]:
    return {
        "codes": records.codes,
        "sizes": np.array(records.schema.sizes),
        "independent": np.array(marginals.independent(records, 2)),
    }


def _distance(inputs: Arrays, answers: Arrays) -> float:
    """The mean total variation distance of two-way marginals."""
    synthetic = as_records({"codes": answers["codes"], "sizes": inputs["sizes"]})
    return marginals.distances(as_records(inputs), synthetic, 2).mean


def _invalid(inputs: Arrays, answers: Arrays) -> str | None:
    if answers["codes"].shape != inputs["codes"].shape:
        return f"{answers['codes'].shape} codes instead of {inputs['codes'].shape}"
    inside = (answers["codes"] >= 0) & (answers["codes"] < inputs["sizes"])
    return None if inside.all() else "a code lies outside its column"


def _lost(inputs: Arrays, answers: Arrays) -> str | None:
    distance, independent = _distance(inputs, answers), float(inputs["independent"])
    if distance < independent:
        return _invalid(inputs, answers)
    return f"tables of two columns are off by {distance:.3f}, independent columns by {independent:.3f}"


DISTANCE = {"distance": _distance}
VALID = Check("as many records, all of declared values", _invalid)
KEPT = Check("tables of two columns nearer than those of independent columns with the real shares", _lost)


# --- bars --------------------------------------------------------------------------------------------------


def bars(results: Found) -> list[Bar]:
    """Bars: ten times as fast as either library, a million records in ten seconds; and distances."""
    listed = []
    for work in results.works:
        if work.unit == "people":
            listed += _oracle_bars(results, work)
        elif work.baseline is None:
            listed += _distances(results, work)
            if "independent" in work.scores:
                listed += _whole_bars(results, work)
        else:
            listed += [_against(results, work, name, None) for name in _peers(work)] + _distances(
                results, work
            )
    return listed


def _peers(work: Work) -> list[str]:
    return [one.name for one in work.contestants if one.requirements]


def _against(results: Found, work: Work, peer: str, least: float | None) -> Bar:
    ours = CROWDVEIL + (FIRST if peer.endswith(FIRST) else "")
    return Bar(f"{work.name}: against {peer}", results.ratio(work.name, peer, ours), least=least, unit="x")


def _oracle_bars(results: Found, work: Work) -> list[Bar]:
    least = None if results.quick else 10.0
    cpu = {peer: results.ratio(work.name, peer, CROWDVEIL, "cpu_seconds") for peer in _peers(work)}
    return [
        *(_against(results, work, peer, least) for peer in _peers(work)),
        *(Bar(f"{work.name}: CPU against {peer}", ratio, unit="x") for peer, ratio in cpu.items()),
    ]


def _whole_bars(results: Found, work: Work) -> list[Bar]:
    seconds, most = results.seconds(work.name, CROWDVEIL), None if results.quick else 10.0
    independent = results.score(work.name, CROWDVEIL, "independent")
    return [
        Bar(work.name, seconds, most=most, unit="s"),
        Bar(f"{work.name}: distance of independent columns", independent),
    ]


def _distances(results: Found, work: Work) -> list[Bar]:
    return [
        Bar(f"{work.name}: distance of {one.name}", results.score(work.name, one.name, "distance"))
        for one in work.contestants
    ]


BENCHMARK = Benchmark(
    "records",
    "Records: frequency oracles, and synthetic records from what they tell",
    works,
    bars,
    seconds_as_bars,
)
