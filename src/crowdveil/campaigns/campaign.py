"""A campaign: everything that is frozen once it opens, as the operator asks for it and as devices see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from crowdveil.campaigns.kind import Kind, text_of
from crowdveil.campaigns.registry import KINDS
from crowdveil.campaigns.request import options_of
from crowdveil.campaigns.statement import Admission, checked_promise, guarantee
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
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
        if self.wire != VERSION:
            raise ParameterError(
                f"this campaign opened with version {self.wire} of the reports' form, and this version of "
                f"crowdveil speaks {VERSION}"
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
        """The campaign of a public document. What is promised is computed, and must be what it says.

        `InputError` for a document that no campaign has, or that promises something else than holds.
        """
        try:
            kind = KINDS[str(public["kind"])].from_dict(public)
            frozen = {name: public[name] for name in ("title", "admission", "waves", "about")}
            campaign = cls(kind=kind, wire=public["mechanism"]["wire"], **frozen)
            checked_promise(kind, insist=True)
            stated = public["guarantee"]
            if any(
                stated[name] != campaign.guarantee[name]
                for name in ("epsilon", "delta", "unit", "levels", "all_waves")
            ):
                raise InputError("the campaign promises something else than its mechanism holds")
        except ParameterError as error:
            raise InputError(f"this campaign cannot be answered: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise InputError("this is not the public document of a campaign") from None
        return campaign

    def epsilon(self) -> float:
        """For the campaign's unit, over all waves."""
        promise = checked_promise(self.kind, insist=True)
        assert isinstance(promise, Guarantee)
        return promise.epsilon * self.waves
