"""The tables of the audit database, as SQLAlchemy Core, for SQLite and PostgreSQL alike.

`audit_entry` holds every record. Its `body` is the text that is hashed; every other column is a
projection of the body (`storage.projection`) for queries, and proves nothing by itself.
`audit_leaf`, `audit_tile` and `audit_checkpoint` are the signed tree over all records; `audit_raw` holds encrypted
copies of outputs, and is the one table of the record from which rows go, when their time is over.
`token` holds hashes of the tokens of callers and people; `approval` what agents ask people for and what became of
it; `pause` what people stopped. These three are state, so that a change acts at once on all replicas; how it came
to be is told by records, which are written in the same transactions (`storage.ledger`).
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only for the exact type "INTEGER PRIMARY KEY".
_ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


class Instant(sa.TypeDecorator[datetime]):
    """An aware instant: timestamptz on PostgreSQL, sortable UTC text on SQLite.

    SQLAlchemy's own type drops the offset on SQLite without converting, which turns 23:00+02:00 into 23:00.
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; a naive value is a fault of the program."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant without a time zone")
        in_utc = value.astimezone(UTC)
        return in_utc.replace(tzinfo=None) if dialect.name == "sqlite" else in_utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Give every instant back in UTC, whatever the session's time zone is."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# Columns have no lengths and no narrow integers: one row that a database refuses would fail its whole batch.
ENTRY = sa.Table(
    "audit_entry",
    METADATA,
    # Identity, so that the service's role needs no right on a sequence.
    sa.Column("id", _ROW_ID, sa.Identity(always=True), primary_key=True),
    # As in the body: a native UUID would be shown with dashes by one database and without by the other.
    sa.Column("writer_id", sa.Text, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("leaf_hash", sa.LargeBinary(32), nullable=False),
    # Text and never JSON: jsonb drops duplicate names and reorders, and this is what is hashed.
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
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
    # These two let a role that may not read bodies close the intents of calls that were cut off, and see whether
    # what a site allows is what was recorded last.
    sa.Column("deadline_at", Instant),
    sa.Column("policy_digest", sa.Text),
    sa.UniqueConstraint("writer_id", "seq"),
    sa.CheckConstraint("seq >= 0", name="seq_not_negative"),
)

LEAF = sa.Table(
    "audit_leaf",
    METADATA,
    # The order of all records, given by the sealer: dense from 0. Two sealers cannot both give one place.
    sa.Column("leaf_index", _ROW_ID, primary_key=True, autoincrement=False),
    sa.Column("entry_id", sa.BigInteger, sa.ForeignKey(ENTRY.c.id), nullable=False, unique=True),
    sa.Column("leaf_hash", sa.LargeBinary(32), nullable=False),
)

TILE = sa.Table(
    "audit_tile",
    METADATA,
    # Full tiles of the Merkle tree only, 256 hashes wide (C2SP tlog-tiles).
    sa.Column("level", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hashes", sa.LargeBinary(256 * 32), nullable=False),
)

CHECKPOINT = sa.Table(
    "audit_checkpoint",
    METADATA,
    sa.Column("tree_size", _ROW_ID, primary_key=True, autoincrement=False),
    sa.Column("root_hash", sa.LargeBinary(32), nullable=False),
    # The signed text (C2SP tlog-checkpoint). It holds no time, so `at` is a convenience and proves nothing.
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
)

RAW = sa.Table(
    "audit_raw",
    METADATA,
    sa.Column("blob_id", sa.Text, primary_key=True),
    sa.Column("request_id", sa.Text, nullable=False, index=True),
    # stdout, stderr or facts
    sa.Column("stream", sa.Text, nullable=False),
    sa.Column("retain_until", Instant, nullable=False, index=True),
    # Name of the key that wraps this copy's own key.
    sa.Column("kek_id", sa.Text, nullable=False, index=True),
    sa.Column("wrapped_dek", sa.LargeBinary, nullable=False),
    sa.Column("nonce", sa.LargeBinary(12), nullable=False),
    sa.Column("ciphertext", sa.LargeBinary, nullable=False),
)

TOKEN = sa.Table(
    "token",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    # A caller and a person may have the same name, and are not the same for that.
    sa.Column("caller", sa.Text),
    sa.Column("person", sa.Text),
    sa.Column("secret_sha256", sa.LargeBinary(32), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("revoked_at", Instant),
    sa.CheckConstraint("(caller IS NULL) <> (person IS NULL)", name="one_holder"),
)

APPROVAL = sa.Table(
    "approval",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    # SHA-256 (hex) over everything that the approval is bound to.
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
    # The request that asked first.
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("asked_at", Instant, nullable=False),
    # Until when a person may decide, then until when the grant may be used.
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("approver", sa.Text),
    sa.Column("decided_at", Instant),
    # The request that used it.
    sa.Column("consumed_by", sa.Text),
    sa.CheckConstraint("state IN ('asked', 'granted', 'refused', 'expired', 'consumed')", name="state"),
)
_IS_OPEN = APPROVAL.c.state.in_(["asked", "granted"])
# One open approval for one call, however many replicas are asked at once.
sa.Index("uq_approval_open", APPROVAL.c.binding, unique=True, sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN)
sa.Index("ix_approval_binding", APPROVAL.c.binding, APPROVAL.c.asked_at)
sa.Index("ix_approval_caller", APPROVAL.c.caller, APPROVAL.c.state)

PAUSE = sa.Table(
    "pause",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    # What is paused: calls that match every one of the three that is given.
    sa.Column("operation", sa.Text),
    sa.Column("host", sa.Text),
    sa.Column("caller", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("paused_by", sa.Text, nullable=False),
    sa.Column("paused_at", Instant, nullable=False),
    sa.Column("resumed_by", sa.Text),
    sa.Column("resumed_at", Instant),
)
_IS_PAUSED = PAUSE.c.resumed_at.is_(None)
# Looked at by each call, so that it stays as small as what is paused now.
sa.Index("ix_pause_active", PAUSE.c.paused_at, sqlite_where=_IS_PAUSED, postgresql_where=_IS_PAUSED)


def _index(name: str, *columns: sa.ColumnElement[object], where: sa.ColumnElement[bool] | None = None) -> sa.Index:
    return sa.Index(f"ix_audit_entry_{name}", *columns, sqlite_where=where, postgresql_where=where)


_IS_INTENT = ENTRY.c.kind == "intent"
_IS_OUTCOME = ENTRY.c.kind == "outcome"

# One index for each question that auditors ask; all of them together cost 0.44 KB a row.
_index("request", ENTRY.c.request_id, ENTRY.c.kind)
_index("at", ENTRY.c.at)
_index("caller", ENTRY.c.caller, ENTRY.c.at, where=_IS_INTENT)
_index("host", ENTRY.c.host, ENTRY.c.at, where=_IS_INTENT)
_index("operation", ENTRY.c.operation, ENTRY.c.at, where=_IS_INTENT)
# These two hold all that their questions read: a version or a week would have tens of thousands of rows to look up.
# `kind` is among it, since SQLite looks it up although the condition of the index says it.
_index("operation_digest", ENTRY.c.operation_digest, ENTRY.c.operation, ENTRY.c.at, ENTRY.c.kind, where=_IS_INTENT)
_index("asked", ENTRY.c.at, ENTRY.c.caller, ENTRY.c.decision, ENTRY.c.kind, where=_IS_INTENT)
_index("refused", ENTRY.c.at, where=sa.and_(_IS_INTENT, ENTRY.c.decision != "allow"))
_index("approver", ENTRY.c.approver, ENTRY.c.at, where=ENTRY.c.approver.is_not(None))
_index("failed", ENTRY.c.at, where=sa.and_(_IS_OUTCOME, ENTRY.c.code != "success"))
_index("key_fingerprint", ENTRY.c.key_fingerprint, ENTRY.c.at, where=_IS_OUTCOME)
_index("stdout_sha256", ENTRY.c.stdout_sha256, where=_IS_OUTCOME)
_index("config", ENTRY.c.at, where=ENTRY.c.kind == "config")
_index("writer", ENTRY.c.at, where=ENTRY.c.kind.in_(["writer_start", "writer_stop"]))
_index("raw_read", ENTRY.c.at, where=ENTRY.c.kind == "raw_read")
