"""The table of pauses: what people stopped, until they resume it.

A pause is read by each call, so it acts at once on all replicas that share the database.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from sshfacts.storage.engine import transaction
from sshfacts.storage.ledger import Actor, Change, change_once
from sshfacts.storage.tables import PAUSE
from sshfacts.values import JsonObject


@dataclass(frozen=True, slots=True)
class Scope:
    """Which calls are paused: those that match each member that is given; without any, all of them."""

    operation: str | None = None
    host: str | None = None
    caller: str | None = None

    def __str__(self) -> str:
        given = [f"{name} {value}" for name, value in self.as_dict().items() if value is not None]
        return ", ".join(given) or "everything"

    def as_dict(self) -> dict[str, str | None]:
        """Return the three members by name."""
        return {"operation": self.operation, "host": self.host, "caller": self.caller}


@dataclass(frozen=True, slots=True)
class Pause:
    """One pause that is in force."""

    id: str
    scope: Scope
    reason: str
    paused_by: str
    paused_at: datetime


def active(engine: sa.Engine) -> list[Pause]:
    """Return every pause that is in force, the oldest first.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    statement = sa.select(PAUSE).where(PAUSE.c.resumed_at.is_(None)).order_by(PAUSE.c.paused_at, PAUSE.c.id)
    with transaction(engine) as connection:
        return [_pause(row) for row in connection.execute(statement)]


def pause_of(engine: sa.Engine, operation: str, host: str, caller: str) -> Pause | None:
    """Return a pause that stops this call, or `None`.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read; then the call may be paused.
    """
    call = {"operation": operation, "host": host, "caller": caller}
    matches = [sa.or_(PAUSE.c[name].is_(None), PAUSE.c[name] == value) for name, value in call.items()]
    statement = sa.select(PAUSE).where(PAUSE.c.resumed_at.is_(None), *matches).order_by(PAUSE.c.paused_at).limit(1)
    with transaction(engine) as connection:
        row = connection.execute(statement).one_or_none()
    return None if row is None else _pause(row)


def pause(engine: sa.Engine, scope: Scope, reason: str, person: str, by: Actor) -> Pause:
    """Pause the calls of a scope from now on.

    Args:
        engine: opened for writing.
        person: who pauses it.

    Raises:
        RecordUnavailable: the database cannot be written, so nothing is paused.
    """
    made = Pause(f"pau.{secrets.token_hex(10)}", scope, reason, person, datetime.now(UTC))

    def apply(connection: sa.Connection) -> Change[Pause]:
        row = {**scope.as_dict(), "id": made.id, "reason": reason, "paused_by": person, "paused_at": made.paused_at}
        connection.execute(sa.insert(PAUSE).inline(), [row])
        return Change(made, [_body("paused", made, reason, by)])

    return change_once(engine, apply)


def resume(engine: sa.Engine, scope: Scope, reason: str, person: str, by: Actor) -> list[Pause]:
    """End the pauses of exactly this scope, and return them; what other pauses cover stays paused.

    Raises:
        RecordUnavailable: the database cannot be written, so nothing is resumed.
    """

    def apply(connection: sa.Connection) -> Change[list[Pause]]:
        same = [PAUSE.c[name].is_not_distinct_from(value) for name, value in scope.as_dict().items()]
        statement = sa.select(PAUSE).where(PAUSE.c.resumed_at.is_(None), *same)
        ended = [_pause(row) for row in connection.execute(statement)]
        now = datetime.now(UTC)
        for one in ended:
            still_paused = sa.and_(PAUSE.c.id == one.id, PAUSE.c.resumed_at.is_(None))
            connection.execute(sa.update(PAUSE).where(still_paused).values(resumed_at=now, resumed_by=person))
        return Change(ended, [_body("resumed", one, reason, by) for one in ended])

    return change_once(engine, apply)


def _body(step: str, one: Pause, because: str, by: Actor) -> JsonObject:
    return {
        "kind": "pause",
        "reason": step,
        "pause": one.id,
        **one.scope.as_dict(),
        "because": because,
        **by.as_json(),
    }


def _pause(row: sa.Row[tuple[object, ...]]) -> Pause:
    return Pause(row.id, Scope(row.operation, row.host, row.caller), row.reason, row.paused_by, row.paused_at)
