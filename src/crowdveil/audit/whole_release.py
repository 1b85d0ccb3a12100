"""Audits of all that a certified release learns from raw claims together, by exact log-likelihood ratios.

Two worlds for each definition of neighbours. What changes moves between far bins in every statistic at once:
claims of one object far away from each other or not, so that pair distances change as well. Without noise the
ratio then reaches epsilon, or nearly: where claims come and go an added claim is sometimes not paired, and a
second look seldom sees the largest weights. So whatever is spent beyond epsilon, in any statistic, shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from crowdveil.audit.case import Audit, at_least, column, output
from crowdveil.audit.transcripts import log_ratios
from crowdveil.claims import Claims
from crowdveil.public_range import Range
from crowdveil.releases.certified import Certified

TWELVE = Range(0.0, 12.0)
_LOW, _HIGH = 1.5, 10.5
_OBJECTS = ("a", "b", "c")  # one more than the cap
_CAP = 2
_MANY = (*_OBJECTS, "d", "e", "f")  # for Gaussian noise
_LARGE_CAP = 5
_CROWD = 6  # other claims about an object: even, so that an added claim takes a place in a pair
_USUAL = 400  # draws in each world

Row = tuple[str, int, float]  # object, user, value
Rows = Iterable[Row]


def _claims(*parts: Rows) -> Claims:
    objects, users, values = zip(*(row for part in parts for row in part), strict=True)
    return Claims.from_columns(list(objects), list(users), list(values))


def _others(claims: int, *places: float, objects: Sequence[str] = _OBJECTS) -> list[Row]:
    """Claims of as many users about each object, all of them at every place."""
    return [
        (name, 1000 * i + 100 * j + s, place)
        for i, name in enumerate(objects, start=1)
        for j, place in enumerate(places)
        for s in range(claims)
    ]


def _of_user(world: int, objects: Sequence[str] = _OBJECTS) -> list[Row]:
    """Claims of user 0 about every object: rising low ones, or falling high ones.

    So the largest values, and the smallest, are about other objects in the other world.
    """
    return [(name, 0, (_LOW + 0.2 * i, _HIGH - 0.2 * i)[world]) for i, name in enumerate(objects)]


def claim_moves(world: int) -> Claims:
    """An object with two claims: both low, or one of them high."""
    return _claims([("a", 0, (_LOW, _HIGH)[world]), ("a", 1, _LOW)])


def claim_comes(world: int) -> Claims:
    """An object with six low claims, and in world 1 with a high one."""
    return _claims([("a", s, _LOW) for s in range(1, _CROWD + 1)], [("a", 0, _HIGH)] * world)


def user_moves(world: int) -> Claims:
    """Three claims of a user, all low or all high, each beside another user's low claim."""
    return _claims(_of_user(world), _others(1, _LOW))


def user_comes(world: int) -> Claims:
    """Three objects with six low claims each, and in world 1 with a high one of one user."""
    return _claims(_of_user(1) * world, _others(_CROWD, _LOW))


def many_move(world: int) -> Claims:
    """As `user_moves`, with six objects."""
    return _claims(_of_user(world, _MANY), _others(1, _LOW, objects=_MANY))


def many_come(world: int) -> Claims:
    """As `user_comes`, with six objects and two low claims about each."""
    return _claims(_of_user(1, _MANY) * world, _others(2, _LOW, objects=_MANY))


def pooled_comes(world: int) -> Claims:
    """Three objects with two low claims each, and in world 1 with a high one of one user."""
    return _claims(_of_user(1) * world, _others(2, _LOW))


def weights_move(world: int) -> Claims:
    """As `user_moves`, beside as many low claims as high ones: both are graded high."""
    return _claims(_of_user(world), _others(2, _LOW, _HIGH))


def weights_come(world: int) -> Claims:
    """As `weights_move`, but in world 0 the user is not there."""
    return _claims(_of_user(1) * world, _others(2, _LOW, _HIGH))


def weight_moves(world: int) -> Claims:
    """A user with a claim about each of three objects, of which one leaves a crowd."""
    places = [_LOW if name != "a" or world == 0 else _HIGH for name in _OBJECTS]
    own = [(name, 0, place) for name, place in zip(_OBJECTS, places, strict=True)]
    return _claims(own, _others(_CROWD - 1, _LOW))


CLAIM = Certified(1.0, TWELVE, unit="claim")
CLAIM_COMES = Certified(1.0, TWELVE, unit="claim", adjacency="add-remove", objects=("a",))
USER = Certified(1.0, TWELVE, unit="user", cap=_CAP)
USER_COMES = replace(USER, adjacency="add-remove", objects=_OBJECTS)
POOLED = replace(USER, pooled=True)
POOLED_COMES = replace(POOLED, adjacency="add-remove")
# A larger epsilon, so that grades follow claims and not noise.
SECOND_LOOK = Certified(8.0, TWELVE, unit="user", cap=_CAP, estimator="histogram", reliability=0.5)
SECOND_LOOK_COMES = replace(SECOND_LOOK, adjacency="add-remove", objects=_OBJECTS)
SECOND_LOOK_CLAIM = replace(SECOND_LOOK, unit="claim", cap=None)
GAUSSIAN = replace(USER, cap=_LARGE_CAP, delta=0.05)
GAUSSIAN_COMES = replace(GAUSSIAN, adjacency="add-remove", objects=_MANY)


def _audit(name: str, parameters: Certified, claims_of: Callable[[int], Claims], worlds: str) -> Audit:
    unit = "a claim" if parameters.cap is None else f"a user of up to {parameters.cap} claims"
    pure = parameters.delta == 0
    shares = np.array([0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5])
    return Audit(
        name=f"whole-certified-{name}",
        epsilon=parameters.epsilon,
        delta=parameters.delta,
        unit=f"{unit}, {parameters.adjacency}",
        whose="ours",
        worlds=worlds,
        draws=log_ratios(parameters, claims_of),
        events=(
            *at_least(parameters.epsilon * shares, "log ratio", column(0)),
            *at_least(parameters.epsilon * shares, "-log ratio", lambda out: -out[:, 0]),
        ),
        usual=_USUAL if pure else 2 * _USUAL,
        log_ratios=output if pure else column(0),
    )


_CAPPED = f"of which the cap leaves {_CAP}"
WHOLE_CLAIM = _audit("claim", CLAIM, claim_moves, "a low claim beside another one, or a high one")
WHOLE_CLAIM_ADD_REMOVE = _audit(
    "claim-add-remove", CLAIM_COMES, claim_comes, f"{_CROWD} low claims, or a high one more"
)
WHOLE_USER = _audit("user", USER, user_moves, f"3 claims of a user, all low or all high, {_CAPPED}")
WHOLE_USER_ADD_REMOVE = _audit(
    "user-add-remove",
    USER_COMES,
    user_comes,
    f"3 objects without a user's high claims, or with them, {_CAPPED}",
)
WHOLE_POOLED = _audit("pooled", POOLED, user_moves, "the same as for a user, all objects pooled")
WHOLE_POOLED_ADD_REMOVE = _audit(
    "pooled-add-remove",
    POOLED_COMES,
    pooled_comes,
    "two low claims about each of 3 objects, pooled, or a user's high ones too",
)
WHOLE_SECOND_LOOK = _audit(
    "second-look",
    SECOND_LOOK,
    weights_move,
    f"3 claims of a user, all low or all high, in two crowds, {_CAPPED}",
)
WHOLE_SECOND_LOOK_ADD_REMOVE = _audit(
    "second-look-add-remove",
    SECOND_LOOK_COMES,
    weights_come,
    f"two crowds without a user, or with one, {_CAPPED}",
)
WHOLE_SECOND_LOOK_CLAIM = _audit(
    "second-look-claim",
    SECOND_LOOK_CLAIM,
    weight_moves,
    "3 claims of a user in a crowd, or one of them far away",
)
WHOLE_GAUSSIAN = _audit(
    "gaussian",
    GAUSSIAN,
    many_move,
    f"6 claims of a user, all low or all high, of which the cap leaves {_LARGE_CAP}",
)
WHOLE_GAUSSIAN_ADD_REMOVE = _audit(
    "gaussian-add-remove",
    GAUSSIAN_COMES,
    many_come,
    f"6 objects without a user's high claims, or with {_LARGE_CAP}",
)
ALL = (
    WHOLE_CLAIM,
    WHOLE_CLAIM_ADD_REMOVE,
    WHOLE_USER,
    WHOLE_USER_ADD_REMOVE,
    WHOLE_POOLED,
    WHOLE_POOLED_ADD_REMOVE,
    WHOLE_SECOND_LOOK,
    WHOLE_SECOND_LOOK_ADD_REMOVE,
    WHOLE_SECOND_LOOK_CLAIM,
    WHOLE_GAUSSIAN,
    WHOLE_GAUSSIAN_ADD_REMOVE,
)
