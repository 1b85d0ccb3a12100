"""Ed25519 keys: one signs what is published, its public half tells who did. The one door to cryptography.

The library draws keys from the operating system. The private half leaves a key only as the text of its own
file (`to_file`): it is in no error and in no `repr`.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from crowdveil.errors import ParameterError

FINGERPRINT_DIGITS, GROUP = 32, 4  # 128 bits: nobody finds another key with the same ones


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key: 32 bytes."""

    raw: bytes

    @property
    def fingerprint(self) -> str:
        """What people compare by phone: 32 digits of the SHA-256 of the key, in groups of four."""
        digits = hashlib.sha256(self.raw).hexdigest()[:FINGERPRINT_DIGITS]
        return ":".join(digits[i : i + GROUP] for i in range(0, FINGERPRINT_DIGITS, GROUP))

    @property
    def text(self) -> str:
        """The key in base64, as certificates hold it."""
        return b64encode(self.raw).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> PublicKey:
        """The key that `text` gives; `ParameterError` for anything else."""
        return cls(_bytes_of(text, 32))

    def to_pem(self) -> str:
        """The key as a PEM file, which other programs read too."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(serialization.Encoding.PEM, form).decode("ascii")

    @classmethod
    def from_pem(cls, data: bytes) -> PublicKey:
        """The key in a PEM file; `ParameterError` if that holds anything else, a private key included."""
        try:
            key = serialization.load_pem_public_key(data)
        except (ValueError, UnsupportedAlgorithm):
            raise ParameterError("is not a public key in PEM form") from None
        if not isinstance(key, Ed25519PublicKey):
            raise ParameterError("is a public key of another kind than Ed25519")
        return cls(key.public_bytes_raw())

    def signed(self, message: bytes, signature: str) -> bool:
        """Whether the signature (in base64) is one of this message by this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(_bytes_of(signature, 64), message)
        except (InvalidSignature, ParameterError, ValueError):
            return False
        return True


class SigningKey:
    """A key that signs. It shows its public half only."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint})"

    @classmethod
    def new(cls) -> SigningKey:
        """A new key, from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> PublicKey:
        """The half that others may have."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> str:
        """The signature of a message, in base64."""
        return b64encode(self._key.sign(message)).decode("ascii")

    def to_file(self) -> bytes:
        """The text of the private key's own file; it goes nowhere else."""
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @classmethod
    def from_file(cls, data: bytes) -> SigningKey:
        """The key in the text of its file; `ParameterError` for anything else, without a word of it."""
        try:
            key = serialization.load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a password
            raise ParameterError("is not a private key that can be read") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ParameterError("is a private key of another kind than Ed25519")
        return cls(key)


def _bytes_of(text: str, size: int) -> bytes:
    """Bytes from base64: that many, written in the one way."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        data = b""
    if len(data) != size or b64encode(data).decode("ascii") != text:
        raise ParameterError(f"is not {size} bytes in base64")
    return data
