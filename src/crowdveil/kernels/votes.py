"""One pass over labels by object: the label with the most weight behind it, and who disagrees.

Claims of an object ascend, so those of one label stand together: a run. A label that nobody picked has a
score of 0.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled


@compiled
def add_disagreements(
    offsets: Ints,
    user_codes: Codes,
    labels: Floats,
    weights: Floats,
    first: int,
    last: int,
    winners: Codes,
    totals: Ints,
) -> None:
    """Put each object's heaviest label into `winners`; add 1 to the total of each user who disagrees.

    Of labels with equal weight the first wins. An object with one claim tells nothing about its user; one
    without has no winner (-1).
    """
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        winners[i] = heaviest(labels, user_codes, weights, a, b)
        if b - a > 1:
            for s in range(a, b):
                if labels[s] != winners[i]:
                    totals[user_codes[s]] += 1


@compiled
def heaviest(labels: Floats, user_codes: Codes, weights: Floats, a: int, b: int) -> int:
    """The label with the largest sum of weights, -1 where there is none."""
    best, most = -1, -math.inf
    s = a
    while s < b:
        label, score = labels[s], 0.0
        while s < b and labels[s] == label:
            score += weights[user_codes[s]]
            s += 1
        if score > most:
            best, most = int(label), score
    return best


@compiled
def add_doubts(
    offsets: Ints,
    user_codes: Codes,
    labels: Floats,
    weights: Floats,
    choices: int,
    unit: float,
    first: int,
    last: int,
    likeliest: Codes,
    chances: Floats,
    totals: Ints,
) -> None:
    """Put each object's likeliest label and its chance out; add 1 - chance of their label to users' totals.

    A label's chance is proportional to exp of the sum of its users' weights (log-odds of being right). As
    above, an object with one claim tells nothing about its user.
    """
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        likeliest[i], chances[i] = -1, np.nan
        if b > a:
            top, whole = softmax(labels, user_codes, weights, choices, a, b)
            best = -1.0
            s = a
            while s < b:
                label, begin, score = labels[s], s, 0.0
                while s < b and labels[s] == label:
                    score += weights[user_codes[s]]
                    s += 1
                chance = math.exp(score - top) / whole
                if chance > best:
                    best, likeliest[i] = chance, int(label)
                if b - a > 1:
                    doubt = np.int64((1.0 - min(chance, 1.0)) * unit)
                    for r in range(begin, s):
                        totals[user_codes[r]] += doubt
            chances[i] = best


@compiled
def softmax(
    labels: Floats, user_codes: Codes, weights: Floats, choices: int, a: int, b: int
) -> tuple[float, float]:
    """The largest score t of an object's labels, and the sum over all labels of exp(score - t)."""
    top, whole, present = -math.inf, 0.0, 0
    s = a
    while s < b:
        label, score = labels[s], 0.0
        while s < b and labels[s] == label:
            score += weights[user_codes[s]]
            s += 1
        present += 1
        if score > top:
            whole = whole * math.exp(top - score) + 1.0 if present > 1 else 1.0
            top = score
        else:
            whole += math.exp(score - top)
    absent = choices - present
    if absent > 0:
        if top < 0.0:
            whole = whole * math.exp(top) + absent
            top = 0.0
        else:
            whole += absent * math.exp(-top)
    return top, whole


@compiled
def chances_of(
    offsets: Ints,
    user_codes: Codes,
    labels: Floats,
    weights: Floats,
    choices: int,
    picked: Codes,
    first: int,
    last: int,
    chances: Floats,
) -> None:
    """The chance of each object's picked label, by the same law."""
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        chances[i] = np.nan
        if b > a:
            top, whole = softmax(labels, user_codes, weights, choices, a, b)
            score = 0.0
            for s in range(a, b):
                if labels[s] == picked[i]:
                    score += weights[user_codes[s]]
            chances[i] = math.exp(score - top) / whole
