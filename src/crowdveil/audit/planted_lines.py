"""Planted bugs of one line: the real code with that line broken, under the audit that must refute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crowdveil.audit import attempts, rounds, smoothed
from crowdveil.audit import whole_release as whole
from crowdveil.audit.broken import Line, broken, with_broken
from crowdveil.audit.case import Audit
from crowdveil.claims import Claims
from crowdveil.local.split_krr import SplitKRR
from crowdveil.releases import attempts as attempts_release
from crowdveil.releases import certified, histogram, second_look
from crowdveil.releases import smoothed as smoothed_release
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.certified import Certified
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import Smoothed
from crowdveil.synthesis import collection, simulated
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.samprivsyn import SamPrivSyn


def _planted(name: str, audit: Audit, *lines: Line, forget: tuple[Callable[..., Any], ...] = ()) -> Audit:
    return replace(audit, name=name, draws=with_broken(audit.draws, *lines, forget=forget))


def _miscounted(name: str, audit: Audit, promise: Callable[[], float], line: Line) -> Audit:
    """What is drawn is right, and the epsilon printed is that of broken accounting."""
    with broken(line, forget=(attempts_release._least_epsilon,)):
        return replace(audit, name=name, epsilon=promise())


# --- certified releases -------------------------------------------------------------------------------------

_PAIRS_WITHOUT_CAP = Line(histogram, "pair_noise", "2 * neighbours.claims", "2")
_PAIRS_FREE = Line(certified, "private_part", "left = split.epsilon - pairs", "left = split.epsilon")
_WEIGHTS_FREE = Line(certified, "private_part", "bins, left - weights,", "bins, left,")
_HISTOGRAMS_WITHOUT_CAP = Line(histogram, "histogram_noise", "changed * neighbours.claims", "changed")
_ONE_BIN = Line(histogram, "histogram_noise", "changed = 2 if neighbours.replaced else 1", "changed = 1")
_WEIGHTS_WITHOUT_CAP = Line(second_look, "weight_noise", "* neighbours.claims * steps", "* steps")
_OTHER_WEIGHTS = Line(second_look, "weight_noise", "3 * steps + most - 1", "2 * steps")
_NO_CAP = Line(Certified, "used", "claims.capped(self.cap,", "claims.capped(len(claims),")
_CAP_BY_VALUE = Line(
    Claims, "capped", "np.lexsort((keys, self.user_codes))", "np.lexsort((-self.values, self.user_codes))"
)
_EXACT_MEAN = Line(
    certified,
    "private_part",
    "else max(2.0, 2.0 * near.pairs / claims.object_count)",
    "else float(claims.counts().mean())",
)

_CERTIFIED = (
    _planted("pair noise without the cap", whole.WHOLE_USER, _PAIRS_WITHOUT_CAP),
    _planted("pair noise without the cap, add-remove", whole.WHOLE_USER_ADD_REMOVE, _PAIRS_WITHOUT_CAP),
    _planted("the epsilon of pairs spent twice", whole.WHOLE_CLAIM, _PAIRS_FREE),
    _planted("the epsilon of pairs spent twice, add-remove", whole.WHOLE_CLAIM_ADD_REMOVE, _PAIRS_FREE),
    _planted("the epsilon of weights spent twice", whole.WHOLE_SECOND_LOOK, _WEIGHTS_FREE),
    _planted("histogram noise for one bin of two", whole.WHOLE_CLAIM, _ONE_BIN),
    _planted("histogram noise without the cap", whole.WHOLE_USER, _HISTOGRAMS_WITHOUT_CAP),
    _planted("Gaussian noise without the cap", whole.WHOLE_GAUSSIAN, _HISTOGRAMS_WITHOUT_CAP),
    _planted(
        "Gaussian noise without the cap, add-remove", whole.WHOLE_GAUSSIAN_ADD_REMOVE, _HISTOGRAMS_WITHOUT_CAP
    ),
    _planted("a second look without the cap", whole.WHOLE_SECOND_LOOK, _WEIGHTS_WITHOUT_CAP),
    _planted(
        "a second look without the cap, add-remove", whole.WHOLE_SECOND_LOOK_ADD_REMOVE, _WEIGHTS_WITHOUT_CAP
    ),
    _planted("a second look without a user's other claims", whole.WHOLE_SECOND_LOOK_CLAIM, _OTHER_WEIGHTS),
    _planted("claims beyond the cap used", whole.WHOLE_USER, _NO_CAP),
    _planted("claims beyond the cap used, add-remove", whole.WHOLE_USER_ADD_REMOVE, _NO_CAP),
    _planted("claims beyond the cap used, pooled", whole.WHOLE_POOLED, _NO_CAP),
    _planted("the cap keeps the largest values", whole.WHOLE_USER, _CAP_BY_VALUE),
    _planted("the exact mean of claims, add-remove", whole.WHOLE_CLAIM_ADD_REMOVE, _EXACT_MEAN),
)

# --- smoothed densities and fixed attempts ------------------------------------------------------------------

_ONE_DRAW = Line(Smoothed, "epsilon", "self.per_object * claims_per_user", "claims_per_user")
_MOST_CLAIMS = Line(Smoothed, "promise", "pattern.per_object.min()", "pattern.per_object.max()")
_HALF_PUBLIC = Line(
    smoothed_release,
    "_drawn",
    'rational(parameters.lam, what="lam")',
    'rational(parameters.lam, what="lam") / 2',
)
_ONE_ATTEMPT = Line(attempts_release, "_least_epsilon", "single), attempts, delta", "single), 1, delta")
_HALF_THRESHOLD_NOISE = Line(attempts_release, "_attempted", "rate.numerator,", "2 * rate.numerator,")
_NO_FAILURES = Line(attempts_release, "_attempted", "failure.numerator,", "0,")


def _smoothed(parameters: Smoothed) -> Callable[[], float]:
    return lambda: smoothed.promised(parameters, smoothed.CELL_OTHERS)


def _attempts(parameters: Attempts, claims: int) -> Callable[[], float]:
    return lambda: parameters.promise(Pattern.even(1, claims)).epsilon


_GRID = (
    _miscounted("the epsilon of one draw", smoothed.SMOOTHED, _smoothed(smoothed.CELL), _ONE_DRAW),
    _miscounted(
        "the epsilon of one draw, without a delta",
        smoothed.SMOOTHED_PURE,
        _smoothed(smoothed.PURE),
        _ONE_DRAW,
    ),
    _miscounted(
        "the epsilon of the object with most claims",
        smoothed.SMOOTHED,
        _smoothed(smoothed.CELL),
        _MOST_CLAIMS,
    ),
    _planted("the public density drawn half as often", smoothed.SMOOTHED, _HALF_PUBLIC),
    _miscounted(
        "the epsilon of one attempt",
        attempts.ATTEMPTS_CROWD,
        _attempts(attempts.CROWD, attempts.CROWD.k),
        _ONE_ATTEMPT,
    ),
    _planted("half the noise of the threshold", attempts.ATTEMPTS_CROWD, _HALF_THRESHOLD_NOISE),
    _planted("failures that are never forced", attempts.ATTEMPTS_NOTHING, _NO_FAILURES),
)

# --- records in rounds --------------------------------------------------------------------------------------

_ASKED_AGAIN = (
    Line(simulated, "simulated", "first, last = done, min(", "first, last = 0, min("),
    Line(
        Collection,
        "_seen_with",
        "np.count_nonzero(self.seen) + places.size",
        "np.count_nonzero(self.seen)",
    ),
)
_EACH_VALUE = Line(SplitKRR, "of", "share_of(epsilon, len(sizes))", "share_of(epsilon, 1)")
_TWICE = Line(
    SamPrivSyn, "questions", "SplitKRR.of(self.epsilon, sizes)", "SplitKRR.of(2 * self.epsilon, sizes)"
)
_TWICE_JOINT = Line(
    LatentClassSynthesis, "questions", "joints(schema, self.epsilon)", "joints(schema, 2 * self.epsilon)"
)
_QUESTIONS = (collection._questions,)

_ROUNDS = (
    _planted("asked again in every round", rounds.SAMPRIVSYN_ROUNDS, *_ASKED_AGAIN),
    _planted("asked again in every round, latent classes", rounds.LATENT_ROUNDS, *_ASKED_AGAIN),
    _planted("epsilon for each value, in rounds", rounds.SAMPRIVSYN_ROUNDS, _EACH_VALUE, forget=_QUESTIONS),
    _planted("twice epsilon, in rounds", rounds.SAMPRIVSYN_ROUNDS, _TWICE, forget=_QUESTIONS),
    _planted("twice epsilon for several columns", rounds.LATENT_ROUNDS, _TWICE_JOINT, forget=_QUESTIONS),
)

LINES = (*_CERTIFIED, *_GRID, *_ROUNDS)
