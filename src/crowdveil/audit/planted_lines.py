"""Planted bugs of one line: the real code with that line broken, under the audit that must refute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crowdveil.audit import whole_release as whole
from crowdveil.audit.broken import Line, with_broken
from crowdveil.audit.case import Audit
from crowdveil.claims import Claims
from crowdveil.releases import certified, histogram, second_look
from crowdveil.releases.certified import Certified


def _planted(name: str, audit: Audit, *lines: Line, forget: tuple[Callable[..., Any], ...] = ()) -> Audit:
    return replace(audit, name=name, draws=with_broken(audit.draws, *lines, forget=forget))


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
    "else max(2.0, 2.0 * near.pairs / len(claims.objects))",
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

LINES = _CERTIFIED
