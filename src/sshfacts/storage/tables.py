"""The tables of the audit database, as SQLAlchemy Core, for SQLite and PostgreSQL alike.

`audit_entry` holds every record. Its `body` is the text that is hashed; every other column is a
projection of the body (`storage.projection`) for queries, and proves nothing by itself.
`token` holds hashes of callers' tokens, so that a revocation acts at once on all replicas.
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
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
    sa.UniqueConstraint("writer_id", "seq"),
    sa.CheckConstraint("seq >= 0", name="seq_not_negative"),
)

TOKEN = sa.Table(
    "token",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("caller", sa.Text, nullable=False),
    sa.Column("secret_sha256", sa.LargeBinary(32), nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("revoked_at", Instant),
)


def _index(name: str, *columns: sa.ColumnElement[object], where: sa.ColumnElement[bool] | None = None) -> sa.Index:
    return sa.Index(f"ix_audit_entry_{name}", *columns, sqlite_where=where, postgresql_where=where)


_IS_INTENT = ENTRY.c.kind == "intent"
_IS_OUTCOME = ENTRY.c.kind == "outcome"

# One index for each question that auditors ask; all of them together cost 0.35 KB a row.
_index("request", ENTRY.c.request_id, ENTRY.c.kind)
_index("at", ENTRY.c.at)
_index("caller", ENTRY.c.caller, ENTRY.c.at, where=_IS_INTENT)
_index("host", ENTRY.c.host, ENTRY.c.at, where=_IS_INTENT)
_index("operation", ENTRY.c.operation, ENTRY.c.at, where=_IS_INTENT)
_index("operation_digest", ENTRY.c.operation_digest, ENTRY.c.at, where=_IS_INTENT)
_index("refused", ENTRY.c.decision, ENTRY.c.at, where=sa.and_(_IS_INTENT, ENTRY.c.decision != "allow"))
_index("approver", ENTRY.c.approver, ENTRY.c.at, where=ENTRY.c.approver.is_not(None))
_index("failed", ENTRY.c.code, ENTRY.c.at, where=sa.and_(_IS_OUTCOME, ENTRY.c.code != "success"))
_index("key_fingerprint", ENTRY.c.key_fingerprint, ENTRY.c.at, where=_IS_OUTCOME)
_index("stdout_sha256", ENTRY.c.stdout_sha256, where=_IS_OUTCOME)
