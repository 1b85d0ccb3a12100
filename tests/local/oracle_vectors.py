"""Golden vectors of frequency oracles for clients in other languages; run this file to write them anew.

Each report comes with the 32-bit words that its device drew, so a client reproduces it without ChaCha20.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import Oracle
from crowdveil.local.oue import OUE
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import Randomness, chacha, seeded
from crowdveil.synthesis.questions import Question

FILE = Path(__file__).with_name("oracle_vectors.json")
WORDS = 160
ORACLES: list[Oracle] = [
    *(KRR(1.0, 9), KRR(4.0, 100)),
    *(OUE(1.0, 9), OUE(0.5, 40), OUE(2.0, 64)),
    *(OLH(1.0, 100), OLH(3.0, 10**6)),
    Bloom(1.0, 20),
    Bloom(2.0, 20, bits=24, hashes=3, seed=7),
    SplitKRR.of(2.0, (3, 5)),
]
SIZES = (3, 4, 2, 5)


def words(rng: Randomness, purpose: str, count: int = WORDS) -> list[int]:
    """The first words of the stream that one device draws from."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    key, nonces = rng.streams(range(1), purpose=purpose)
    chacha.start(state, key, nonces[0])
    return [int(chacha.next32(state)) for _ in range(count)]


def streams(oracle: Oracle, seed: int) -> list[list[int]]:
    if isinstance(oracle, SplitKRR):
        columns = range(len(oracle.sizes))
        return [words(seeded(seed).part(f"column {column}"), "krr") for column in columns]
    return [words(seeded(seed), oracle.name)]


def report(oracle: Oracle, seed: int) -> dict[str, Any]:
    code = seed * 7919 % oracle.cells
    return {
        "oracle": oracle.to_dict(),
        "weights": oracle.weights(),
        "code": code,
        "words": streams(oracle, seed),
        "report": oracle.to_wire(oracle.report_one(code, rng=seeded(seed))),
    }


def hashes() -> list[dict[str, int]]:
    seeds, oracle = (0, 1, 123456789, 2**31, 2**32 - 1), OLH(3.0, 10**6)
    return [
        {
            "seed": seed,
            "code": code,
            "values": oracle.values,
            "value": int(oracle.hashed(np.array([seed]), code)[0]),
        }
        for seed in seeds
        for code in (0, 1, 42, 999_999)
    ]


def joint_codes() -> list[dict[str, Any]]:
    found = []
    for columns in ((1,), (0, 3), (1, 2, 3)):
        sizes = tuple(SIZES[column] for column in columns)
        question = Question(columns, sizes, KRR(1.0, int(np.prod(sizes))))
        for record in ((0, 0, 0, 0), (2, 3, 1, 4), (1, 2, 0, 3)):
            found.append(
                {"question": question.to_dict(), "record": list(record), "code": question.code(record)}
            )
    return found


def vectors() -> dict[str, Any]:
    return {
        "reports": [report(oracle, seed) for oracle in ORACLES for seed in (1, 2, 3)],
        "hashes": hashes(),
        "joint_codes": joint_codes(),
    }


if __name__ == "__main__":
    FILE.write_text(
        json.dumps(vectors(), indent=None, separators=(",", ":")).replace('{"oracle"', '\n{"oracle"') + "\n"
    )
