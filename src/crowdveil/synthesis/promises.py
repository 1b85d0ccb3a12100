"""The promise about records, which depends on whether the domains of their columns are public."""

from __future__ import annotations

from crowdveil.guarantee import Guarantee, NoGuarantee, Promise
from crowdveil.records import Schema

UNDECLARED = NoGuarantee("the domains were read off the data, and so tell what somebody's record holds.")


def if_declared(schema: Schema, guarantee: Guarantee) -> Promise:
    """The guarantee of reports about these columns, if their domains were declared; none if not."""
    return guarantee if schema.declared else UNDECLARED
