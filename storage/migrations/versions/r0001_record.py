"""The record: entries, the tree over them, raw copies; and the state beside it: tokens, approvals, pauses."""

from typing import TypedDict

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite numbers rows by itself only for the exact type INTEGER PRIMARY KEY.
_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_INSTANT = sa.DateTime(timezone=True)


class _Where(TypedDict):
    sqlite_where: sa.TextClause
    postgresql_where: sa.TextClause


def upgrade() -> None:
    """Make every table of the first version."""
    _create_entries()
    _create_tree()
    _create_raw_copies()
    _create_state()


def _where(condition: str) -> _Where:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _create_entries() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("id", _ROW_ID, sa.Identity(always=True), nullable=False),
        sa.Column("writer_id", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("leaf_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("request_id", sa.Text),
        sa.Column("caller", sa.Text),
        sa.Column("principal", sa.Text),
        sa.Column("operation", sa.Text),
        sa.Column("host", sa.Text),
        sa.Column("effect", sa.Text),
        sa.Column("decision", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("approver", sa.Text),
        sa.Column("code", sa.Text),
        sa.Column("stage", sa.Text),
        sa.Column("detail", sa.Text),
        sa.Column("exit_status", sa.BigInteger),
        sa.Column("attempts", sa.BigInteger),
        sa.Column("duration_us", sa.BigInteger),
        sa.Column("command", sa.Text),
        sa.Column("host_key", sa.Text),
        sa.Column("key_fingerprint", sa.Text),
        sa.Column("catalogue_digest", sa.Text),
        sa.Column("operation_digest", sa.Text),
        sa.Column("service_version", sa.Text),
        sa.Column("stdout_bytes", sa.BigInteger),
        sa.Column("stdout_sha256", sa.Text),
        sa.Column("stderr_bytes", sa.BigInteger),
        sa.Column("stderr_sha256", sa.Text),
        sa.Column("facts_sha256", sa.Text),
        sa.Column("deadline_at", _INSTANT),
        sa.Column("policy_digest", sa.Text),
        sa.CheckConstraint("seq >= 0", name="ck_audit_entry_seq_not_negative"),
        sa.PrimaryKeyConstraint("id", name="pk_audit_entry"),
        sa.UniqueConstraint("writer_id", "seq", name="uq_audit_entry_writer_id_seq"),
    )
    op.create_index("ix_audit_entry_approver", "audit_entry", ["approver", "at"], **_where("approver IS NOT NULL"))
    op.create_index(
        "ix_audit_entry_asked", "audit_entry", ["at", "caller", "decision", "kind"], **_where("kind = 'intent'")
    )
    op.create_index("ix_audit_entry_at", "audit_entry", ["at"])
    op.create_index("ix_audit_entry_caller", "audit_entry", ["caller", "at"], **_where("kind = 'intent'"))
    op.create_index("ix_audit_entry_config", "audit_entry", ["at"], **_where("kind = 'config'"))
    op.create_index("ix_audit_entry_failed", "audit_entry", ["at"], **_where("kind = 'outcome' AND code != 'success'"))
    op.create_index("ix_audit_entry_host", "audit_entry", ["host", "at"], **_where("kind = 'intent'"))
    op.create_index(
        "ix_audit_entry_key_fingerprint", "audit_entry", ["key_fingerprint", "at"], **_where("kind = 'outcome'")
    )
    op.create_index("ix_audit_entry_operation", "audit_entry", ["operation", "at"], **_where("kind = 'intent'"))
    op.create_index(
        "ix_audit_entry_operation_digest",
        "audit_entry",
        ["operation_digest", "operation", "at", "kind"],
        **_where("kind = 'intent'"),
    )
    op.create_index("ix_audit_entry_raw_read", "audit_entry", ["at"], **_where("kind = 'raw_read'"))
    op.create_index(
        "ix_audit_entry_refused", "audit_entry", ["at"], **_where("kind = 'intent' AND decision != 'allow'")
    )
    op.create_index("ix_audit_entry_request", "audit_entry", ["request_id", "kind"])
    op.create_index("ix_audit_entry_stdout_sha256", "audit_entry", ["stdout_sha256"], **_where("kind = 'outcome'"))
    op.create_index("ix_audit_entry_writer", "audit_entry", ["at"], **_where("kind IN ('writer_start', 'writer_stop')"))


def _create_tree() -> None:
    op.create_table(
        "audit_leaf",
        sa.Column("leaf_index", _ROW_ID, autoincrement=False, nullable=False),
        sa.Column("entry_id", sa.BigInteger, nullable=False),
        sa.Column("leaf_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["audit_entry.id"], name="fk_audit_leaf_entry_id"),
        sa.PrimaryKeyConstraint("leaf_index", name="pk_audit_leaf"),
        sa.UniqueConstraint("entry_id", name="uq_audit_leaf_entry_id"),
    )
    op.create_table(
        "audit_tile",
        sa.Column("level", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("idx", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("hashes", sa.LargeBinary(length=8192), nullable=False),
        sa.PrimaryKeyConstraint("level", "idx", name="pk_audit_tile"),
    )
    op.create_table(
        "audit_checkpoint",
        sa.Column("tree_size", _ROW_ID, autoincrement=False, nullable=False),
        sa.Column("root_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("tree_size", name="pk_audit_checkpoint"),
    )


def _create_raw_copies() -> None:
    op.create_table(
        "audit_raw",
        sa.Column("blob_id", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("retain_until", _INSTANT, nullable=False),
        sa.Column("kek_id", sa.Text, nullable=False),
        sa.Column("wrapped_dek", sa.LargeBinary, nullable=False),
        sa.Column("nonce", sa.LargeBinary(length=12), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("blob_id", name="pk_audit_raw"),
    )
    op.create_index("ix_audit_raw_kek_id", "audit_raw", ["kek_id"])
    op.create_index("ix_audit_raw_request_id", "audit_raw", ["request_id"])
    op.create_index("ix_audit_raw_retain_until", "audit_raw", ["retain_until"])


def _create_state() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("caller", sa.Text),
        sa.Column("person", sa.Text),
        sa.Column("secret_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("revoked_at", _INSTANT),
        sa.CheckConstraint("(caller IS NULL) <> (person IS NULL)", name="ck_token_one_holder"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
    )
    op.create_table(
        "approval",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("binding", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("principal", sa.Text),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("effect", sa.Text, nullable=False),
        sa.Column("catalogue_digest", sa.Text, nullable=False),
        sa.Column("operation_digest", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("asked_at", _INSTANT, nullable=False),
        sa.Column("expires_at", _INSTANT, nullable=False),
        sa.Column("approver", sa.Text),
        sa.Column("decided_at", _INSTANT),
        sa.Column("consumed_by", sa.Text),
        sa.CheckConstraint("state IN ('asked', 'granted', 'refused', 'expired', 'consumed')", name="ck_approval_state"),
        sa.PrimaryKeyConstraint("id", name="pk_approval"),
    )
    op.create_index("ix_approval_binding", "approval", ["binding", "asked_at"])
    op.create_index("ix_approval_caller", "approval", ["caller", "state"])
    op.create_index("uq_approval_open", "approval", ["binding"], unique=True, **_where("state IN ('asked', 'granted')"))
    op.create_table(
        "pause",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("operation", sa.Text),
        sa.Column("host", sa.Text),
        sa.Column("caller", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("paused_by", sa.Text, nullable=False),
        sa.Column("paused_at", _INSTANT, nullable=False),
        sa.Column("resumed_by", sa.Text),
        sa.Column("resumed_at", _INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_pause"),
    )
    op.create_index("ix_pause_active", "pause", ["paused_at"], **_where("resumed_at IS NULL"))
