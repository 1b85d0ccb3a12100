"""One pass over labels by object: the label of largest total weight, and the users who disagree.

The claims of an object ascend, so the claims of one label are adjacent: a run. The score of a label is the
sum of its users' weights; a label that no user claimed has score 0.
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
    """Fill `winners` with each object's label of highest score; add 1 to the total of each dissenting user.

    The first of several labels with equal scores wins. An object with one claim adds to no total; an object
    without claims has winner -1.
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
    """The label with the largest sum of weights; -1 if there is no claim."""
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
    """Fill `likeliest` and `chances` with each object's most probable label and its posterior probability.

    The posterior of a label is proportional to exp(score), where weights are users' log-odds of being right.
    Each user's total grows by 1 minus the posterior of the user's label, in units of 1/unit; an object with
    one claim adds to no total.
    """
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        likeliest[i], chances[i] = -1, np.nan
        if b > a:
            largest, normaliser = softmax(labels, user_codes, weights, choices, a, b)
            best = -1.0
            s = a
            while s < b:
                label, begin, score = labels[s], s, 0.0
                while s < b and labels[s] == label:
                    score += weights[user_codes[s]]
                    s += 1
                chance = math.exp(score - largest) / normaliser
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
    """The largest score t among all labels of an object, and the sum over all labels of exp(score - t)."""
    largest, normaliser, present = -math.inf, 0.0, 0
    s = a
    while s < b:
        label, score = labels[s], 0.0
        while s < b and labels[s] == label:
            score += weights[user_codes[s]]
            s += 1
        present += 1
        if score > largest:
            normaliser = normaliser * math.exp(largest - score) + 1.0 if present > 1 else 1.0
            largest = score
        else:
            normaliser += math.exp(score - largest)
    absent = choices - present
    if absent > 0:
        if largest < 0.0:
            normaliser = normaliser * math.exp(largest) + absent
            largest = 0.0
        else:
            normaliser += absent * math.exp(-largest)
    return largest, normaliser


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
    """Fill `chances` with the posterior probability of each object's picked label, as in `add_doubts`."""
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        chances[i] = np.nan
        if b > a:
            largest, normaliser = softmax(labels, user_codes, weights, choices, a, b)
            score = 0.0
            for s in range(a, b):
                if labels[s] == picked[i]:
                    score += weights[user_codes[s]]
            chances[i] = math.exp(score - largest) / normaliser
