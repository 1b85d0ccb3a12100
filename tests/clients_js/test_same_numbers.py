"""Everything that is not left to chance is the same in Python and in JavaScript, to the last bit."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from node_side import ask, needs_node

from crowdveil.answers import Domain
from crowdveil.errors import CrowdveilError
from crowdveil.guarantee import rounded_up
from crowdveil.local.best_oracle import best_oracle
from crowdveil.local.bit_chance import BitChance
from crowdveil.local.description import Description
from crowdveil.local.device_input import public_objects
from crowdveil.local.gaussian_exponential import VariancePerUser
from crowdveil.local.grid import Grid
from crowdveil.local.olh import OLH
from crowdveil.local.slot_response import SlotResponse
from crowdveil.public_range import Range
from crowdveil.randomness.response import Response
from crowdveil.records import Records, Schema

pytestmark = needs_node
RNG = np.random.default_rng(18)
# Usual ones are 0.1 to 10: these go ten times beyond and farther, with decimals and with all digits.
EPSILONS = [
    *(0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.1, 2.0, 3.3, 4.0, 7.0, 10.0, 30.0, 41.9, 42.0, 43.0, 100.0),
    *(
        math.log(2),
        math.log(3),
        1 / 3,
        math.pi,
        math.e,
        1e-6,
        1e-9,
        math.nextafter(1, 2),
        math.nextafter(1, 0),
    ),
    *np.exp(RNG.uniform(math.log(1e-4), math.log(100), 150)).tolist(),
    *np.round(RNG.uniform(0.01, 20, 150), 2).tolist(),
]


def refused(answer: Any) -> bool:
    return isinstance(answer, dict) and "refused" in answer


# --- weights ------------------------------------------------------------------------------------------------


def test_weights_of_randomized_response() -> None:
    symbols = [2, 3, 6, 7, 100, 10_000, 999_983, 2**32 - 5, 2**32, 2**40 - 1]
    cases = [(symbols[at % len(symbols)], epsilon) for at, epsilon in enumerate(EPSILONS * 3)]
    answers = ask([{"do": "response", "symbols": k, "epsilon": epsilon} for k, epsilon in cases])
    for (k, epsilon), (keep, other, realised) in zip(cases, answers, strict=True):
        law = Response.of(k, epsilon)
        assert (keep, other, realised) == (str(law.keep), str(law.other), law.epsilon), (k, epsilon)


def test_weights_of_bits() -> None:
    cases = [(epsilon, differing) for epsilon in EPSILONS for differing in (1, 4, 6)]
    answers = ask([{"do": "bits", "epsilon": epsilon, "differing": bits} for epsilon, bits in cases])
    for (epsilon, bits), (weight, realised) in zip(cases, answers, strict=True):
        chance = BitChance.of(epsilon, bits)
        assert (weight, realised) == (str(chance.weight), chance.epsilon(bits)), (epsilon, bits)


def test_the_number_of_hash_values() -> None:
    """Python rounds a float, JavaScript sixty digits: over a large grid the whole numbers are the same."""
    epsilons = [
        *EPSILONS,
        *np.linspace(0.001, 12, 20_000).tolist(),
        *np.log(np.arange(2, 3000) + 0.5).tolist(),
    ]
    near_halves = {round(float(e), 12) for e in np.log(np.arange(2, 3000) + 0.5)}
    (values,) = ask([{"do": "values", "epsilons": epsilons}])
    for epsilon, value in zip(epsilons, values, strict=True):
        g = min(max(2, round(math.exp(min(epsilon, 42))) + 1), 2**16)
        if round(epsilon, 12) in near_halves:  # where e^epsilon is a half to all digits either is right
            assert abs(g - value) <= 1
        else:
            assert g == value, epsilon


def test_the_best_oracle_is_the_same() -> None:
    cells = [2, 3, 5, 9, 20, 33, 64, 65, 100, 1000, 10**6]
    cases = [(epsilon, cells[at % len(cells)]) for at, epsilon in enumerate(EPSILONS * 2) if epsilon > 1e-5]
    for (epsilon, k), answer in zip(
        cases, ask([{"do": "oracle", "epsilon": e, "cells": k} for e, k in cases]), strict=True
    ):
        oracle = best_oracle(epsilon, k)
        assert answer == {
            "name": oracle.name,
            "epsilon": oracle.epsilon,
            "weights": oracle.weights(),
            "chances": [oracle.keep, oracle.other],
        }, (epsilon, k)


def test_the_hash() -> None:
    seeds, oracle = RNG.integers(0, 2**32, 5000).tolist(), OLH(3.0, 10**6)
    for code in (0, 1, 77, 999_999):
        (answer,) = ask([{"do": "hashes", "seeds": seeds, "code": code, "values": oracle.values}])
        assert answer == oracle.hashed(np.array(seeds), code).tolist()


# --- noise --------------------------------------------------------------------------------------------------

RANGES = [
    (0, 10),
    (-5, 15),
    (0, 1),
    (-1e-3, 1e-3),
    (-7.5, -1.25),
    (1e6, 1e6 + 1),
    (-1e100, 3e99),
    (0, 1e-90),
    (0.1, 0.3),
]


def _claim_cases() -> list[tuple[str, dict[str, Any]]]:
    cases: list[tuple[str, dict[str, Any]]] = []
    for at, epsilon in enumerate(EPSILONS):
        low, high = RANGES[at % len(RANGES)]
        parameters: dict[str, Any] = {"epsilon": epsilon, "range": [low, high]}
        if at % 2:
            parameters["resolution"] = (high - low) / [3, 7, 1000, 2**20, 12345.678][at // 2 % 5]
        cases.append(("laplace", parameters))
        cases.append(("gaussian-exponential", parameters))
        width = high - low
        rate = {**parameters, "rate": epsilon / width**2}
        del rate["epsilon"]
        cases.append(("gaussian-exponential", rate))
    return cases


def test_scales_of_laplace_noise_and_what_they_promise() -> None:
    cases, counts = _claim_cases(), [1, 2, 7, 10_000]
    answers = ask([{"do": "laplace", "mechanism": m, "parameters": p, "counts": counts} for m, p in cases])
    accepted = 0
    for (mechanism, parameters), answer in zip(cases, answers, strict=True):
        try:
            built = Description(mechanism, parameters).build()
        except CrowdveilError:
            assert refused(answer), parameters
            continue
        laplace = getattr(built, "laplace", built)
        num, den = laplace.scale.numerator, laplace.scale.denominator
        users = [built.promise("user", count).epsilon for count in counts]
        assert answer == [str(num), str(den), built.promise().epsilon, users], (mechanism, parameters)
        accepted += 1
    assert accepted > len(cases) // 2


def test_variances_of_gaussian_noise() -> None:
    cases: list[dict[str, Any]] = []
    for at, rate in enumerate(EPSILONS):
        low, high = RANGES[at % len(RANGES)]
        square = (high - low) ** 2
        floor = {"floor": [0.5, 17.1, 300.0][at % 3] * square} if at % 2 else {}
        cases.append({"rate": rate / square, "range": [low, high], **floor})
    steps = [1, 2, 4096, 64 * 4096]
    for parameters, answer in zip(
        cases, ask([{"do": "variance", "parameters": p, "steps": steps} for p in cases]), strict=True
    ):
        try:
            ends, numbers = Range(*parameters["range"]), {**parameters, "range": None}
            built = VariancePerUser(
                **{**numbers, "range": ends}
            )  # without what it promises, which takes long
        except CrowdveilError:
            assert refused(answer), parameters
            continue
        assert answer == [[str(part) for part in built.variance(each)] for each in steps], parameters


# --- grids and scales ---------------------------------------------------------------------------------------


def _values(low: float, high: float, step: float) -> list[float]:
    halves = [low + step * (k + 0.5) for k in (0, 1, 2, 3, 10, 499, 998, 999)]
    near = [math.nextafter(half, side) for half in halves for side in (-math.inf, math.inf)]
    ends = [low, high, math.nextafter(low, -math.inf), math.nextafter(high, math.inf), (low + high) / 2]
    other = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 1.5, 2.5, -0.5, 1e-300]
    inside = RNG.uniform(low, high, 400).tolist()
    return [*halves, *near, *ends, *other, *inside]


@pytest.mark.parametrize("resolution", [None, 1.0, 0.1, 1 / 3, 1e-5])
def test_every_double_has_the_same_place(resolution: float | None) -> None:
    for low, high in RANGES:
        try:
            grid = Grid.of(Range(low, high), None if resolution is None else resolution * (high - low))
        except CrowdveilError:
            continue
        values = _values(low, high, grid.step)
        given = None if resolution is None else grid.step
        (answer,) = ask([{"do": "places", "range": [low, high], "resolution": given, "values": values}])
        assert answer["places"] == grid.places(np.array(values)).tolist(), (low, high, resolution)
        assert (answer["step"], answer["steps"]) == (grid.step, grid.steps)


def test_every_double_has_the_same_answer_of_a_scale() -> None:
    values = [*_values(-3, 9, 1.0), *np.arange(-5, 11, 0.25).tolist()]
    for low, high in ((0, 4), (-3, 3), (1, 10), (-100, 99)):
        (answer,) = ask([{"do": "codes", "range": [low, high], "values": values}])
        assert answer == Domain(low, high).codes(np.array(values)).tolist()


# --- lists, names, labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "listed", "unnamed", "objects", "seed"),
    [(1, 1, None, 1, 0), (2, 3, None, 17, 5), (1, 4, 3, 9, 2**32 - 1), (3, 1, 2, 200, 10**15)],
)
def test_places_are_asked_about_the_same_objects(
    slots: int, listed: int, unnamed: int | None, objects: int, seed: int
) -> None:
    places = [*range(40), 10**4, 10**6 + 1, 10**8 - 1]
    parameters = {
        "epsilon": 1.0,
        "range": [0, 4],
        "slots": slots,
        "listed": listed,
        "levels": 2,
        "seed": seed,
    }
    if unnamed is not None:
        parameters["unnamed"] = unnamed
    (answer,) = ask([{"do": "lists", "parameters": parameters, "objects": objects, "places": places}])
    mechanism = SlotResponse(1.0, Domain(0, 4), slots, listed, 2, unnamed, seed)
    own = [mechanism.lists(np.array([place]), objects).tolist() for place in places]
    assert answer == [lists[0] if lists else None for lists in own]


def test_names_are_in_one_form_and_one_order() -> None:
    names = [
        "b",
        "a",
        "B",
        "10",
        "9",
        "\ufb01n",
        "\U0001f600",
        "\U00010000",
        "\uffee",
        "e\u0301",
        "\u212b",
        "\u0958",
        "ß",
        "Z",
        "a b",
        "a\u0301\u0323",
    ]
    (answer,) = ask([{"do": "names", "names": names}])
    assert answer == public_objects(names).to_list()


def test_numbers_are_rounded_up_to_the_same_text() -> None:
    numbers = [
        0.0,
        1.0,
        10.0,
        123456.0,
        1234567.0,
        0.1,
        1e-5,
        1e-4,
        9.999999e-5,
        0.99999999,
        1e-20,
        1e22,
        999999.5,
    ]
    numbers += [*EPSILONS, *np.exp(RNG.uniform(-50, 50, 2000)).tolist()]
    (answer,) = ask([{"do": "rounded", "numbers": numbers}])
    assert answer == [rounded_up(number) for number in numbers]


SCHEMA = {
    "columns": {
        "2024": {"values": ["yes", "no", "3", "2.5", "(other)"]},
        "town": {"values": ["Ähre", "x", "1e+16"], "missing": True},
        "7": {"edges": [0, 0.1, 30, 1e15, 1e16, 1.5e300]},
        "age": {"edges": [-5, 1e-5, 18, 65.5], "missing": True},
    }
}


def test_records_have_the_same_codes_also_where_columns_are_named_by_numbers() -> None:
    schema = Schema.from_dict(SCHEMA)
    cells: dict[str, list[Any]] = {
        "2024": ["yes", "no", 3, 2.5, "3", "2.5", "nay", None, "", " ", 3.0],
        "town": ["A\u0308hre", "x", None, "(missing)", "  ", "y", "1e+16"],
        "7": [
            -1,
            0,
            0.1,
            29.999,
            30,
            "30",
            " 31 ",
            "0..0.1",
            1e15,
            1e16,
            1e308,
            "many",
            "0.1..30",
            "1e3",
            "0x10",
        ],
        "age": [
            -6,
            -5,
            0,
            1e-5,
            17.9,
            18,
            65.5,
            66,
            None,
            "(missing)",
            "1e-05..18",
            "18..65.5",
            ".5",
            "+3",
            "3.",
        ],
    }
    usual = {"2024": "yes", "town": "x", "7": 5, "age": 20}
    answers = [{**usual, name: cell} for name, column in cells.items() for cell in column]
    (answer,) = ask([{"do": "schema", "schema": json.dumps(SCHEMA), "answers": answers}])
    assert answer["labels"] == [column.labels() for column in schema.columns]
    for given, codes in zip(answers, answer["codes"], strict=True):
        frame = pl.DataFrame({name: [given[name]] for name in schema.names}, strict=False)
        try:
            own = Records.from_frame(frame, schema, clamp=True).codes[0].tolist()
        except CrowdveilError:
            own = None
        assert codes == own, given
