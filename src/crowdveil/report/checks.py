"""What was checked of a certificate before it was explained, and what that is worth."""

from __future__ import annotations

from typing import Any

from crowdveil.certificates.reading import Checked
from crowdveil.files.published import FILES


def told(checked: Checked) -> dict[str, Any]:
    """What was checked, as plain JSON data."""
    signature = None
    if checked.signer is not None:
        signature = {"signed_by": checked.signer.fingerprint, "by_the_named_key": checked.expected}
    return {
        "signature": signature,
        "recomputed": checked.recomputed,
        "files": None if checked.files is None else list(checked.files),
        "rows": checked.rows,
    }


def sentences(checked: Checked) -> list[str]:
    """What was checked, in plain words."""
    return [_signature(checked), _numbers(checked), _files(checked)]


def _signature(checked: Checked) -> str:
    if checked.signer is None:
        return (
            "Not signed: somebody careful could have changed it and its parameters in step. Take it from the "
            "people who made the release."
        )
    if checked.expected:
        return f"Signed by {checked.signer.fingerprint}, which is the key that you named."
    return (
        f"Signed by {checked.signer.fingerprint}, which you must compare with the publisher's: anybody can "
        "make a key and sign what they like with it. (--key FILE compares it with a key that you have.)"
    )


def _numbers(checked: Checked) -> str:
    if checked.recomputed:
        return (
            "Consistent: its numbers, not its words, follow from its method, parameters and public numbers, "
            "which was computed again. Those are taken as stated, unless a key that you trust signed them."
        )
    return (
        "NOT computed again: it lacks the public numbers from which its epsilon would follow. Take it from "
        "the people who made the release."
    )


def _files(checked: Checked) -> str:
    if checked.files is not None:
        return f"Published with it, byte for byte: {', '.join(checked.files)}."
    if checked.rows:
        return "The rows of the table are those that it was written with."
    if FILES in checked.certificate.contents:
        return "No file that was published with it was looked at: name the folder of the release for that."
    return "It was compared with no data: it tells no digest of any, or none were given."
