"""Triggers that keep the record append-only inside the database, and state from going backwards.

They stop a faulty program and a careless statement. Who may drop a trigger, or edit the file, is not
stopped; that only shows against hashes kept elsewhere. Those for PostgreSQL stand in `storage.guards_postgresql`.

The texts hold no `%`, and no `:` before a word, since drivers and SQLAlchemy read these as parameters.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from sshfacts.storage.guards_postgresql import FUNCTIONS, TRIGGERS

SCHEMA = "public"
"""The schema of PostgreSQL that holds the record."""


def _guard(name: str, event: str, why: str, condition: str = "") -> str:
    table = name.partition("_no_")[0]
    when = f" WHEN {condition}" if condition else ""
    return f"CREATE TRIGGER {name} BEFORE {event} ON {table}{when} BEGIN SELECT RAISE(ABORT, '{why}'); END"


def _append_only(table: str, same: str) -> tuple[str, ...]:
    return (
        _guard(f"{table}_no_update", "UPDATE", "the record is append-only, UPDATE is refused"),
        _guard(f"{table}_no_delete", "DELETE", "the record is append-only, DELETE is refused"),
        # REPLACE deletes the old row without firing DELETE triggers, unless that connection set recursive_triggers.
        _guard(f"{table}_no_replace", "INSERT", "the record is append-only, the row exists", _same(table, same)),
    )


def _same(table: str, condition: str) -> str:
    return f"EXISTS (SELECT 1 FROM {table} WHERE {condition})"  # noqa: S608 - names of ours


_RETAINED = "OLD.retain_until > datetime('now')"
_OF_A_RAW_COPY = "UPDATE OF blob_id, request_id, stream, retain_until, nonce, ciphertext"
_SAME_TOKEN = "EXISTS (SELECT 1 FROM token WHERE id = NEW.id)"  # noqa: S105 - SQL, no secret
_OF_A_TOKEN = "UPDATE OF id, caller, person, secret_sha256, created_at"  # noqa: S105 - SQL, no secret
_SAME_APPROVAL = (
    "EXISTS (SELECT 1 FROM approval WHERE id = NEW.id OR (binding = NEW.binding AND state IN ('asked', 'granted')))"
)
_OF_AN_APPROVAL = (
    "UPDATE OF id, binding, caller, principal, operation, host, arguments, command, effect, catalogue_digest,"
    " operation_digest, request_id, asked_at"
)
_NO_STEP_OF_AN_APPROVAL = (
    "NOT ((OLD.state = 'asked' AND NEW.state IN ('granted', 'refused', 'expired'))"
    " OR (OLD.state = 'granted' AND NEW.state IN ('consumed', 'expired')))"
)
_OF_A_PAUSE = "UPDATE OF id, operation, host, caller, reason, paused_by, paused_at"

SQLITE_GUARDS = (
    *_append_only("audit_entry", "id = NEW.id OR (writer_id = NEW.writer_id AND seq = NEW.seq)"),
    *_append_only("audit_leaf", "leaf_index = NEW.leaf_index OR entry_id = NEW.entry_id"),
    *_append_only("audit_tile", "level = NEW.level AND idx = NEW.idx"),
    *_append_only("audit_checkpoint", "tree_size = NEW.tree_size"),
    _guard("audit_raw_no_early_delete", "DELETE", "a raw copy is kept until its time is over", _RETAINED),
    _guard("audit_raw_no_change", _OF_A_RAW_COPY, "only the wrapping of its key changes"),
    _guard("audit_raw_no_replace", "INSERT", "the raw copy exists", _same("audit_raw", "blob_id = NEW.blob_id")),
    _guard("token_no_delete", "DELETE", "a token is revoked, never deleted"),
    _guard("token_no_change", _OF_A_TOKEN, "a token does not change"),
    _guard("token_no_return", "UPDATE", "a revoked token stays revoked", "OLD.revoked_at IS NOT NULL"),
    _guard("token_no_replace", "INSERT", "the token exists", _SAME_TOKEN),
    _guard("approval_no_delete", "DELETE", "an approval is never deleted"),
    _guard("approval_no_change", _OF_AN_APPROVAL, "what an approval is bound to does not change"),
    _guard("approval_no_return", "UPDATE", "an approval does not go back", _NO_STEP_OF_AN_APPROVAL),
    _guard("approval_no_shortcut", "INSERT", "an approval begins as asked", "NEW.state <> 'asked'"),
    _guard("approval_no_replace", "INSERT", "the approval exists", _SAME_APPROVAL),
    _guard("pause_no_delete", "DELETE", "a pause is ended, never deleted"),
    _guard("pause_no_change", _OF_A_PAUSE, "a pause does not change"),
    _guard("pause_no_return", "UPDATE", "a pause that ended has ended", "OLD.resumed_at IS NOT NULL"),
    _guard("pause_no_replace", "INSERT", "the pause exists", "EXISTS (SELECT 1 FROM pause WHERE id = NEW.id)"),
)
"""The statements that make the guards, for SQLite. A guard's name is its table, `_no_`, and what it refuses."""


def install_statements(dialect: str) -> Iterable[str]:
    """Yield the statements that make every guard, whether it is there or not.

    Args:
        dialect: SQLAlchemy's name of the database.
    """
    if dialect == "sqlite":
        for guard in SQLITE_GUARDS:
            yield f"DROP TRIGGER IF EXISTS {_name(guard)}"
            yield guard
        return
    for function in FUNCTIONS:
        yield function.create
    for trigger in TRIGGERS:
        yield from trigger.install


def missing_guards(connection: sa.Connection) -> list[str]:
    """Return the names of guards that the database lacks or has in another form.

    Migration tools do not notice a dropped trigger, and some table rebuilds drop them silently.
    """
    if connection.dialect.name == "sqlite":
        present = set(_sqlite_triggers(connection).values())
        return [_name(guard) for guard in SQLITE_GUARDS if guard not in present]
    functions = {function.name: function.body for function in FUNCTIONS}
    found = {row.name: row for row in _postgresql_triggers(connection)}
    missing = []
    for trigger in TRIGGERS:
        row = found.get(trigger.name)
        if (
            row is None
            or (row.definition, row.enabled) != (trigger.create, "A")
            or (row.source, row.settings) != (functions[trigger.function], ["search_path=pg_catalog"])
        ):
            missing.append(trigger.name)
    return missing


def foreign_triggers(connection: sa.Connection) -> list[str]:
    """Return the names of triggers and rules on the guarded tables that are no guards.

    One of them could drop rows in silence, or write them somewhere else.
    """
    if connection.dialect.name == "sqlite":
        own = {_name(guard) for guard in SQLITE_GUARDS}
        return sorted(_sqlite_triggers(connection).keys() - own)
    own = {trigger.name for trigger in TRIGGERS}
    rules = connection.execute(
        sa.text("SELECT rulename FROM pg_rules WHERE schemaname = :schema AND tablename IN :tables").bindparams(
            *_place()
        )
    )
    return sorted({row.name for row in _postgresql_triggers(connection)} - own | set(rules.scalars()))


def guarded_tables() -> list[str]:
    """Return the names of the tables that have guards."""
    return sorted({trigger.table for trigger in TRIGGERS})


def _name(guard: str) -> str:
    return guard.split()[2]


def _sqlite_triggers(connection: sa.Connection) -> dict[str, str]:
    found = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {str(name): str(text) for name, text in found}


def _postgresql_triggers(connection: sa.Connection) -> list[sa.Row[tuple[object, ...]]]:
    statement = sa.text("""
        SELECT t.tgname AS name, t.tgenabled AS enabled, pg_get_triggerdef(t.oid, true) AS definition,
               p.prosrc AS source, p.proconfig AS settings
        FROM pg_trigger AS t
        JOIN pg_class AS c ON c.oid = t.tgrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_proc AS p ON p.oid = t.tgfoid
        WHERE NOT t.tgisinternal AND n.nspname = :schema AND c.relname IN :tables
    """)
    return list(connection.execute(statement.bindparams(*_place())))


def _place() -> tuple[sa.BindParameter[object], ...]:
    return sa.bindparam("schema", SCHEMA), sa.bindparam("tables", guarded_tables(), expanding=True)
