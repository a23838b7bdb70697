"""Triggers that keep the record append-only inside the database.

They stop a faulty program and a careless statement. Who may drop a trigger, or edit the file, is not
stopped; that only shows against hashes kept elsewhere.

The texts hold neither `%` nor `:`, since drivers and SQLAlchemy read these as parameters.
"""

import sqlalchemy as sa


def _guard(name: str, event: str, why: str, condition: str = "") -> str:
    table = name.partition("_no_")[0]
    when = f" WHEN {condition}" if condition else ""
    return f"CREATE TRIGGER {name} BEFORE {event} ON {table}{when} BEGIN SELECT RAISE(ABORT, '{why}'); END"


_SAME_ENTRY = "EXISTS (SELECT 1 FROM audit_entry WHERE id = NEW.id OR (writer_id = NEW.writer_id AND seq = NEW.seq))"
_SAME_TOKEN = "EXISTS (SELECT 1 FROM token WHERE id = NEW.id)"  # noqa: S105 - SQL, no secret
_OF_A_TOKEN = "UPDATE OF id, caller, secret_sha256, created_at"  # noqa: S105 - SQL, no secret

SQLITE_GUARDS = (
    _guard("audit_entry_no_update", "UPDATE", "the record is append-only, UPDATE is refused"),
    _guard("audit_entry_no_delete", "DELETE", "the record is append-only, DELETE is refused"),
    # REPLACE deletes the old row without firing DELETE triggers, unless that connection set recursive_triggers.
    _guard("audit_entry_no_replace", "INSERT", "the record is append-only, the row exists", _SAME_ENTRY),
    _guard("token_no_delete", "DELETE", "a token is revoked, never deleted"),
    _guard("token_no_change", _OF_A_TOKEN, "a token does not change"),
    _guard("token_no_return", "UPDATE", "a revoked token stays revoked", "OLD.revoked_at IS NOT NULL"),
    _guard("token_no_replace", "INSERT", "the token exists", _SAME_TOKEN),
)
"""The statements that make the guards, for SQLite. A guard's name is its table, `_no_`, and what it refuses."""


def missing_guards(connection: sa.Connection) -> list[str]:
    """Return the names of guards that the database lacks or has in another form.

    Migration tools do not notice a dropped trigger, and some table rebuilds drop them silently.
    """
    found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    present = set(found.scalars())
    return [guard.split()[2] for guard in SQLITE_GUARDS if guard not in present]
