"""Numbers as people write them, for pages and charts: 1,260 and 0.0012, never 1.26e+03.

The whole part of a number is never rounded. Only numbers of at least 1e15, or closer to 0 than 1e-15, are
written with a power of ten. What is unknown (None, NaN, infinite) is an en dash.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import floor, isfinite, log10

from crowdveil.report.language import punctuated

UNKNOWN = "\N{EN DASH}"
LARGEST, SMALLEST = 1e15, 1e-15  # between these, numbers are written out
DIGITS = 4  # significant digits of a number that stands alone
MOST_DECIMALS = 18

_MINUS, _SPACE = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
_RAISED = str.maketrans(
    "-0123456789",
    "\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}"
    "\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}\N{SUPERSCRIPT SIX}\N{SUPERSCRIPT SEVEN}"
    "\N{SUPERSCRIPT EIGHT}\N{SUPERSCRIPT NINE}",
)


def number(value: float | None, digits: int = DIGITS) -> str:
    """A number with `digits` significant digits, without zeros at the end of its decimals.

    >>> number(1260.0), number(0.00123), number(12.3e6), number(None)
    ('1,260', '0.00123', '12,300,000', '–')
    """
    if value is None or not isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if not SMALLEST <= abs(value) < LARGEST:
        return _by_power(value, digits)
    text = _plain(value, _decimals(abs(value), digits))
    return punctuated(text.rstrip("0").rstrip(".") if "." in text else text)


def decimal(value: float | None, places: int) -> str:
    """A number with a fixed number of decimals, as in a column of a table.

    >>> decimal(0.5, 3), decimal(-0.0001, 2), decimal(1234.5, 1)
    ('0.500', '0.00', '1,234.5')
    """
    if value is None or not isfinite(value):
        return UNKNOWN
    if abs(value) >= LARGEST:
        return _by_power(value, DIGITS)
    return punctuated(_plain(value, places))


def count(value: int | None) -> str:
    """A whole number.

    >>> count(15200)
    '15,200'
    """
    return UNKNOWN if value is None else punctuated(f"{value:,}".replace("-", _MINUS))


def share(value: float | None) -> str:
    """A share in percent: one decimal, or more where that would say nothing.

    >>> share(0.1234), share(0.00012), share(1)
    ('12.3\\xa0%', '0.012\\xa0%', '100.0\\xa0%')
    """
    if value is None or not isfinite(value):
        return UNKNOWN
    percent = 100 * value
    small = 0 < abs(percent) < 0.1
    return (number(percent, 2) if small else decimal(percent, 1)) + f"{_SPACE}%"


def together(values: Iterable[float | None], finest: float | None = None) -> list[str]:
    """Numbers with so many decimals that they are told apart, the same for all.

    `finest` is a difference that matters; without it, the smallest difference between two of the values.
    This is the form of an estimate with the ends of its interval, and of the ticks of an axis.

    >>> together([1260.0, 1259.98, 1260.04])
    ['1,260.00', '1,259.98', '1,260.04']
    >>> together([0.0, 2.5e6, 5e6])
    ['0', '2,500,000', '5,000,000']
    """
    numbers = list(values)
    known = [value for value in numbers if value is not None and isfinite(value)]
    largest = max((abs(value) for value in known), default=0.0)
    steps = [b - a for a, b in pairwise(sorted(set(known)))]
    step = finest or min(steps, default=0.0)
    if largest == 0 or not step > 1e-18 * largest:
        return [number(value) for value in numbers]
    if largest >= LARGEST or largest < SMALLEST:
        digits = min(17, floor(log10(largest)) - floor(log10(step) + 1e-9) + 1)
        return [number(value, max(1, digits)) for value in numbers]
    places = _places_that_part(step)
    return [decimal(value, places) for value in numbers]


def interval(estimate: float | None, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """An estimate and the ends of its interval: as many decimals as its length is worth, at least two digits.

    >>> interval(20.4567, 20.1234, 20.7912)
    ('20.46', '20.12', '20.79')
    >>> interval(3.14159, None, None)
    ('3.142', '–', '–')
    """
    if lower is None or upper is None or not 0 < upper - lower < float("inf"):
        return number(estimate), number(lower), number(upper)
    finest = 10.0 ** floor(log10((upper - lower) / 20))
    texts = together([estimate, lower, upper], finest)
    return texts[0], texts[1], texts[2]


def _plain(value: float, places: int) -> str:
    """A number with a fixed number of decimals, in English."""
    text = f"{abs(value):,.{places}f}"
    return _MINUS + text if value < 0 and any(digit in "123456789" for digit in text) else text


def _decimals(size: float, digits: int) -> int:
    """How many decimals give `digits` significant digits."""
    return min(MOST_DECIMALS, max(0, digits - 1 - floor(log10(size))))


def _places_that_part(step: float) -> int:
    """The number of decimals that writes a step of one or two significant digits, such as 0.05 or 2.5."""
    places = max(0, -floor(log10(step) + 1e-9))
    leading = step * 10.0**places
    whole = abs(leading - round(leading)) < 1e-6 * max(1.0, leading)
    return min(MOST_DECIMALS, places if whole or leading >= 10 else places + 1)


def _by_power(value: float, digits: int) -> str:
    mantissa, power = f"{abs(value):.{max(0, digits - 1)}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    raised = str(int(power)).translate(_RAISED)
    return (
        punctuated(f"{_MINUS if value < 0 else ''}{mantissa}")
        + f"{_SPACE}\N{MULTIPLICATION SIGN}{_SPACE}10{raised}"
    )
