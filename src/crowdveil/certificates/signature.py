"""The signature of a certificate: which bytes are signed, and the check.

Signed is everything that a certificate states except the signature itself: the promise, and the digests of
the files that were published with it. The bytes are a line that says what is signed, and then the JSON with
sorted keys, no spaces, and text in UTF-8. The line keeps a signature from being used for anything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crowdveil.certificates.certificate import Certificate
from crowdveil.errors import ParameterError
from crowdveil.plain_data import parse_json, problem, to_json
from crowdveil.signing import PublicKey, SigningKey

_DOMAIN = b"crowdveil certificate, signed form 1\n"
_KEYS = {"key": str, "value": str}


def stated(certificate: Certificate, key: SigningKey | None) -> dict[str, Any]:
    """A certificate as plain JSON data, with the signature of a key.

    What is seeded is never signed: it is for tests, and nobody should have to vouch for it.
    """
    given: dict[str, Any] = parse_json(to_json(certificate.to_dict()))
    if key is None or certificate.seeded:
        return given
    return given | {"signature": {"key": key.public.text, "value": key.sign(signed_bytes(given))}}


def signer(given: Mapping[str, Any]) -> PublicKey | None:
    """Whose signature a certificate has; None if it has none, `ParameterError` if it is not right.

    It tells that nothing was changed since that key signed it. Whose key that is, it cannot tell.
    """
    if "signature" not in given:
        return None
    signature = given["signature"]
    wrong = problem(signature, _KEYS, "signature.") if isinstance(signature, dict) else "signature is none"
    if wrong is not None:
        raise ParameterError(wrong)
    try:
        key = PublicKey.from_text(signature["key"])
    except ParameterError:
        raise ParameterError("signature.key is not what belongs there") from None
    if not key.signed(signed_bytes(given), signature["value"]):
        raise ParameterError("the signature is not one of what it says now")
    return key


def signed_bytes(given: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: all of a certificate but its signature, in the one canonical form."""
    rest = {name: value for name, value in given.items() if name != "signature"}
    text = json.dumps(rest, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        return _DOMAIN + text.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError("it has text that is none") from None
