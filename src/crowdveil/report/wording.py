"""Numbers and sentences in readable form."""

from __future__ import annotations

import textwrap
from decimal import ROUND_CEILING, Decimal
from math import exp

from crowdveil.guarantee import rounded_up

WIDTH = 92


def percent(share: float) -> str:
    """A share in percent with one decimal, rounded up."""
    shown = (Decimal(repr(share)) * 100).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return "almost 100 %" if shown >= 100 else f"{f'{shown:f}'.removesuffix('.0')} %"


def times_as_likely(epsilon: float) -> str:
    """e^epsilon in words."""
    if epsilon == 0:
        return "exactly as likely"
    return (
        "perhaps more than a million times as likely"
        if epsilon > 13.8
        else f"at most {rounded_up(exp(epsilon), 3)} times as likely"
    )


def sentence(text: str) -> str:
    """A text with a capital first letter and a full stop at the end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Lines of at most `WIDTH` characters with indents `first` and `rest`; "%" stays with its number."""
    unbroken = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(unbroken, WIDTH, initial_indent=first, subsequent_indent=rest)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
