"""Votes on labels: equal to slow twins, right about how sure they are, defined on every input."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError
from crowdveil.labels import Labels
from crowdveil.truth import one_coin
from crowdveil.truths import Voted

METHODS = {"majority": one_coin.majority, "crh": one_coin.weighted, "one-coin": one_coin.one_coin}
Codes = NDArray[np.int64]


def crowd(
    seed: int, *, users: int = 40, objects: int = 400, choices: int = 4, each: int = 7
) -> tuple[Labels, Codes, NDArray[np.float64]]:
    """Users right with probabilities between .3 and .95, `each` of them about every object."""
    rng = np.random.default_rng(seed)
    truths, right = rng.integers(0, choices, objects), rng.uniform(0.3, 0.95, users)
    who = np.array([rng.choice(users, each, replace=False) for _ in range(objects)])
    wrong = (truths[:, None] + rng.integers(1, choices, who.shape)) % choices
    picked = np.where(rng.random(who.shape) < right[who], truths[:, None], wrong)
    return (
        Labels.from_columns(np.repeat(np.arange(objects), each), who.ravel(), picked.ravel()),
        truths,
        right,
    )


def picks(labels: Labels) -> dict[int, dict[int, int]]:
    """The label each user picked, by object."""
    claims = labels.claims
    return {
        i: {
            int(claims.user_codes[s]): int(claims.values[s])
            for s in range(claims.offsets[i], claims.offsets[i + 1])
        }
        for i in range(len(claims.objects))
    }


def twin_coins(labels: Labels, sweeps: int) -> tuple[dict[int, dict[int, float]], list[float]]:
    """Posterior chances and users' log-odds, written out over dictionaries."""
    table, choices, users = picks(labels), len(labels.choices), len(labels.claims.users)
    odds = [1.0] * users
    chances: dict[int, dict[int, float]] = {}
    for sweep in range(sweeps):
        for i, said in table.items():
            scores = [sum(odds[u] for u, label in said.items() if label == k) for k in range(choices)]
            whole = sum(math.exp(score) for score in scores)
            chances[i] = {k: math.exp(scores[k]) / whole for k in range(choices)}
        if sweep == sweeps - 1:
            break
        losses, made = [0.0] * users, [0] * users
        for i, said in table.items():
            for user, label in said.items() if len(said) > 1 else ():
                losses[user] += 1 - chances[i][label]
                made[user] += 1
        everybody = (sum(losses) + 1) / (sum(made) + 2)
        wrong = [(loss + 2 * everybody) / (n + 2) for loss, n in zip(losses, made, strict=True)]
        odds = [math.log((1 - p) * (choices - 1) / p) for p in wrong]
    return chances, odds


def test_one_coin_equals_its_twin() -> None:
    labels, _, _ = crowd(1, users=9, objects=30, each=4)
    found = one_coin.one_coin(labels)
    chances, odds = twin_coins(labels, found.sweeps)
    np.testing.assert_allclose(found.weights, odds, rtol=1e-9)
    best = [max(chances[i].values()) for i in range(30)]
    np.testing.assert_allclose(found.chances, best, rtol=1e-9)
    assert found.estimates.to_list() == [max(chances[i], key=chances[i].__getitem__) for i in range(30)]


def test_majority_and_the_weighted_vote_equal_their_twins() -> None:
    labels, _, _ = crowd(2, users=9, objects=40, each=5)
    table, users = picks(labels), 9
    weights = [1.0] * users
    plain: list[int] = []
    winners: list[int] = []
    for sweep in range(50):
        before = list(winners)
        winners = [
            max(range(4), key=lambda k, said=said: sum(weights[u] for u, v in said.items() if v == k))  # type: ignore[misc]
            for said in table.values()
        ]
        plain = winners if sweep == 0 else plain
        if winners == before:
            break
        made = [sum(u in said for said in table.values()) for u in range(users)]
        wrong = [sum(u in said and said[u] != winners[i] for i, said in table.items()) for u in range(users)]
        everybody = sum(wrong) / sum(made)
        loss = [(w + everybody) / (n + 1) for w, n in zip(wrong, made, strict=True)]
        weights = [-math.log(part / sum(loss)) for part in loss]
    assert one_coin.majority(labels).estimates.to_list() == plain
    found = one_coin.weighted(labels)
    assert found.estimates.to_list() == winners
    np.testing.assert_allclose(found.weights, weights, rtol=1e-9)


def test_weighing_users_beats_counting_them() -> None:
    wins = {"crh": 0, "one-coin": 0}
    for seed in range(30):
        labels, truths, _ = crowd(seed)
        hits = {
            name: (method(labels).estimates.to_numpy() == truths).mean() for name, method in METHODS.items()
        }
        for name in wins:
            wins[name] += hits[name] > hits["majority"]
    # With no difference each seed is a coin: 27 of 30 has a chance below 1e-5, both below 1e-9.
    assert min(wins.values()) >= 27, wins


@pytest.mark.parametrize("name", METHODS)
def test_chances_are_as_often_right_as_they_say(name: str) -> None:
    sure, right = [], []
    for seed in range(40):
        labels, truths, _ = crowd(100 + seed)
        found = METHODS[name](labels)
        sure.append(found.chances)
        right.append(found.estimates.to_numpy() == truths)
    chances, hits = np.concatenate(sure), np.concatenate(right)
    for low, high in ((0.0, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 0.995)):
        inside = (chances >= low) & (chances < high)
        # Five standard errors (a chance below 1e-6), and .04 for odds that are estimated from 70 claims.
        margin = 5 * 0.5 / math.sqrt(inside.sum()) + 0.04
        assert abs(hits[inside].mean() - chances[inside].mean()) < margin, (low, high)


def test_users_weights_follow_how_often_they_are_right() -> None:
    labels, _, right = crowd(5, objects=2000)
    for found in (one_coin.weighted(labels), one_coin.one_coin(labels)):
        assert np.corrcoef(found.weights, np.log(right / (1 - right)))[0, 1] > 0.9


@pytest.mark.parametrize("name", METHODS)
def test_threads_do_not_matter(name: str) -> None:
    labels, _, _ = crowd(6, users=500, objects=30_000, each=40 // 4)
    one, two = (METHODS[name](labels, engine=LocalEngine(threads)) for threads in (1, 2))
    assert one.estimates.to_list() == two.estimates.to_list()
    assert one.chances.tolist() == two.chances.tolist()
    assert one.weights.tolist() == two.weights.tolist()


def ask(name: str, rows: list[tuple[str, str, str]]) -> Voted:
    return METHODS[name](Labels.from_columns(*(list(column) for column in zip(*rows, strict=True))))


@pytest.mark.parametrize("name", METHODS)
def test_poor_input_has_defined_results(name: str) -> None:
    alone = ask(name, [("a", "u", "yes"), ("b", "u", "no")])
    assert alone.estimates.to_list() == ["yes", "no"]
    assert alone.converged
    same = ask(name, [("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "yes"), ("b", "v", "yes")])
    assert same.estimates.to_list() == ["yes", "yes"]
    tied = ask(name, [("a", "u", "yes"), ("a", "v", "no")])
    assert tied.estimates.to_list() == ["no"]
    for found in (alone, same, tied):
        assert np.isfinite(found.weights).all()
        assert ((found.chances > 0) & (found.chances <= 1)).all()
    assert tied.chances[0] == pytest.approx(0.5)


def test_labels_may_be_text_or_whole_numbers() -> None:
    objects, users = ["a", "a", "b"], [1, 2, 1]
    assert Labels.from_columns(objects, users, ["x", "y", "x"]).choices.to_list() == ["x", "y"]
    assert Labels.from_columns(objects, users, [2.0, 0.0, 2.0]).choices.to_list() == [0, 2]
    frame = pl.DataFrame({"o": objects, "u": users, "l": ["x", "y", "x"]})
    assert repr(Labels.from_frame(frame, object="o", user="u", value="l")) == (
        "Labels(2 choices, Claims(3 claims, 2 objects, 2 users))"
    )
    with pytest.raises(InputError, match="neither text nor whole"):
        Labels.from_columns(objects, users, [0.5, 1.0, 1.0])
    with pytest.raises(InputError, match="no column 'k'"):
        Labels.from_frame(frame, object="o", user="u", value="k")


def test_frames_have_their_columns() -> None:
    found = ask("one-coin", [("a", "u", "yes"), ("a", "v", "yes"), ("a", "w", "no")])
    assert found.to_frame().columns == ["object", "estimate", "chance"]
    assert found.user_frame().columns == ["user", "weight"]
