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
_P = 2**255 - 19  # the curve is -x^2 + y^2 = 1 + d x^2 y^2, modulo this
_D = -121665 * pow(121666, -1, _P) % _P


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key: 32 bytes.

    Raises `ParameterError` for one of the few that everybody can sign anything with.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if _of_small_order(self.raw):
            raise ParameterError("is not a public key that one holder alone can sign with")

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


def _of_small_order(raw: bytes) -> bool:
    """Whether a public key is one of the curve's eight points that 8 takes to zero.

    With such a key a signature is right whatever it signs. These points have y = 1 or -1 (order 1 or 2),
    y = 0 (order 4), or double to y = 0, which is x^2 = -y^2 (order 8) and so d y^4 + 2 y^2 = 1.
    """
    y = (int.from_bytes(raw, "little") & (2**255 - 1)) % _P  # without the sign of x
    return y * (y**2 - 1) * (_D * y**4 + 2 * y**2 - 1) % _P == 0
