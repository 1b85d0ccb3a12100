"""Keys: what they sign, what they show, and what is no key."""

from __future__ import annotations

import re
from base64 import b64encode

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from crowdveil.errors import ParameterError
from crowdveil.signing import PublicKey, SigningKey

# RFC 8032, 7.1, test 2.
SECRET = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = (
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
    "387b2eaeb4302aeeb00d291612bb0c00"
)


def _pem(key: Ed25519PrivateKey | X25519PrivateKey, password: bytes | None = None) -> bytes:
    closed = (
        serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password)
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, closed)


def test_the_vector_of_the_standard_is_signed_alike() -> None:
    from base64 import b64decode

    key = SigningKey(Ed25519PrivateKey.from_private_bytes(SECRET))
    assert key.public.raw == PUBLIC
    assert b64decode(key.sign(b"\x72")).hex() == SIGNATURE
    assert key.public.signed(b"\x72", key.sign(b"\x72"))


def test_another_message_another_key_and_another_signature_are_told_apart() -> None:
    key, other = SigningKey.new(), SigningKey.new()
    signature = key.sign(b"this")
    assert key.public.signed(b"this", signature)
    assert not key.public.signed(b"that", signature)
    assert not other.public.signed(b"this", signature)
    assert not key.public.signed(b"this", other.sign(b"this"))
    for wrong in ("", "rubbish", signature[:-4], signature + "AAAA", f" {signature}", "é" * 88):
        assert not key.public.signed(b"this", wrong)


def test_keys_come_back_from_their_files() -> None:
    key = SigningKey.new()
    again = SigningKey.from_file(key.to_file())
    assert again.public == key.public
    assert again.sign(b"x") == key.sign(b"x")
    assert PublicKey.from_pem(key.public.to_pem().encode()) == key.public
    assert PublicKey.from_text(key.public.text) == key.public
    assert SigningKey.new().public != key.public


def test_a_fingerprint_can_be_read_out_and_belongs_to_one_key() -> None:
    key = SigningKey.new().public
    assert re.fullmatch(r"([0-9a-f]{4}:){7}[0-9a-f]{4}", key.fingerprint)
    assert key.fingerprint != SigningKey.new().public.fingerprint
    assert PublicKey(PUBLIC).fingerprint == "39f7:13d0:a644:253f:0452:9421:b9f5:1b9b"


def test_a_key_shows_its_public_half_only() -> None:
    key = SigningKey.new()
    assert repr(key) == f"SigningKey({key.public.fingerprint})"


@pytest.mark.parametrize("text", ["", "AAAA", "é", "A" * 43 + "B=", " " + "A" * 43 + "=", "A" * 44])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        PublicKey.from_text(text)


def test_what_is_no_key_file_is_refused_without_a_word_of_it() -> None:
    key = Ed25519PrivateKey.generate()
    whole = _pem(key)
    secret = whole.splitlines()[1].decode()
    for data in (
        b"",
        b"rubbish",
        whole[:-30],
        whole.replace(secret[:20].encode(), b"AAAA"),
        _pem(key, b"password"),
        _pem(X25519PrivateKey.generate()),
    ):
        with pytest.raises(ParameterError) as refused:
            SigningKey.from_file(data)
        assert secret[20:40] not in str(refused.value)
        assert refused.value.__cause__ is None
    with pytest.raises(ParameterError, match="is not a public key"):
        PublicKey.from_pem(whole)  # a private key must not pass for one that may be sent around
    other = X25519PrivateKey.generate().public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    with pytest.raises(ParameterError, match="another kind"):
        PublicKey.from_pem(other.public_bytes(serialization.Encoding.PEM, form))


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize(
    "y",
    [
        *(0, 1, 2**255 - 20),  # of order 4, 1 and 2
        *(2**255 - 19, 2**255 - 18),  # the first two written in another way
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,  # of order 8
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    ],
)
def test_keys_that_everybody_can_sign_with_are_refused(y: int, sign: int) -> None:
    """The points of small order, with which one signature fits many messages, or all of them."""
    raw = (y + sign * 2**255).to_bytes(32, "little")
    pem = Ed25519PublicKey.from_public_bytes(raw).public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ParameterError, match="one holder alone"):
        PublicKey.from_pem(pem)
    with pytest.raises(ParameterError, match="one holder alone"):
        PublicKey.from_text(b64encode(raw).decode())
