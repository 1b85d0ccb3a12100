"""Streams: the same for the same key, purpose and name, different otherwise, and the key stays secret."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crowdveil.errors import ParameterError
from crowdveil.randomness import Name, Randomness, secure, seeded
from crowdveil.randomness.samplers import INTEGER_LIMIT


def draws(rng: Randomness, name: Name = "object", purpose: str = "test") -> list[float]:
    return list(rng.stream(name, purpose=purpose).uniforms(8))


def test_the_same_seed_gives_the_same_draws() -> None:
    assert draws(seeded(7)) == draws(seeded(7))


@pytest.mark.parametrize(
    "other",
    [
        draws(seeded(8)),
        draws(seeded(7), name="another object"),
        draws(seeded(7), name=""),
        draws(seeded(7), purpose="another test"),
        draws(seeded(7), name="test", purpose="object"),
        draws(seeded(7), name="tobject", purpose=""),
        draws(secure()),
    ],
)
def test_another_seed_name_or_purpose_gives_other_draws(other: list[float]) -> None:
    assert not set(draws(seeded(7))) & set(other)


@pytest.mark.parametrize(("number", "text"), [(7, "7"), (7, "i7"), (0, "0"), (-1, "-1")])
def test_a_number_and_its_text_are_different_names(number: int, text: str) -> None:
    assert draws(seeded(1), name=number) != draws(seeded(1), name=text)


def test_numbers_are_different_names_also_past_64_bits() -> None:
    names = [-(2**70), -7, -1, 0, 1, 7, 10, 77, 2**63, 2**70]
    assert len({tuple(draws(seeded(1), name=name)) for name in names}) == len(names)


def test_a_stream_goes_on_and_does_not_start_again() -> None:
    stream = seeded(1).stream("a", purpose="test")
    pieces = [stream.uniforms(3), stream.uniforms(0), stream.uniforms(5)]
    assert np.concatenate(pieces).tolist() == seeded(1).stream("a", purpose="test").uniforms(8).tolist()


def test_secure_randomness_is_private_and_never_the_same() -> None:
    first, second = secure(), secure()
    assert first.private
    assert second.private
    assert not set(draws(first)) & set(draws(second))


def test_seeded_randomness_is_not_private() -> None:
    assert not seeded(0).private


@pytest.mark.parametrize("make", [secure, lambda: seeded(3)])
@pytest.mark.parametrize("show", [repr, str, "{!r}".format, lambda rng: repr([rng])])
def test_the_key_is_never_shown(make: Callable[[], Randomness], show: Callable[[Randomness], str]) -> None:
    rng = make()
    words, _ = rng.streams(["a"], purpose="test")
    key = words.astype("<u4").tobytes()
    shown = show(rng)
    assert "key" not in shown
    assert repr(key)[2:-1] not in shown
    assert key.hex() not in shown
    assert str(int(words[0])) not in shown


def test_a_nonce_belongs_to_its_name_whatever_the_order_and_the_others() -> None:
    rng = seeded(5)
    names: list[Name] = ["b", 3, "a", "3"]
    together = dict(zip(names, rng.streams(names, purpose="test")[1].tolist(), strict=True))
    backwards = dict(zip(names[::-1], rng.streams(names[::-1], purpose="test")[1].tolist(), strict=True))
    alone = {name: rng.streams([name], purpose="test")[1][0].tolist() for name in names}
    assert together == backwards == alone


def test_nonces_of_many_names_are_all_different() -> None:
    nonces = seeded(5).streams(range(50_000), purpose="test")[1]
    assert nonces.shape == (50_000, 3)
    assert len(np.unique(nonces, axis=0)) == 50_000


def test_every_use_of_secure_randomness_has_a_key_of_its_own_and_a_nonce_for_each_name() -> None:
    rng = secure()
    first, nonces = rng.streams(["a", "b", "c"], purpose="test")
    second, again = rng.streams(["a", "b", "c"], purpose="test")
    assert first.tolist() != second.tolist()
    assert nonces.tolist() == again.tolist()
    assert len(np.unique(nonces, axis=0)) == 3
    assert not nonces[:, 0].any()  # it takes the carry of the block counter, which then meets no other name


def test_no_names_give_no_nonces() -> None:
    assert seeded(5).streams([], purpose="test")[1].shape == (0, 3)


def test_every_bit_of_key_and_nonces_is_used() -> None:
    keys = np.bitwise_or.reduce([seeded(seed).streams([], purpose="test")[0] for seed in range(100)])
    nonces = np.bitwise_or.reduce(seeded(0).streams(range(100), purpose="test")[1])
    assert (keys == 2**32 - 1).all()
    assert (nonces == 2**32 - 1).all()


@pytest.mark.parametrize("seed", [-1, 1.0, 1.5, "1", None])
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(ParameterError, match="seed"):
        seeded(seed)


@pytest.mark.parametrize("purpose", ["seventeen letters", "ääääääääü"])
def test_a_purpose_too_long_for_the_hash_is_refused(purpose: str) -> None:
    with pytest.raises(ParameterError, match="purpose"):
        seeded(1).stream("a", purpose=purpose)


BAD_FRACTIONS = [(0, 1), (1, 0), (-1, 1), (1, -1), (INTEGER_LIMIT, 1), (1, INTEGER_LIMIT)]


@pytest.mark.parametrize(("num", "den"), BAD_FRACTIONS)
def test_a_bad_scale_is_refused(num: int, den: int) -> None:
    with pytest.raises(ParameterError, match="scale"):
        seeded(1).stream("a", purpose="test").discrete_laplace(1, num=num, den=den)


@pytest.mark.parametrize(("num", "den"), BAD_FRACTIONS)
def test_a_bad_rate_is_refused(num: int, den: int) -> None:
    with pytest.raises(ParameterError, match="rate"):
        seeded(1).stream("a", purpose="test").laplace_at_least(1, 1, num=num, den=den)


def test_secure_randomness_never_gives_the_same_key_twice() -> None:
    rng = secure()
    first, second = (rng.streams(["a"], purpose="test")[0] for _ in range(2))
    assert (first != second).any()


@pytest.mark.parametrize(("threshold", "num"), [(2**40, 2**39), (-(2**61), 2)])
def test_a_threshold_that_would_overflow_is_refused(threshold: int, num: int) -> None:
    with pytest.raises(ParameterError):
        seeded(1).stream("a", purpose="test").laplace_at_least(10, threshold, num=num, den=1)


def test_a_scale_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ParameterError):
        seeded(1).stream("a", purpose="test").discrete_laplace(10, num=1.5, den=1)  # type: ignore[arg-type]


def test_numbers_of_names_do_not_come_round() -> None:
    streams = secure().all_streams(purpose="test")
    assert streams.nonces(["last"], 2**32 - 1)[0, 1] == 2**32 - 1
    with pytest.raises(ParameterError, match="at most 4,294,967,296 names"):
        streams.nonces(["last", "first"], 2**32 - 1)
