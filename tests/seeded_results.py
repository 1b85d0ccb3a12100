"""A program that prints hashes of seeded results, to the last bit: `python seeded_results.py THREADS`.

Sizes are large enough for BLAS to take several threads, if anything went through it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

from crowdveil import (
    Certified,
    Claims,
    Laplace,
    LatentClassSynthesis,
    LocalEngine,
    Range,
    discover,
    perturb,
    release,
    seeded,
    synthesize,
)
from crowdveil.answers import Domain
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.reports import CellMechanism, report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.simulation.records import SimulatedRecords
from crowdveil.simulation.sparse import SimulatedAnswers
from crowdveil.synthesis import lopub
from crowdveil.truth import randomized
from crowdveil.truths import Truths

RANGE, DOMAIN = Range(0, 10), Domain(0, 9)


def digest(*arrays: Any) -> str:
    """A hash of all bytes."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def claims(objects: int, users: int) -> Claims:
    rng = np.random.default_rng(1)
    values = rng.uniform(1, 9, objects)[:, None] + rng.uniform(0.2, 2, users) * rng.normal(
        size=(objects, users)
    )
    things: Any = np.repeat(np.arange(objects), users)
    people: Any = np.tile(np.arange(users), objects)
    return Claims.from_columns(things, people, np.clip(values, 0, 10).ravel())


def released(engine: LocalEngine, objects: int, users: int, **parameters: Any) -> str:
    certified = Certified(**{"range": RANGE, "unit": "claim", **parameters})
    released = release(claims(objects, users), certified, rng=seeded(3), engine=engine)
    return digest(released.to_frame()["value"].to_numpy())


def truths(found: Truths) -> str:
    return digest(found.estimates, found.errors, found.weights)


def received(mechanism: CellMechanism) -> Any:
    answers = SimulatedAnswers(1500, 400, 0.6, "wide").answers(rng=seeded(1))
    return report(answers, mechanism, rng=seeded(2)).read()


def likelihoods() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.random((30_000, values), dtype=np.float32) for values in (16, 40)]


def results(threads: int) -> dict[str, str]:
    """Hashes by name."""
    engine, users = LocalEngine(threads), {"unit": "user", "cap": 5}
    noisy = perturb(claims(400, 40), Laplace(2.0, RANGE), rng=seeded(4))
    records = SimulatedRecords(3000, 6).records(rng=seeded(1))
    made = synthesize(records, LatentClassSynthesis(4.0), rng=seeded(2))
    return {
        "release, bayes": released(engine, 300, 20, epsilon=2),
        "release, bayes, many objects": released(engine, 3000, 10, epsilon=2),
        "release, bayes, users": released(engine, 200, 50, epsilon=8, delta=1e-6, **users),
        "release, bayes, pooled": released(engine, 300, 20, epsilon=1, pooled=True),
        "release, histogram": released(engine, 300, 20, epsilon=2, estimator="histogram"),
        "release, histogram, users": released(engine, 200, 50, epsilon=8, estimator="histogram", **users),
        "perturb, laplace": digest(noisy.claims.values),
        "discover, gtm": truths(discover(noisy.claims, "gtm", engine=engine)),
        "discover, noise-aware": truths(discover(noisy.claims, law=noisy.law, engine=engine)),
        "discover, randomized": truths(
            randomized.discover(received(CellResponse(3.0, DOMAIN)), engine=engine)
        ),
        "discover, slots": truths(received(SlotResponse(6.0, DOMAIN, 2)).truths()),
        "discover, factorization": truths(received(Factorization(4.0, DOMAIN, 8, ridge=1.0)).truths()),
        "synthesize, latent classes": digest(made.records.codes),
        "synthesize, lopub's pairs": digest(lopub.joint(*likelihoods())),
    }


if __name__ == "__main__":
    print(json.dumps(results(int(sys.argv[1]))))
