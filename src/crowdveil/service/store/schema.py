"""The tables. Times are ISO 8601 texts in UTC, so that both databases keep and order them alike.

A report is a row with a unique (campaign, wave, place). It has three lives: *asked* (the place is given, seq
and payload are null), *received* (both are there), *withdrawn* (the payload is gone, the place stays taken).
`waves.received` counts up with every report under the lock of its row and gives each one its `seq`: whoever
has read all up to some seq has missed none.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

DIGEST = 16  # bytes: nobody finds two tokens with the same ones

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
_Time = String(32)


def _campaign(*, primary_key: bool = True) -> Column[int]:
    owner = ForeignKey("campaigns.number", ondelete="CASCADE")
    if primary_key:
        return Column("campaign", Integer, owner, primary_key=True)
    return Column("campaign", Integer, owner, nullable=False, index=True)


operators = Table(
    "operators",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("password", Text),  # an Argon2 hash; null: tokens only
    Column("created", _Time, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("operator", Integer, ForeignKey("operators.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created", _Time, nullable=False),
    Column("expires", _Time),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("document", Text, nullable=False),  # public, as JSON; frozen
    Column("state", String(10), nullable=False),
    Column("wave", Integer, nullable=False),  # that is open, from 1
    Column("created", _Time, nullable=False),
    Column("opened", _Time),
    Column("closed", _Time),
    Column("retention", _Time),  # when everything is deleted
    Column("round_hours", Float),  # how long a round lasts at most
    Column("published", Boolean, nullable=False),
    sqlite_autoincrement=True,  # a number is never given again
)

waves = Table(
    "waves",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("seats", BigInteger, nullable=False),  # places that were given
    Column("received", BigInteger, nullable=False),  # reports that came in, withdrawn ones included
    Column("withdrawn", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),  # that is open, from 0
    Column("round_opened", _Time, nullable=False),
)

plans = Table(
    "plans",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("planned", Text, nullable=False),  # the probabilities of its questions, as JSON
)

reports = Table(
    "reports",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("place", BigInteger, primary_key=True),
    Column("participant", LargeBinary(DIGEST), nullable=False),
    Column("round", Integer, nullable=False),
    Column("seq", BigInteger),
    Column("key", LargeBinary(DIGEST)),
    Column("payload", LargeBinary),
    UniqueConstraint("participant", "wave"),  # digests of one token differ from campaign to campaign
    UniqueConstraint("campaign", "wave", "seq"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("digest", LargeBinary(DIGEST), primary_key=True),
    _campaign(primary_key=False),
    Column("created", _Time, nullable=False),
)

results = Table(
    "results",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("as_of", _Time, nullable=False),
    Column("provisional", Boolean, nullable=False),
    Column("received", BigInteger, nullable=False),  # up to this report
    Column("withdrawn", BigInteger, nullable=False),  # and after so many had gone
    Column("seconds", Float, nullable=False),  # that it took to compute
    Column("summary", Text, nullable=False),  # as JSON
)

result_files = Table(
    "result_files",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("name", String(40), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    ForeignKeyConstraint(["campaign", "wave"], ["results.campaign", "results.wave"], ondelete="CASCADE"),
)

roles = Table(
    "roles",
    metadata,
    _campaign(),
    Column("operator", Integer, ForeignKey("operators.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("role", String(10), nullable=False),
)

charges = Table(
    "charges",
    metadata,
    _campaign(),
    Column("wave", Integer, primary_key=True),
    Column("time", _Time, nullable=False),
    Column("promise", Text, nullable=False),  # as JSON
)

journal = Table(  # what operators did; it outlives campaigns
    "journal",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("time", _Time, nullable=False),
    Column("operator", String(100), nullable=False),
    Column("action", String(40), nullable=False),
    Column("campaign", String(32), index=True),
    Column("detail", Text),
)

leases = Table(  # who does the background work
    "leases",
    metadata,
    Column("name", String(20), primary_key=True),
    Column("holder", String(40)),
    Column("beat", BigInteger, nullable=False),
)
