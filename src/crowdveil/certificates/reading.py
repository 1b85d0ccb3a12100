"""Reading a certificate back, and refusing one whose numbers do not follow from its facts.

Checked are its version, its keys and types, its signature if it has one, and that its promise is the one that
its method promises with its parameters and public numbers. Without a signature, whoever changes all of them
in step is not found out (docs/certificates.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args, get_type_hints

from crowdveil.certificates.certificate import SCHEMA_VERSION, Certificate, Kind
from crowdveil.certificates.levels import Level
from crowdveil.certificates.recomputation import difference, recomputed, same_number, without_counts
from crowdveil.certificates.signature import signer
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.plain_data import construct, fits, parse_json, problem
from crowdveil.releases.registry import RELEASES
from crowdveil.signing import PublicKey
from crowdveil.synthesis.registry import METHODS

FIRST_SIGNED = 3  # the version that states levels and may have a signature
LEAST_REALISED = 0.9  # of the epsilon asked for; drawn exactly, reports realise a little less
_PROMISES: dict[str, type[Guarantee | Deniability | NoGuarantee]] = {
    "differential privacy": Guarantee,
    "plausible deniability": Deniability,
    "none": NoGuarantee,
}
_KEYS_OF_VERSION_1: dict[str, Any] = {
    "schema_version": int,
    "crowdveil": str,
    "method": str,
    "parameters": dict,
    "seeded": bool,
    "synthetic": bool,
    "promise": dict,
    "not_promised": tuple[str, ...],
}
_KEYS_OF_VERSION_2: dict[str, Any] = _KEYS_OF_VERSION_1 | {
    "kind": Kind,
    "public": dict,
    "user_promise": dict | None,
    "contents": dict,
}
_KEYS = {
    1: _KEYS_OF_VERSION_1,
    2: _KEYS_OF_VERSION_2,
    3: _KEYS_OF_VERSION_2 | {"levels": list},
}


@dataclass(frozen=True)
class Checked:
    """A certificate whose parts agree, and what was checked besides.

    Parameters
    ----------
    certificate:
        What it says, in today's words.
    recomputed:
        Whether its epsilon was computed again from its facts.
    signer:
        The key that signed all of it, if it is signed; anybody can have made one.
    expected:
        Whether that is the key that the reader named.
    files:
        Names of the published files that were compared with their digests; None if none were looked at.
    rows:
        Whether the rows of the table that carries it were compared with their digest.
    version:
        Of its form; 0 is what files told before they had certificates.

    """

    certificate: Certificate
    recomputed: bool
    signer: PublicKey | None = None
    expected: bool = False
    files: tuple[str, ...] | None = None
    rows: bool = False
    version: int = SCHEMA_VERSION

    @property
    def must_be_tied(self) -> bool:
        """Whether it speaks for a table only if it tells a digest of the rows; early ones need not."""
        return self.version >= FIRST_SIGNED


def read_text(text: str, source: str) -> Checked:
    """A certificate from its text, refused unless all of it fits; its promise is in today's words."""
    try:
        stated = parse_json(text)
    except (ValueError, RecursionError):
        raise InputError(f"{source}: is not a certificate: it is not JSON, or not all of it") from None
    if isinstance(stated, dict) and "format" in stated:
        return _before_certificates(stated, source)
    if not isinstance(stated, dict) or "schema_version" not in stated:
        raise InputError(f"{source}: is not a crowdveil certificate")
    version = stated["schema_version"]
    if not fits(version, int) or not 1 <= version <= SCHEMA_VERSION:
        raise InputError(
            f"{source}: is a certificate of another version; this crowdveil reads versions up to "
            f"{SCHEMA_VERSION}"
        )
    try:
        by = signer(stated) if version >= FIRST_SIGNED else None
        checked = _checked(_certificate(stated, version), version)
        if version >= FIRST_SIGNED:
            _check_levels(stated["levels"], checked.certificate)
        return replace(checked, signer=by, version=version)
    except ParameterError as error:
        raise InputError(f"{source}: was edited or is damaged: {error}") from None


def _before_certificates(stated: dict[str, Any], source: str) -> Checked:
    """What files of noisy claims, reports and synthetic records told before they had certificates."""
    try:
        if type(stated["format"]) is not int or stated["format"] != 1:
            raise ParameterError("it has another format")
        if "mechanism" not in stated:
            return Checked(_synthetic_of_format_1(stated), recomputed=False, version=0)
        certificate = _perturbed_of_format_1(stated)
        if certificate.kind == "reports":
            promise, user_promise, _ = recomputed(certificate)
        else:  # how many claims a user has was not kept; what is promised about one does not depend on it
            promise, user_promise = recomputed(replace(certificate, public={"claims_of_a_user": 1}))[0], None
        field = difference(certificate.promise, promise)
        if field is not None:
            raise ParameterError(f"promise.{field} is not the one of the mechanism and its parameters")
        told = replace(certificate, promise=promise, user_promise=user_promise)
        return Checked(told, recomputed=True, version=0)
    except ParameterError as error:
        raise InputError(f"{source}: what it tells of itself cannot be used ({error})") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{source}: does not tell a mechanism as crowdveil perturb writes it") from None


def _perturbed_of_format_1(stated: dict[str, Any]) -> Certificate:
    reports = "objects" in stated
    public: dict[str, Any] = {}
    if reports:
        public = {"objects": len(stated["objects"]), "declared": stated["declared"] is True}
    seeded = stated["seeded"] is not False
    return Certificate(
        kind="reports" if reports else "noisy claims",
        method=stated["mechanism"],
        parameters=stated["parameters"],
        promise=promise_of(stated["promise"], "promise"),
        seeded=seeded,
        synthetic=False,
        public=public,
        contents={name: stated[name] for name in ("users", "objects", "sha256") if name in stated},
    )


def _synthetic_of_format_1(stated: dict[str, Any]) -> Certificate:
    promise = promise_of(stated["promise"], "promise")
    parameters = construct(METHODS[stated["method"]].parameters, stated["parameters"], "parameters.")
    declared, seeded = stated["domains_declared"] is True, stated["seeded"] is not False
    if isinstance(promise, Guarantee):
        # Sizes of columns were not kept: epsilon is the one asked for, or a little less.
        scope = (promise.delta, promise.unit, promise.adjacency, promise.trust)
        near = LEAST_REALISED * parameters.epsilon <= promise.epsilon <= parameters.epsilon
        if seeded or not declared or scope != (0.0, "record", "replace-one", "local") or not near:
            raise ParameterError("the promise is not one of the method and its parameters")
    return Certificate(
        kind="synthetic records",
        method=stated["method"],
        parameters=stated["parameters"],
        promise=promise,
        seeded=seeded,
        synthetic=True,
        public={"declared": declared},
        contents={name: stated[name] for name in ("sha256",) if name in stated},
    )


def _certificate(stated: dict[str, Any], version: int) -> Certificate:
    """The parts of a certificate, of the right types."""
    keys = _KEYS[version]
    if stated.get("seeded") is True:
        keys = keys | {"warning": str}
    if version >= FIRST_SIGNED and "signature" in stated:
        keys = keys | {"signature": dict}
    wrong = problem(stated, keys)
    if wrong is not None:
        raise ParameterError(wrong)
    user = stated.get("user_promise")
    return Certificate(
        kind=stated.get("kind", get_args(Kind)[0]),
        method=stated["method"],
        parameters=stated["parameters"],
        promise=promise_of(stated["promise"], "promise"),
        seeded=stated["seeded"],
        synthetic=stated["synthetic"],
        public=stated.get("public", {}),
        user_promise=None if user is None else promise_of(user, "user_promise"),
        contents=stated.get("contents", {}),
        crowdveil=stated["crowdveil"],
    )


def promise_of(stated: dict[str, Any], where: str) -> Promise:
    """A promise from its plain data; its sentence is not looked at."""
    kind = _PROMISES.get(stated["kind"]) if isinstance(stated.get("kind"), str) else None
    if kind is None:
        raise ParameterError(f"{where}.kind is none that exists")
    hints = get_type_hints(kind)
    wrong = problem(stated, {"kind": str, "sentence": str} | hints, f"{where}.")
    if wrong is not None:
        raise ParameterError(wrong)
    fields = {name: stated[name] for name in hints}
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = tuple(value)
        elif hints[name] is float:
            fields[name] = float(value)
    try:
        return kind(**fields)
    except ParameterError:
        raise ParameterError(f"{where} has numbers that none can have") from None


def _checked(certificate: Certificate, version: int) -> Checked:
    """With the promise that follows from the facts, which must be the one that is stated."""
    if certificate.seeded and not isinstance(certificate.promise, NoGuarantee):
        raise ParameterError("what is seeded promises nothing")
    # Version 1 did not keep the numbers of claims that some promises depend on.
    trusting = version == 1 and RELEASES[certificate.method].depends_on_counts
    promise, user_promise, synthetic = without_counts(certificate) if trusting else recomputed(certificate)
    for name, stated, computed in (
        ("promise", certificate.promise, promise),
        ("user_promise", certificate.user_promise, user_promise),
    ):
        field = difference(stated, computed)
        if field is not None:
            raise ParameterError(f"{name}.{field} is not the one of the method and its parameters")
    if certificate.synthetic != synthetic:
        raise ParameterError(f"synthetic is not what it is for the method {certificate.method}")
    return Checked(replace(certificate, promise=promise, user_promise=user_promise), recomputed=not trusting)


def _check_levels(stated: list[Any], certificate: Certificate) -> None:
    """Raise `ParameterError` unless the levels have the numbers that follow from the promise."""
    computed = certificate.levels()
    kinds = get_type_hints(Level) | {"sentence": str}
    alike = len(stated) == len(computed) and all(
        isinstance(one, dict)
        and problem(one, kinds) is None
        and all(same_number(one[name], getattr(other, name)) for name in ("epsilon", "delta"))
        and (one["times"] is None) == (other.times is None)
        for one, other in zip(stated, computed, strict=True)
    )
    if not alike:
        raise ParameterError("levels are not those of the promise")
