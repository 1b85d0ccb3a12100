"""How a certified release divides its epsilon among its noisy statistics, and the events that follow.

First come the pair distances, which tell the typical spread; then the histograms; then perhaps the weighted
histograms of a second look. The parts add up to epsilon exactly (they are fractions).
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
    """The budget of a release and what it is for.

    Parameters
    ----------
    epsilon:
        The budget, exactly.
    neighbours:
        Who is protected, and against what change.
    delta:
        Of the histograms' noise.
    second_share:
        The share of what the pair distances leave, for a second look with reliability weights: 0 for none,
        None to spend `RELIABILITY_SHARE` where there is much evidence for each object.

    """

    epsilon: Fraction
    neighbours: Neighbours
    delta: float = 0.0
    second_share: Fraction | None = Fraction(0)

    def for_pairs(self, pattern: Pattern) -> Fraction:
        """The epsilon of the pair distances, in thousandths; less where there are, publicly, many pairs."""
        share = PAIR_SHARE
        if self.neighbours.replaced:
            enough = PAIR_COUNT * self.neighbours.claims / max(1, pattern.pairs)
            share = min(PAIR_SHARE, enough / float(self.epsilon))
        return self.epsilon * max(Fraction(1, 1000), Fraction(int(share * 1000), 1000))

    def for_weights(self, left: Fraction, typical: float) -> Fraction:
        """The epsilon of the second look, of what is left; objects have `typical` claims, as far as known."""
        if self.second_share is not None:
            return left * self.second_share
        evidence = typical * float(left) / self.neighbours.claims
        return left * RELIABILITY_SHARE if evidence >= RELIABLE else Fraction(0)

    def events(self, pattern: Pattern) -> tuple[Event, ...]:
        """The noise of all statistics, in the order in which they are drawn.

        Where claims come and go, whether there is a second look may depend on the noisy pair distances.
        Then only the epsilon of what follows them is known beforehand.
        """
        pairs = self.for_pairs(pattern)
        pair_event, left = pair_noise(pairs, self.neighbours).event, self.epsilon - pairs
        if self.neighbours.replaced:
            weights = self.for_weights(left, float(pattern.per_object.mean()))
        elif self.for_weights(left, 0.0) == self.for_weights(left, inf):
            weights = self.for_weights(left, 0.0)
        else:
            return pair_event, PrivateEvent(left, self.delta)
        histogram_event = histogram_noise(left - weights, self.neighbours, self.delta).event
        if not weights:
            return pair_event, histogram_event
        most = most_claims(pattern, self.neighbours)
        return pair_event, histogram_event, weight_noise(weights, self.neighbours, most).event
