"""Truth discovery against sums by group in NumPy and pandas, and votes against crowd-kit's.

We know of no library on PyPI to compare truths of numbers with. crowd-kit has labels only. truthdiscovery
1.0.4 pins packages of early 2023, one of which (pycairo) wants to be compiled with Cairo's headers, and it
takes every distinct number for a claim of its own: it scores the numbers that were claimed and never averages
them. So the peers are the same methods written with NumPy and pandas. They do as many sweeps as ours and must
find the same truths.
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
    """Ten million numbers and a million labels, or two thousand each; real labels where they lie."""
    return [
        *(_numbers(method, 2_000 if quick else 10_000_000) for method in NUMBERS),
        _votes(2_000 if quick else 1_000_000),
        *(_real(name) for name in REAL if (_folder() / f"{name}_claims.parquet").is_file()),
    ]


def _make_numbers(_: Path, objects: int) -> Arrays:
    """Claims, and for the peers our prior, our truths and how many sweeps they took."""
    arrays = crowds.numbers(objects, PER_OBJECT)
    claims = as_claims(arrays)
    found = {"gtm": gtm.discover(claims), "crh": crh.discover(claims)}
    ours = {f"{name}_truths": one.estimates for name, one in found.items()}
    sweeps = {f"{name}_sweeps": np.array(one.sweeps) for name, one in found.items()}
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
    """Ours and crowd-kit's; only votes of the same method can be checked against each other."""

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
    """Where the real labels lie, if anywhere."""
    return Path(os.environ.get("CROWDVEIL_DATA") or "no such folder")


def _read_labels(name: str, table: pl.DataFrame) -> dict[str, np.ndarray]:
    """Labels as codes, and the right ones (-1: not known)."""
    labels = Labels.from_frame(table, object="object", user="user", value="value")
    claims = labels.claims
    truths = pl.read_parquet(_folder() / f"{name}_truths.parquet")
    known = dict(zip(truths["object"], truths["value"].cast(pl.Int64), strict=True))
    code = {label: place for place, label in enumerate(labels.choices.to_list())}
    return {
        "offsets": claims.offsets,
        "users": claims.user_codes,
        "values": claims.values,
        "user_count": np.array(len(claims.users)),
        "choices": np.array(len(labels.choices)),
        "right": np.array([code.get(known.get(one), -1) for one in claims.objects.to_list()]),
    }


def _with_majority(arrays: Arrays) -> Arrays:
    """The same with our majority's labels, for the peers."""
    labels = Labels(as_claims(arrays), pl.Series("label", np.arange(int(arrays["choices"]))))
    return {**arrays, "majority": one_coin.majority(labels).estimates.to_numpy()}


def _accuracy(inputs: Arrays, answers: Arrays) -> float:
    known = inputs["right"] >= 0
    return float(np.mean(answers["labels"][known] == inputs["right"][known]))


def bars(found: Found) -> list[Bar]:
    """What we promise for the default method, and how far the rest is."""
    return [
        *(bar for method in NUMBERS for bar in _number_bars(found, method)),
        *(
            bar
            for work in found.works
            if work.name not in NUMBERS.values()
            for bar in _vote_bars(found, work)
        ),
    ]


def _number_bars(found: Found, method: str) -> list[Bar]:
    work, default = NUMBERS[method], method == "gtm"
    several = cores() > 1  # two threads on one core tell nothing
    limit = found.ratio(work, TWO, READ) if several else None

    def against(peer: str, least: float | None = None) -> Bar:
        return Bar(f"{work}: against {peer}", found.ratio(work, peer, TWO), least=least, unit="x")

    def each(who: str) -> Bar:
        seconds = over(found.seconds(work, who), found.score(work, who, "sweeps"))
        return Bar(f"{work}: a sweep of {who}", None if seconds is None else 1e3 * seconds, unit="ms")

    return [
        Bar(work, found.seconds(work, TWO), most=1.5 if default else None, unit="s"),
        against(GROUPBY, 10.0 if default else None),
        Bar(f"{work}: against {READ}", limit, most=8.0 if default else None, unit="x"),
        against(MERGE),
        against(BINCOUNT),
        Bar(f"{work}: two threads against one", found.ratio(work, ONE, TWO) if several else None, unit="x"),
        Bar(f"{work}: sweeps", found.score(work, TWO, "sweeps")),
        *(each(who) for who in (TWO, ONE, READ, BINCOUNT, GROUPBY, MERGE)),
    ]


def _vote_bars(found: Found, work: Work) -> list[Bar]:
    name = work.name
    pairs = [(MAJORITY, THEIR_MAJORITY), (WEIGHTED, DAWID_SKENE), (ONE_COIN, DAWID_SKENE)]
    compared = [
        Bar(f"{name}: {fast} against {slow}", found.ratio(name, slow, fast), unit="x") for fast, slow in pairs
    ]
    right = [
        Bar(f"{name}: accuracy of {one.name}", found.score(name, one.name, "accuracy"))
        for one in work.contestants
    ]
    return [*compared, *right]


BENCHMARK = Benchmark(
    "truth",
    "Truth discovery against sums by group, and votes against crowd-kit's",
    works,
    bars,
    seconds_as_bars,
)
