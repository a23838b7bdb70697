"""The guards for PostgreSQL: functions, and the triggers that call them.

Every trigger is `ENABLE ALWAYS`: an ordinary one is skipped in a session that sets
`session_replication_role = replica`. Conditions stand in the functions, whose text the server keeps as it is
written, so that an altered guard can be told by comparing texts.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """One trigger function. Its name is resolved, and its operators too, in `pg_catalog` alone."""

    name: str
    body: str

    @property
    def create(self) -> str:
        """The statement that makes it, or puts it right."""
        return (
            f"CREATE OR REPLACE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql"
            f" SET search_path = pg_catalog AS $${self.body}$$"
        )


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger, in the form in which `pg_get_triggerdef` shows it."""

    name: str
    event: str
    each: str
    call: str

    @property
    def table(self) -> str:
        """The table that it guards."""
        return self.name.partition("_no_")[0]

    @property
    def function(self) -> str:
        """The name of the function that it calls."""
        return self.call.partition("(")[0]

    @property
    def create(self) -> str:
        """The statement that makes it."""
        return (
            f"CREATE TRIGGER {self.name} BEFORE {self.event} ON {self.table} FOR EACH {self.each}"
            f" EXECUTE FUNCTION {self.call}"
        )

    @property
    def install(self) -> tuple[str, ...]:
        """The statements that make it, whether it is there or not."""
        return (
            f"DROP TRIGGER IF EXISTS {self.name} ON {self.table}",
            self.create,
            f"ALTER TABLE {self.table} ENABLE ALWAYS TRIGGER {self.name}",
        )


def _function(name: str, *lines: str) -> Function:
    return Function(name, "\n".join(("", "BEGIN", *(f"  {line}" for line in lines), "END", "")))


def _raise(message: str) -> str:
    return f"RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = {message};"


FUNCTIONS = (
    _function("sshfacts_refuse", _raise("TG_ARGV[0]")),
    # The arguments are the reason, and then the columns that may change.
    _function(
        "sshfacts_refuse_changes",
        "IF to_jsonb(NEW) - TG_ARGV[1 : TG_NARGS] IS DISTINCT FROM to_jsonb(OLD) - TG_ARGV[1 : TG_NARGS] THEN",
        f"  {_raise('TG_ARGV[0]')}",
        "END IF;",
        "RETURN NEW;",
    ),
    # The arguments are the reason, and the column that is set once.
    _function(
        "sshfacts_refuse_return",
        "IF to_jsonb(OLD) ->> TG_ARGV[1] IS NOT NULL THEN",
        f"  {_raise('TG_ARGV[0]')}",
        "END IF;",
        "RETURN NEW;",
    ),
    _function(
        "sshfacts_refuse_shortcut",
        "IF TG_OP = 'INSERT' AND NEW.state = 'asked'",
        "  OR TG_OP = 'UPDATE' AND OLD.state = 'asked' AND NEW.state IN ('granted', 'refused', 'expired')",
        "  OR TG_OP = 'UPDATE' AND OLD.state = 'granted' AND NEW.state IN ('consumed', 'expired') THEN",
        "  RETURN NEW;",
        "END IF;",
        _raise("TG_ARGV[0]"),
    ),
    _function(
        "sshfacts_refuse_early",
        "IF OLD.retain_until > now() THEN",
        f"  {_raise('TG_ARGV[0]')}",
        "END IF;",
        "RETURN OLD;",
    ),
)


def _statement(name: str, event: str, why: str) -> Trigger:
    return Trigger(name, event, "STATEMENT", f"sshfacts_refuse('{why}')")


def _row(name: str, event: str, function: str, *arguments: str) -> Trigger:
    quoted = ", ".join(f"'{argument}'" for argument in arguments)
    return Trigger(name, event, "ROW", f"{function}({quoted})")


_ANY_CHANGE = "DELETE OR UPDATE OR TRUNCATE"
_REMOVAL = "DELETE OR TRUNCATE"
_APPEND_ONLY = "the record is append-only"

TRIGGERS = (
    _statement("audit_entry_no_change", _ANY_CHANGE, _APPEND_ONLY),
    _statement("audit_leaf_no_change", _ANY_CHANGE, _APPEND_ONLY),
    _statement("audit_tile_no_change", _ANY_CHANGE, _APPEND_ONLY),
    _statement("audit_checkpoint_no_change", _ANY_CHANGE, _APPEND_ONLY),
    _row("audit_raw_no_early_delete", "DELETE", "sshfacts_refuse_early", "a raw copy is kept until its time is over"),
    _row(
        "audit_raw_no_change",
        "UPDATE",
        "sshfacts_refuse_changes",
        "only the wrapping of its key changes",
        "kek_id",
        "wrapped_dek",
    ),
    _statement("audit_raw_no_truncate", "TRUNCATE", "raw copies go one by one, when their time is over"),
    _statement("token_no_delete", _REMOVAL, "a token is revoked, never deleted"),
    _row("token_no_change", "UPDATE", "sshfacts_refuse_changes", "a token does not change", "revoked_at"),
    _row("token_no_return", "UPDATE", "sshfacts_refuse_return", "a revoked token stays revoked", "revoked_at"),
    _statement("approval_no_delete", _REMOVAL, "an approval is never deleted"),
    _row(
        "approval_no_change",
        "UPDATE",
        "sshfacts_refuse_changes",
        "what an approval is bound to does not change",
        "state",
        "expires_at",
        "approver",
        "decided_at",
        "consumed_by",
    ),
    _row("approval_no_shortcut", "INSERT OR UPDATE", "sshfacts_refuse_shortcut", "an approval goes step by step"),
    _statement("pause_no_delete", _REMOVAL, "a pause is ended, never deleted"),
    _row(
        "pause_no_change",
        "UPDATE",
        "sshfacts_refuse_changes",
        "a pause does not change",
        "resumed_by",
        "resumed_at",
    ),
    _row("pause_no_return", "UPDATE", "sshfacts_refuse_return", "a pause that ended has ended", "resumed_at"),
)
