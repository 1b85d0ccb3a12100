"""Golden vectors for clients in other languages: everything about a report that is not left to chance.

`python tests/local/wire_vectors.py` writes `wire_vectors.json` beside this file. A change of that file is a
change of what devices send: then the version of `local.wire` has to change too.

Reports are drawn from a seed, so that nothing in here is private. `key` and `nonce` begin the ChaCha20 stream
of each device, whose first block is number 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import device_cases
import numpy as np

from crowdveil.answers import Domain
from crowdveil.local.device_input import public_objects
from crowdveil.local.grid import Grid
from crowdveil.local.predictions import object_profiles
from crowdveil.local.slot_response import SlotResponse
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.randomness.response import Response

FILE = Path(__file__).with_name("wire_vectors.json")
SEED = 20
VALUES = [
    -1e9,
    -2.5,
    -0.5,
    0.0,
    0.049,
    0.05,
    0.25,
    0.5,
    0.75,
    1.0,
    1.5,
    2.5,
    3.5,
    4.5,
    9.95,
    9.999,
    10.0,
    1e9,
]
RANGES = [(0.0, 10.0, None), (0.0, 10.0, 0.5), (0.0, 10.0, 3.0), (-1.0, 1.0, 0.1), (-7.5, -1.25, None)]


def grids() -> list[dict[str, Any]]:
    """Where values lie on a grid: clamped, rounded to the nearest place, halves to the even one."""
    return [
        {
            "range": [low, high],
            "resolution": resolution,
            "step": (grid := Grid.of(Range(low, high), resolution)).step,
            "steps": grid.steps,
            "places": [
                [value, int(place)]
                for value, place in zip(VALUES, grid.places(np.array(VALUES)), strict=True)
            ],
        }
        for low, high, resolution in RANGES
    ]


def scales() -> list[dict[str, Any]]:
    """Which answer of a scale a value is: clamped and rounded, halves to the even answer."""
    return [
        {
            "range": [domain.low, domain.high],
            "codes": [
                [value, int(code)] for value, code in zip(VALUES, domain.codes(np.array(VALUES)), strict=True)
            ],
        }
        for domain in (Domain(0, 4), Domain(-3, 3), Domain(1, 10))
    ]


def levels() -> list[dict[str, Any]]:
    """The lower one of the two levels around an answer, and the chance of the upper one as a fraction."""
    return [
        {
            "answers": answers,
            "levels": count,
            "rounded": [
                [code, *divmod(code * (count - 1), answers - 1), answers - 1] for code in range(answers)
            ],
        }
        for answers, count in ((10, 2), (10, 4), (5, 3), (5, 5))
    ]


def responses() -> list[dict[str, Any]]:
    """Weights of randomized response: that of the true symbol, and that of each other one, as text."""
    weights = []
    for symbols, epsilon in ((3, 1.0), (6, 1.0), (6, 0.1), (10_000, 4.0), (2**32 - 5, 8.0), (4, 60.0)):
        response = Response.of(symbols, epsilon)
        weights.append(
            {"symbols": symbols, "epsilon": epsilon, "keep": str(response.keep), "other": str(response.other)}
        )
    return weights


def noise() -> list[dict[str, Any]]:
    """Scales and variances of the noise, as whole numerators and denominators."""
    amounts = []
    for name, case in device_cases.CASES.items():
        mechanism, amount = case.build(), {}
        for attribute in ("scale", "answer_scale", "product_scale"):
            scale = getattr(getattr(mechanism, "laplace", mechanism), attribute, None)
            if scale is not None:
                amount[attribute] = [scale.numerator, scale.denominator]
        if hasattr(mechanism, "variance"):
            amount |= {f"variance after {steps}": list(mechanism.variance(steps)) for steps in (1, 4096)}
        if hasattr(mechanism, "responses"):
            amount |= {f"own weights {k}": _weights(mechanism.responses[k]) for k in (0, 64, 127)}
        if amount:
            amounts.append({"case": name, **amount})
    return amounts


def _weights(response: Response) -> list[str]:
    return [str(response.keep), str(response.other)]


def slot_lists() -> list[dict[str, Any]]:
    """What devices in some places are asked about: objects by their place in the list; none is no list."""
    lists = []
    for slots, listed, unnamed, objects, seed in ((1, 1, None, 5, 0), (2, 3, None, 20, 7), (1, 4, 3, 9, 1)):
        parameters = SlotResponse(1.0, Domain(0, 4), slots, listed, 2, unnamed, seed)
        dealt = []
        for place in (0, 1, 2, 3, 4, 5, 11, 100, 10**6, 10**9):
            own = parameters.lists(np.array([place]), objects).tolist()
            dealt.append([place, own[0] if own else None])
        given = {"slots": slots, "listed": listed, "unnamed": unnamed, "objects": objects, "seed": seed}
        lists.append(given | {"lists": dealt})
    return lists


def profiles() -> list[dict[str, Any]]:
    """Public profiles of objects for mf-sound, in steps."""
    return [
        {
            "seed": seed,
            "dimensions": dimensions,
            "profiles": object_profiles(names, dimensions, seed).tolist(),
        }
        for names in [public_objects(device_cases.OBJECTS)]
        for seed, dimensions in ((0, 1), (0, 2), (5, 3))
    ]


def reports() -> list[dict[str, Any]]:
    """What devices send that draw from a seed."""
    rng, drawn = seeded(SEED), []
    for name, case in device_cases.CASES.items():
        if case.mechanism == "mf":  # has no wire form
            continue
        mechanism = case.build()
        for place in (0, 2, 4):
            user = device_cases.USERS[place]
            key, nonces = rng.streams([user], purpose=mechanism.method)
            given = device_cases.said(place, nothing=case.about == "cells")
            drawn.append(
                {
                    "case": name,
                    "mechanism": case.mechanism,
                    "parameters": dict(case.parameters),
                    "said": given,
                    "place": place,
                    "key": key.tolist(),
                    "nonce": nonces[0].tolist(),
                    "wire": mechanism.report_one(
                        given, device_cases.OBJECTS, place=place, user=user, rng=rng
                    ),
                }
            )
    return drawn


def vectors() -> dict[str, Any]:
    """All of it."""
    return {
        "objects": {
            "given": device_cases.OBJECTS,
            "ascending": public_objects(device_cases.OBJECTS).to_list(),
        },
        "grids": grids(),
        "scales": scales(),
        "levels": levels(),
        "responses": responses(),
        "noise": noise(),
        "slot_lists": slot_lists(),
        "profiles": profiles(),
        "reports": reports(),
    }


def to_text(found: dict[str, Any]) -> str:
    """One line for each vector."""
    parts = []
    for name, entries in found.items():
        lines = entries if isinstance(entries, list) else [entries]
        body = ",\n".join("    " + json.dumps(line, allow_nan=False) for line in lines)
        parts.append(f'  "{name}": [\n{body}\n  ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(to_text(vectors()), encoding="utf-8")
