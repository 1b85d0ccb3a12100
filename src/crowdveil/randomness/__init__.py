"""The only source of randomness: ChaCha20 streams, one for each (purpose, name), under a secret key.

`secure()` takes a *new* key from the operating system for every use, so no two releases share noise.
`seeded(n)` derives its key from a number, so a run can be repeated; it is therefore **not private**, because
anyone who knows the seed can remove the noise. Results record which of the two was used.

A stream belongs to a purpose and a name (of an object, say). So draws do not depend on threads and, under a
seed, neither on the order of rows nor on the other objects.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crowdveil.errors import ParameterError
from crowdveil.randomness import chacha, samplers
from crowdveil.randomness.chacha import KEY_WORDS, NONCE_WORDS, STATE_WORDS, Words

__all__ = ["Name", "Randomness", "Stream", "Streams", "Words", "secure", "seeded"]

Name = str | int
MOST_NAMES = 2**32  # under one key: a name's number is one word of its nonce


@dataclass(frozen=True)
class Randomness:
    """The source of keys: the operating system (a new key for each use) or a seed (always the same key)."""

    _seed_key: bytes | None = field(repr=False)

    @property
    def private(self) -> bool:
        """Whether the draws are secret, that is, not derived from a seed."""
        return self._seed_key is None

    def part(self, name: str) -> Randomness:
        """Randomness for one part of a run, with streams independent of those of all other parts.

        Without a seed this is the same object, because no two uses share a key anyway.
        """
        if self._seed_key is None:
            return self
        return Randomness(
            hashlib.blake2b(name.encode(), key=self._seed_key, digest_size=4 * KEY_WORDS).digest()
        )

    def streams(self, names: Collection[Name], *, purpose: str) -> tuple[Words, Words]:
        """A key, and a row of nonce words for each name."""
        streams = self.all_streams(purpose=purpose)
        return streams.key, streams.nonces(names)

    def all_streams(self, *, purpose: str) -> Streams:
        """The streams of one purpose, one for each name; without a seed under a new key."""
        person = purpose.encode()
        if len(person) > hashlib.blake2b.PERSON_SIZE:
            raise ParameterError(f"a purpose has at most {hashlib.blake2b.PERSON_SIZE} bytes")
        key = self._seed_key
        return Streams(_words(os.urandom(4 * KEY_WORDS) if key is None else key), key, person)

    def stream(self, name: Name, *, purpose: str) -> Stream:
        """The stream of one name, from which arrays can be drawn."""
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        key, nonces = self.streams([name], purpose=purpose)
        chacha.start(state, key, nonces[0])
        return Stream(state)


@dataclass(frozen=True, eq=False)
class Streams:
    """The streams of one purpose under one secret key.

    It is what a loop needs to draw for any part of the names: whoever draws for a name again, elsewhere or
    after a failure, draws the same.
    """

    key: Words = field(repr=False)
    _seed_key: bytes | None = field(repr=False)
    _person: bytes

    def nonces(self, names: Collection[Name], first: int = 0) -> Words:
        """A row of nonce words for each of these names, the first of which has number `first` among all.

        Under a fresh key the nonce is the number of the name; under the key of a seed it is a hash of purpose
        and name.
        """
        if self._seed_key is None:
            if first + len(names) > MOST_NAMES:
                raise ParameterError(f"at most {MOST_NAMES:,} names have streams under one key")
            places = np.zeros((len(names), NONCE_WORDS), dtype=np.uint32)
            places[:, 1] = np.arange(first, first + len(names))  # word 0 takes the carry of the block counter
            return places
        keyed = hashlib.blake2b(key=self._seed_key, person=self._person, digest_size=4 * NONCE_WORDS)
        digests = []
        for name in names:
            # "7" and 7 are different names.
            text = b"t" + name.encode() if isinstance(name, str) else b"i%d" % name
            hashed = keyed.copy()
            hashed.update(text)
            digests.append(hashed.digest())
        return _words(b"".join(digests)).reshape(-1, NONCE_WORDS)


def _words(data: bytes) -> Words:
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)


class Stream:
    """One stream of draws; each call continues where the last one stopped."""

    def __init__(self, state: Words) -> None:
        self._state = state

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """Uniform draws from the multiples of 2^-53 in [0, 1)."""
        out = np.empty(count)
        samplers.fill_uniform(self._state, out)
        return out

    def normals(self, count: int) -> NDArray[np.float64]:
        """Floating-point standard normal draws: for simulated data, never for privacy noise."""
        out = np.empty(count)
        samplers.fill_normal(self._state, out)
        return out

    def discrete_laplace(self, count: int, *, num: int, den: int) -> NDArray[np.int64]:
        """Exact discrete Laplace noise of scale num/den."""
        _check_fraction(num, den)
        out = np.empty(count, dtype=np.int64)
        samplers.fill_discrete_laplace(self._state, num, den, out)
        return out

    def laplace_at_least(self, count: int, threshold: int, *, num: int, den: int) -> NDArray[np.bool_]:
        """Exact draws of the event "continuous Laplace noise of rate num/den is at least `threshold`"."""
        _check_fraction(num, den)
        if abs(threshold) * num >= 2**62:
            raise ParameterError("the threshold is too large for this rate")
        out = np.empty(count, dtype=np.bool_)
        samplers.fill_laplace_at_least(self._state, threshold, num, den, out)
        return out


def _check_fraction(num: int, den: int) -> None:
    for part in (num, den):
        if not isinstance(part, int) or not 0 < part < samplers.INTEGER_LIMIT:
            raise ParameterError("a scale or rate num/den needs integers between 1 and 2^40")


def secure() -> Randomness:
    """Randomness from the operating system: the default everywhere.

    >>> secure().private
    True
    """
    return Randomness(None)


def seeded(seed: int) -> Randomness:
    """Randomness derived from a seed: a run can be repeated, and therefore has **no privacy**.

    >>> draws = [seeded(1).stream("a", purpose="example").uniforms(3) for _ in range(2)]
    >>> bool((draws[0] == draws[1]).all())
    True
    """
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"a seed is a whole number of at least 0, not {seed!r}")
    digest = hashlib.blake2b(b"crowdveil seed %d" % seed, digest_size=4 * KEY_WORDS)
    return Randomness(digest.digest())
