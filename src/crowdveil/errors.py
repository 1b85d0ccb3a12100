"""All errors that crowdveil raises on purpose.

    CrowdveilError
    ├── InputError        the data cannot be used; names file, row and column, never a cell
    ├── ParameterError    an option or argument is out of bounds; shows its value
    │   └── BudgetExceeded    a charge would exceed a dataset's budget (crowdveil.ledger)
    ├── OutputError       a result cannot be written where it was asked for
    ├── EngineError       a cluster did not finish what it was given
    └── MissingExtra      an optional package is not installed; says how to install it

Any other exception is a bug in crowdveil.
"""


class CrowdveilError(Exception):
    """Base of all errors that the caller can correct."""


class InputError(CrowdveilError):
    """The input data cannot be used as they are."""


class ParameterError(CrowdveilError, ValueError):
    """An option or argument is out of bounds."""


class OutputError(CrowdveilError):
    """A result cannot be written."""


class EngineError(CrowdveilError):
    """A cluster did not finish what it was given."""


class MissingExtra(CrowdveilError):  # noqa: N818, it reads as what happened
    """What was asked for needs a package that is not installed."""
