"""What an attacker could still guess: a guarantee as bounds on guesses and beliefs, for pages."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from crowdveil.report.beliefs import PRIORS, belief_after, right_guesses

BARE = 0.995  # from this share of right guesses on, words say more: practically not protected


def rounded_up(share: float) -> float:
    """A bound to a tenth of a percent; a promise may look weaker than it is, never stronger."""
    return min(1.0, ceil(1000 * share) / 1000)


def right_at_most(level: Mapping[str, Any]) -> float:
    """How often a guess between two equally likely cases is right at most."""
    if level["epsilon"] is None or level.get("times") is not None:
        return 1.0
    return rounded_up(right_guesses(level["epsilon"], level["delta"]))


def own_level(guarantee: Mapping[str, Any], levels: str = "all_waves") -> Mapping[str, Any]:
    """The level of the unit that a campaign protects, over all waves or in one (`levels`)."""
    chosen: Mapping[str, Any] = guarantee[levels][-1 if guarantee["unit"] == "person" else 0]
    return chosen


def advice(guarantee: Mapping[str, Any]) -> list[str]:
    """What would protect better, where a level has practically no protection: names of texts."""
    if all(right_at_most(level) < BARE for level in guarantee["all_waves"]):
        return []
    single = guarantee["unit"] in ("claim", "cell")
    return ["epsilon", *["waves"] * (guarantee["waves"] > 1), *["person"] * single]


def guesses(guarantee: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each level, in one wave and over all: bounds on guesses and, without a delta, on beliefs."""
    waves = guarantee["waves"]
    spans = [("levels", 1)] * (waves > 1) + [("all_waves", waves)]
    return [
        {
            "place": place,
            "waves": number,
            "epsilon": level["epsilon"],
            "delta": level["delta"],
            "right": right_at_most(level),
            "bare": right_at_most(level) >= BARE,
            "beliefs": [
                (prior, rounded_up(belief_after(prior, level["epsilon"])))
                for prior in PRIORS
                if level["epsilon"] is not None and level.get("times") is None and not level["delta"]
            ],
        }
        for place in range(len(guarantee["levels"]))
        for name, number in spans
        for level in [guarantee[name][place]]
    ]
