"""Truth discovery against grouped sums in NumPy and pandas, and votes against crowd-kit's.

We know of no library on PyPI for truth discovery of numbers. crowd-kit handles labels only. truthdiscovery
1.0.4 pins packages of early 2023, one of which (pycairo) must be compiled with Cairo's headers, and it treats
every distinct number as a separate claim: it scores the claimed numbers and never averages them. So the peers
are the same methods in NumPy and pandas. They do as many sweeps as ours and must give the same truths.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import crowds
from benchmarks.checks import all_read, same_labels, same_truths
from benchmarks.claims import as_claims
from benchmarks.harness import HERE, Bar, Benchmark, Check, Contestant, Found, Work, over
from benchmarks.machine import cores
from benchmarks.pictures import seconds_as_bars
from benchmarks.stopwatch import Arrays
from crowdveil.labels import Labels
from crowdveil.truth import crh, gtm, one_coin

OURS = HERE / "ours" / "truths.py"
NUMPY = ("numpy==2.4.6",)
PANDAS = ("pandas==3.1.1", *NUMPY)
CROWD_KIT = ("crowd-kit==1.4.2", "scikit-learn==1.9.1", "scipy==1.17.1", *PANDAS)

PER_OBJECT = 10
CHOICES = 4
TWO, ONE, READ = "crowdveil, two threads", "crowdveil, one thread", "reading the claims, two threads"
BINCOUNT, GROUPBY, MERGE = "NumPy bincount", "pandas groupby", "pandas merge"
NUMBERS = {"gtm": "GTM, the default method", "crh": "CRH"}
MAJORITY, WEIGHTED, ONE_COIN = "crowdveil majority", "crowdveil weighted", "crowdveil one coin"
THEIR_MAJORITY, DAWID_SKENE = "crowd-kit MajorityVote", "crowd-kit DawidSkene"
THEIR_COIN = "crowd-kit OneCoinDawidSkene"
VOTES = "votes on {:,} labels"
REAL = {"web_wsd": "word senses", "web_relevance": "relevance of pages"}

MAKES_MORE = "does more: standard errors, too"
CHANCES = "does more: the chance that each label is right, too"
TIES = "where labels have as many votes it may pick another than ours"


def works(quick: bool) -> list[Work]:
    """Works of ten million numbers and a million labels, if quick of two thousand; and real labels."""
    return [
        *(_numbers(method, 2_000 if quick else 10_000_000) for method in NUMBERS),
        _votes(2_000 if quick else 1_000_000),
        *(_real(name) for name in REAL if (_folder() / f"{name}_claims.parquet").is_file()),
    ]


def _make_numbers(_: Path, objects: int) -> Arrays:
    """Claims, and for the peers our prior, our truths and our numbers of sweeps."""
    arrays = crowds.numbers(objects, PER_OBJECT)
    claims = as_claims(arrays)
    discovered = {"gtm": gtm.discover(claims), "crh": crh.discover(claims)}
    ours = {f"{name}_truths": truths.estimates for name, truths in discovered.items()}
    sweeps = {f"{name}_sweeps": np.array(truths.sweeps) for name, truths in discovered.items()}
    prior = gtm.GTM()
    settings = {"gtm_alpha": np.array(prior.alpha), "gtm_beta": np.array(prior.beta)}
    return {**arrays, **ours, **sweeps, **settings}


def _numbers(method: str, claims: int) -> Work:
    check = same_truths(method)

    def ours(name: str, threads: int) -> Contestant:
        options = {"method": method, "threads": threads}
        return Contestant(name, OURS, "truths", options, check=check, remark=MAKES_MORE)

    def peer(name: str, script: str, requirements: tuple[str, ...], remark: str = "") -> Contestant:
        path, options = HERE / "peers" / script, {"method": method}
        return Contestant(name, path, "truths", options, requirements, check, repeats=3, remark=remark)

    reading = {"method": method, "threads": 2}
    return Work(
        NUMBERS[method],
        _make_numbers,
        claims // PER_OBJECT,
        "objects",
        (
            ours(TWO, 2),
            ours(ONE, 1),
            Contestant(READ, OURS, "only_reading", reading, check=all_read(method), remark="once a sweep"),
            peer(BINCOUNT, "numpy_truths.py", NUMPY),
            peer(GROUPBY, "pandas_groupby_truths.py", PANDAS),
            peer(MERGE, "pandas_merge_truths.py", PANDAS, "as crowd-kit does it: tables are joined"),
        ),
        warm=100,
        baseline=TWO,
        scores={"sweeps": lambda _, answers: float(answers["sweeps"])},
    )


def _voters(check: Check | None, *, slow: bool) -> tuple[Contestant, ...]:
    """Our methods and crowd-kit's; only majority votes are checked, since other methods differ."""

    def ours(name: str, method: str) -> Contestant:
        same = check if method == "majority" else None
        return Contestant(name, OURS, "votes", {"method": method}, check=same, remark=CHANCES)

    def theirs(name: str, method: str, check: Check | None = None, remark: str = "") -> Contestant:
        path, options = HERE / "peers" / "crowdkit_votes.py", {"method": method}
        return Contestant(name, path, "vote", options, CROWD_KIT, check, repeats=3, remark=remark)

    return (
        ours(MAJORITY, "majority"),
        ours(WEIGHTED, "weighted"),
        ours(ONE_COIN, "one_coin"),
        theirs(THEIR_MAJORITY, "MajorityVote", check, TIES),
        theirs(DAWID_SKENE, "DawidSkene"),
        *((theirs(THEIR_COIN, "OneCoinDawidSkene"),) if slow else ()),
    )


def _votes(claims: int) -> Work:
    def make(_: Path, objects: int) -> Arrays:
        return _with_majority(crowds.labels(objects, PER_OBJECT, CHOICES))

    return Work(
        VOTES.format(claims),
        make,
        claims // PER_OBJECT,
        "objects",
        _voters(same_labels("majority"), slow=False),
        warm=100,
        baseline=ONE_COIN,
        scores={"accuracy": _accuracy},
    )


def _real(name: str) -> Work:
    table = pl.read_parquet(_folder() / f"{name}_claims.parquet")

    def make(_: Path, __: int) -> Arrays:
        return _with_majority(_read_labels(name, table))

    return Work(
        f"votes on {REAL[name]}",
        make,
        table["object"].n_unique(),
        "objects",
        _voters(same_labels("majority"), slow=True),
        warm=1,
        baseline=ONE_COIN,
        scores={"accuracy": _accuracy},
    )


def _folder() -> Path:
    """The folder of real labels, if there is one."""
    return Path(os.environ.get("CROWDVEIL_DATA") or "no such folder")


def _read_labels(name: str, table: pl.DataFrame) -> dict[str, np.ndarray]:
    """Labels as codes, and the right labels (-1 if unknown)."""
    labels = Labels.from_frame(table, object="object", user="user", value="value")
    claims = labels.claims
    truths = pl.read_parquet(_folder() / f"{name}_truths.parquet")
    truth_of = dict(zip(truths["object"], truths["value"].cast(pl.Int64), strict=True))
    code_of = {label: place for place, label in enumerate(labels.choices.to_list())}
    return {
        "offsets": claims.offsets,
        "users": claims.user_codes,
        "values": claims.values,
        "user_count": np.array(len(claims.users)),
        "choices": np.array(len(labels.choices)),
        "right": np.array([code_of.get(truth_of.get(one), -1) for one in claims.objects.to_list()]),
    }


def _with_majority(arrays: Arrays) -> Arrays:
    """The arrays with our majority labels added, for checks of the peers."""
    labels = Labels(as_claims(arrays), pl.Series("label", np.arange(int(arrays["choices"]))))
    return {**arrays, "majority": one_coin.majority(labels).estimates.to_numpy()}


def _accuracy(inputs: Arrays, answers: Arrays) -> float:
    judged = inputs["right"] >= 0
    return float(np.mean(answers["labels"][judged] == inputs["right"][judged]))


def bars(results: Found) -> list[Bar]:
    """Bars: requirements for the default method, and other ratios."""
    return [
        *(bar for method in NUMBERS for bar in _number_bars(results, method)),
        *(
            bar
            for work in results.works
            if work.name not in NUMBERS.values()
            for bar in _vote_bars(results, work)
        ),
    ]


def _number_bars(results: Found, method: str) -> list[Bar]:
    work, default = NUMBERS[method], method == "gtm"
    several = cores() > 1  # two threads need two cores
    limit = results.ratio(work, TWO, READ) if several else None

    def against(peer: str, least: float | None = None) -> Bar:
        return Bar(f"{work}: against {peer}", results.ratio(work, peer, TWO), least=least, unit="x")

    def sweep(contestant: str) -> Bar:
        seconds = over(results.seconds(work, contestant), results.score(work, contestant, "sweeps"))
        return Bar(f"{work}: a sweep of {contestant}", None if seconds is None else 1e3 * seconds, unit="ms")

    return [
        Bar(work, results.seconds(work, TWO), most=1.5 if default else None, unit="s"),
        against(GROUPBY, 10.0 if default else None),
        Bar(f"{work}: against {READ}", limit, most=8.0 if default else None, unit="x"),
        against(MERGE),
        against(BINCOUNT),
        Bar(f"{work}: two threads against one", results.ratio(work, ONE, TWO) if several else None, unit="x"),
        Bar(f"{work}: sweeps", results.score(work, TWO, "sweeps")),
        *(sweep(contestant) for contestant in (TWO, ONE, READ, BINCOUNT, GROUPBY, MERGE)),
    ]


def _vote_bars(results: Found, work: Work) -> list[Bar]:
    name = work.name
    pairs = [(MAJORITY, THEIR_MAJORITY), (WEIGHTED, DAWID_SKENE), (ONE_COIN, DAWID_SKENE)]
    ratios = [
        Bar(f"{name}: {fast} against {slow}", results.ratio(name, slow, fast), unit="x")
        for fast, slow in pairs
    ]
    accuracies = [
        Bar(f"{name}: accuracy of {contestant.name}", results.score(name, contestant.name, "accuracy"))
        for contestant in work.contestants
    ]
    return [*ratios, *accuracies]


BENCHMARK = Benchmark(
    "truth",
    "Truth discovery against sums by group, and votes against crowd-kit's",
    works,
    bars,
    seconds_as_bars,
)
