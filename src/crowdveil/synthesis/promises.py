"""What is promised about records, and that nothing is where domains were read off them."""

from __future__ import annotations

from crowdveil.guarantee import Guarantee, NoGuarantee, Promise
from crowdveil.records import Schema

UNDECLARED = NoGuarantee("the domains were read off the data, and so tell what somebody's record holds.")


def if_declared(schema: Schema, guarantee: Guarantee) -> Promise:
    """What reports about these columns promise; nothing, if their domains are not public."""
    return guarantee if schema.declared else UNDECLARED
