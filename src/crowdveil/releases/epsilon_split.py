"""How a certified release divides its epsilon among its noisy statistics, and the events that follow.

The statistics are the pair distances, from which the typical spread is estimated, then the histograms, then
possibly the weighted histograms of a second look. The parts are fractions and add up to epsilon exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from crowdveil.accounting.events import Event, PrivateEvent
from crowdveil.releases.histogram import histogram_noise, pair_noise
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.second_look import most_claims, weight_noise

PAIR_SHARE = 0.15  # of epsilon at the most goes to the typical spread ...
PAIR_COUNT = 150.0  # ... and less where there are many pairs
RELIABILITY_SHARE = Fraction(7, 10)  # of what is left, for reliability weights ...
RELIABLE = 250.0  # ... where claims of an object times epsilon are so many


@dataclass(frozen=True)
class EpsilonSplit:
    """The budget of a release and its division.

    Parameters
    ----------
    epsilon:
        The budget, exactly.
    neighbours:
        The neighbouring datasets.
    delta:
        The delta of the histograms' noise.
    second_share:
        The share of the epsilon left by the pair distances that a second look with reliability weights gets:
        0 for no second look, None for `RELIABILITY_SHARE` if objects have enough claims.

    """

    epsilon: Fraction
    neighbours: Neighbours
    delta: float = 0.0
    second_share: Fraction | None = Fraction(0)

    def for_pairs(self, pattern: Pattern) -> Fraction:
        """The epsilon of the pair distances, in thousandths; smaller if there are (publicly) many pairs."""
        share = PAIR_SHARE
        if self.neighbours.replaced:
            enough = PAIR_COUNT * self.neighbours.claims / max(1, pattern.pairs)
            share = min(PAIR_SHARE, enough / float(self.epsilon))
        return self.epsilon * max(Fraction(1, 1000), Fraction(int(share * 1000), 1000))

    def for_weights(self, left: Fraction, typical: float) -> Fraction:
        """The part of the epsilon `left` for the second look, if an object has about `typical` claims."""
        if self.second_share is not None:
            return left * self.second_share
        evidence = typical * float(left) / self.neighbours.claims
        return left * RELIABILITY_SHARE if evidence >= RELIABLE else Fraction(0)

    def _check_both(self, left: Fraction) -> None:
        """Raise `ParameterError` if the noise with or without a second look does not exist."""
        for second in (self.for_weights(left, 0.0), self.for_weights(left, inf)):
            histogram_noise(left - second, self.neighbours, self.delta)
            if second:
                weight_noise(second, self.neighbours, self.neighbours.claims)

    def events(self, pattern: Pattern) -> tuple[Event, ...]:
        """The noise of all statistics, in the order in which they are drawn.

        Under add-remove, the decision for a second look may depend on the noisy pair distances. Then only the
        total epsilon of the later statistics is known in advance.
        """
        pairs = self.for_pairs(pattern)
        pair_event, left = pair_noise(pairs, self.neighbours).event, self.epsilon - pairs
        if self.neighbours.replaced:
            weights = self.for_weights(left, float(pattern.per_object.mean()))
        elif self.for_weights(left, 0.0) == self.for_weights(left, inf):
            weights = self.for_weights(left, 0.0)
        else:
            self._check_both(left)
            return pair_event, PrivateEvent(left, self.delta)
        histogram_event = histogram_noise(left - weights, self.neighbours, self.delta).event
        if not weights:
            return pair_event, histogram_event
        most = most_claims(pattern, self.neighbours)
        return pair_event, histogram_event, weight_noise(weights, self.neighbours, most).event
