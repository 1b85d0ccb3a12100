"""Claims that do not fit in memory: arrays on disk, tables of them, and how they get there."""

from crowdveil.engines.stored.by_user import StoredClaimsByUser
from crowdveil.engines.stored.claims import StoredClaims
from crowdveil.engines.stored.spilled import Spilled

__all__ = ["Spilled", "StoredClaims", "StoredClaimsByUser"]
