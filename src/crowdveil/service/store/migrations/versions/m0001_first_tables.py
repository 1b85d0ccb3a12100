"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "campaigns",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("opened", sa.String(length=32), nullable=True),
        sa.Column("closed", sa.String(length=32), nullable=True),
        sa.Column("retention", sa.String(length=32), nullable=True),
        sa.Column("round_hours", sa.Float(), nullable=True),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("id", name=op.f("uq_campaigns_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "journal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("time", sa.String(length=32), nullable=False),
        sa.Column("operator", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("campaign", sa.String(length=32), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_journal")),
    )
    op.create_index(op.f("ix_journal_campaign"), "journal", ["campaign"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("holder", sa.String(length=40), nullable=True),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "operators",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operators")),
        sa.UniqueConstraint("name", name=op.f("uq_operators_name")),
    )
    op.create_table(
        "charges",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("time", sa.String(length=32), nullable=False),
        sa.Column("promise", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_charges_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", name=op.f("pk_charges")),
    )
    op.create_table(
        "invitations",
        sa.Column("digest", sa.LargeBinary(length=16), nullable=False),
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_invitations_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_invitations")),
    )
    op.create_index(op.f("ix_invitations_campaign"), "invitations", ["campaign"], unique=False)
    op.create_table(
        "plans",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_plans_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", "round", name=op.f("pk_plans")),
    )
    op.create_table(
        "reports",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("participant", sa.LargeBinary(length=16), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("key", sa.LargeBinary(length=16), nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_reports_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", "place", name=op.f("pk_reports")),
        sa.UniqueConstraint("campaign", "wave", "seq", name=op.f("uq_reports_campaign_wave_seq")),
        sa.UniqueConstraint("participant", "wave", name=op.f("uq_reports_participant_wave")),
    )
    op.create_table(
        "results",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("as_of", sa.String(length=32), nullable=False),
        sa.Column("provisional", sa.Boolean(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_results_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", name=op.f("pk_results")),
    )
    op.create_table(
        "roles",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("operator", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_roles_campaign"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["operator"], ["operators.id"], name=op.f("fk_roles_operator"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "operator", name=op.f("pk_roles")),
    )
    op.create_index(op.f("ix_roles_operator"), "roles", ["operator"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("operator", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("expires", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["operator"], ["operators.id"], name=op.f("fk_tokens_operator"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tokens")),
    )
    op.create_index(op.f("ix_tokens_operator"), "tokens", ["operator"], unique=False)
    op.create_table(
        "waves",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("seats", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("round_opened", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_waves_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", name=op.f("pk_waves")),
    )
    op.create_table(
        "result_files",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign", "wave"],
            ["results.campaign", "results.wave"],
            name=op.f("fk_result_files_campaign_wave"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign"], ["campaigns.number"], name=op.f("fk_result_files_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign", "wave", "name", name=op.f("pk_result_files")),
    )
