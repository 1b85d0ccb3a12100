"""The privacy test: a candidate is released only if at least about k claims could plausibly have produced it.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019,
section 4.3, after Bindschaedler, Shokri, Gunter, *Plausible Deniability for Privacy-Preserving Data
Synthesis*, PVLDB 10(5), 2017, doi:10.14778/3055540.3055542. The test compares kernels normalised by their
peak (densities are not probabilities), so its bins do not depend on the scale of the values.

Draws are repeated until enough pass, and weights and bandwidths depend on all claims: together this gives
**no differential privacy**. The threshold is noisy, so (k, gamma) plausible deniability also holds only up to
that noise, unless `require_k` is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByClaim, ByObject, Engine, Kept
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Deniability, NoGuarantee, rational
from crowdveil.kernels import candidates
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Streams
from crowdveil.releases.result import Status, check_per_object
from crowdveil.releases.weights import Weights

TRIES_PER_CLAIM = 100
LARGEST_K = 10**9
LARGEST_RATE = 1000.0
LARGEST_GAMMA = 1e9

_WHY_NOT = (
    "draws repeat until enough pass, and weights and bandwidths depend on every claim, so a single claim "
    "can show in the release"
)


@dataclass(frozen=True)
class PrivacyTest:
    """Parameters of the privacy test.

    Parameters
    ----------
    k:
        The number of plausible seeds that a candidate needs.
    gamma:
        Seeds are plausible if their kernels at the candidate lie within this factor of each other.
    epsilon0:
        The rate of the Laplace noise on the threshold k.
    require_k:
        Whether a candidate needs k plausible seeds even where the noisy threshold is lower.

    """

    k: int = 5
    gamma: float = 4.0
    epsilon0: float = 1.0
    require_k: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise ParameterError(f"k must be at least 1, not {self.k}")
        if not (isfinite(self.gamma) and self.gamma > 1):
            raise ParameterError(f"gamma must be a number above 1, not {self.gamma:g}")
        rational(self.epsilon0, what="epsilon0")
        if self.k > LARGEST_K or self.epsilon0 > LARGEST_RATE or self.gamma > LARGEST_GAMMA:
            raise ParameterError(
                f"k is at most {LARGEST_K}, epsilon0 at most {LARGEST_RATE:g} and gamma at most "
                f"{LARGEST_GAMMA:g}"
            )

    def promise(self, weights_ratio: str) -> Deniability | NoGuarantee:
        """The promise of a release that repeats this test; `weights_ratio` bounds the ratio of weights."""
        if self.require_k:
            return Deniability(self.k, self.gamma, weights_ratio, _WHY_NOT)
        return NoGuarantee(
            f"{_WHY_NOT}. Each released value passed a randomized test for {self.k} plausible seeds; a value "
            f"with only c < {self.k} of them passes with probability "
            f"0.5 exp(-{self.epsilon0:g} ({self.k} - c))."
        )


def draw(
    claims: Claims,
    weights: Weights,
    test: PrivacyTest,
    per_object: int,
    limits: Range | None = None,
    *,
    purpose: str,
    rng: Randomness,
    engine: Engine,
    tested: bool = True,
) -> tuple[Ints, Kept, np.ndarray[tuple[int], np.dtype[np.int8]]]:
    """Offsets and values of the released claims, and a status for each object.

    Candidates outside `limits` count as failed tries. `tested=False` skips the test: it measures what the
    test costs and is never used for a release.
    """
    check_per_object(per_object)
    if len(weights.combined) != len(claims) or len(weights.bandwidth) != claims.object_count:
        raise ParameterError("these weights belong to other claims")
    values, passing = engine.map(
        *("synthetic claims", claims, _through_test),
        _Tries(test, per_object, limits, rng.all_streams(purpose=purpose), tested),
        *(ByClaim(weights.combined), ByObject(weights.bandwidth)),
        per=("object", "object"),
        operations=float(len(claims)) * TRIES_PER_CLAIM * per_object,
    )
    passed, bandwidth = map(engine.collect, (passing, weights.bandwidth))
    count = claims.object_count
    statuses = np.full(count, Status.released, dtype=np.int8)
    statuses[passed < per_object] = Status.shortfall
    statuses[bandwidth == 0] = Status.constant
    statuses[claims.counts() < max(test.k, 2)] = Status.too_few
    offsets = np.concatenate([[0], np.cumsum(passed)]).astype(np.int64)
    return offsets, engine.flat(values, passed), statuses


class _Tries(NamedTuple):
    """What all blocks share: the test, how many values it is to pass, and the streams of the draws."""

    test: PrivacyTest
    per_object: int
    limits: Range | None
    streams: Streams
    tested: bool


def _through_test(block: Block, tries: _Tries, combined: Floats, bandwidth: Floats) -> tuple[Floats, Ints]:
    """For each object the values that passed, and how many they are."""
    test, streams = tries.test, tries.streams
    low, high = (-inf, inf) if tries.limits is None else (tries.limits.low, tries.limits.high)
    rate = rational(test.epsilon0, what="epsilon0")
    out = np.zeros((block.size, tries.per_object))
    passed = np.zeros(block.size, dtype=np.int64)
    candidates.draw_through_test(
        *(block.offsets, block.values, combined, bandwidth, low, high, test.k, test.gamma),
        *(rate.numerator, rate.denominator, test.require_k, tries.tested),
        *(TRIES_PER_CLAIM * tries.per_object, streams.key, streams.nonces(block.names, block.first)),
        *(0, block.size, out, passed),
    )
    return out, passed
