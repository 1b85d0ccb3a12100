"""A campaign: everything that is frozen once it opens, as the operator asks for it and as devices see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, get_args

from crowdveil.accounting.rounding import up
from crowdveil.campaigns.kind import Kind, text_of
from crowdveil.campaigns.registry import KINDS
from crowdveil.campaigns.request import options_of
from crowdveil.campaigns.statement import Admission, checked_promise, guarantee
from crowdveil.certificates.certificate import Certificate
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.wire import VERSION

MOST_WAVES = 1000
ABOUT = ("facts", "opinions")


@dataclass(frozen=True)
class Campaign:
    """What is asked of whom, and how answers are protected.

    Parameters
    ----------
    title:
        For people to read.
    kind:
        What is asked, and the mechanism.
    admission:
        "open": whoever has the link; "invited": whoever has an invitation.
    waves:
        How often everybody can report.
    about:
        Whether values are "facts", or "opinions".
    wire:
        The version of the form in which devices send reports.

    """

    title: str
    kind: Kind
    admission: Admission = "open"
    waves: int = 1
    about: str = "facts"
    wire: int = VERSION

    def __post_init__(self) -> None:
        if self.admission not in get_args(Admission):
            raise ParameterError('admission is "open" or "invited"')
        if type(self.waves) is not int or not 1 <= self.waves <= MOST_WAVES:
            raise ParameterError(f"waves is a whole number from 1 to {MOST_WAVES}")
        if self.about not in ABOUT:
            raise ParameterError('about is "facts" or "opinions"')
        if type(self.wire) is not int or self.wire != VERSION:
            raise ParameterError(
                f"this campaign opened with another version of the reports' form than {VERSION}, which this "
                "version of crowdveil speaks"
            )

    @classmethod
    def asked(cls, request: Mapping[str, Any]) -> Campaign:
        """The campaign that an operator asks for; `ParameterError` if there cannot be one."""
        kind = KINDS[str(request.get("kind"))].asked(request)
        checked_promise(kind, insist=options_of(request).get("insist") is True)
        return cls(
            text_of(request.get("title"), "the title"),
            kind,
            request.get("admission") or "open",
            1 if request.get("waves") is None else request["waves"],
            request.get("about") or "facts",
        )

    @cached_property
    def guarantee(self) -> dict[str, Any]:
        """What is promised and what is not."""
        return guarantee(self.kind, self.admission, self.waves)

    def of_one_wave(self, certificate: Certificate) -> Certificate:
        """A certificate of what one wave gave, which says so where there are others."""
        if self.waves == 1:
            return certificate
        return replace(certificate, public={**certificate.public, "waves": self.waves})

    def to_dict(self) -> dict[str, Any]:
        """The public document: all that a device needs to perturb and to refuse."""
        return {
            "title": self.title,
            "kind": self.kind.name,
            **self.kind.to_dict(),
            "about": self.about,
            "admission": self.admission,
            "waves": self.waves,
            "mechanism": {**self.kind.mechanism(), "wire": self.wire},
            "guarantee": self.guarantee,
        }

    @classmethod
    def from_dict(cls, public: Any) -> Campaign:
        """The campaign of a public document, which must say what the campaign says itself.

        What is promised is computed here. `InputError` for a document that no campaign has, or that says
        something else anywhere, a number or a sentence; further entries, as a server adds them, are not read.
        """
        campaign = cls.kept(public)
        said, own = _without_remarks(public), _without_remarks(campaign.to_dict())
        if any(said.get(name) != own[name] for name in own):
            raise InputError("the campaign says something else than its mechanism holds")
        return campaign

    @classmethod
    def kept(cls, public: Any) -> Campaign:
        """The campaign of a document that this side wrote: it is built, and not compared.

        Another version may have said the same in other words.
        """
        try:
            kind = KINDS[str(public["kind"])].from_dict(public)
            frozen = {name: public[name] for name in ("admission", "waves", "about")}
            title, wire = text_of(public["title"], "the title"), public["mechanism"]["wire"]
            campaign = cls(title, kind, wire=wire, **frozen)
            checked_promise(kind, insist=True)
            _ = public["guarantee"]["epsilon"]
        except ParameterError as error:
            raise InputError(f"this campaign cannot be answered: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise InputError("this is not the public document of a campaign") from None
        return campaign

    def epsilon(self) -> float:
        """For the campaign's unit, over all waves; rounded up."""
        promise = checked_promise(self.kind, insist=True)
        return up(self.waves * Fraction(promise.epsilon))


def _without_remarks(public: Mapping[str, Any]) -> dict[str, Any]:
    """A document without what may be put into other words: assumptions, and what is not promised."""
    stated = public["guarantee"]
    numbers = {name: stated[name] for name in stated if name not in ("assumptions", "not_promised")}
    return {**public, "guarantee": numbers}
