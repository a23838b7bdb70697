"""The table of approvals: what callers asked people for, and what became of it.

    asked ──► granted ──► consumed
      │          │
      ├──► refused
      └──────────┴─────► expired

No step can be undone, and each is one row of `approval` and one record, in one transaction. Which step is due
is decided in `permission.approvals`; here it is only carried out, and only from the state it belongs to.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sshfacts.storage.canonical import dumps, rfc3339
from sshfacts.storage.engine import transaction
from sshfacts.storage.ledger import Actor
from sshfacts.storage.tables import APPROVAL
from sshfacts.values import JsonObject


class State(StrEnum):
    """What became of an approval."""

    ASKED = "asked"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    CONSUMED = "consumed"


OPEN = frozenset({State.ASKED, State.GRANTED})
"""States from which another step is possible; there is one approval in them for one binding."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a person approves: exactly this call, as exactly this command."""

    binding: str
    """SHA-256 (hex) over everything that the approval is bound to."""
    caller: str
    principal: str | None
    operation: str
    host: str
    arguments: JsonObject
    command: str
    effect: str
    catalogue_digest: str
    operation_digest: str


@dataclass(frozen=True, slots=True)
class Approval:
    """One row."""

    id: str
    state: State
    subject: Subject
    request_id: str
    """The request that asked first."""
    asked_at: datetime
    expires_at: datetime
    """Until when a person may decide; once granted, until when the grant may be used."""
    approver: str | None = None
    decided_at: datetime | None = None
    consumed_by: str | None = None
    """The request that used it."""

    def is_over(self, now: datetime) -> bool:
        """Tell whether its time has passed, whatever its state says."""
        return now >= self.expires_at


def latest(connection: sa.Connection, binding: str) -> Approval | None:
    """Return the open approval of a binding, or the one that was asked for last."""
    is_open = APPROVAL.c.state.in_(sorted(OPEN))
    # Of two that are equally old, a refusal counts: by its name it stands last.
    statement = (
        sa.select(APPROVAL)
        .where(APPROVAL.c.binding == binding)
        .order_by(sa.case((is_open, 0), else_=1), APPROVAL.c.asked_at.desc(), APPROVAL.c.state.desc())
        .limit(1)
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else _approval(row)


def get(connection: sa.Connection, approval_id: str) -> Approval | None:
    """Return the approval of this id."""
    row = connection.execute(sa.select(APPROVAL).where(APPROVAL.c.id == approval_id)).one_or_none()
    return None if row is None else _approval(row)


def newest(engine: sa.Engine, limit: int, states: Collection[State]) -> list[Approval]:
    """Return approvals in one of `states`, the newest first.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    statement = (
        sa.select(APPROVAL)
        .where(APPROVAL.c.state.in_(sorted(states)))
        .order_by(APPROVAL.c.asked_at.desc(), APPROVAL.c.id)
        .limit(limit)
    )
    with transaction(engine) as connection:
        return [_approval(row) for row in connection.execute(statement)]


def waiting(connection: sa.Connection, caller: str, now: datetime) -> int:
    """Return how many approvals of a caller wait for a person."""
    is_waiting = (APPROVAL.c.caller == caller, APPROVAL.c.state == State.ASKED.value, APPROVAL.c.expires_at > now)
    found = connection.scalar(sa.select(sa.func.count()).select_from(APPROVAL).where(*is_waiting))
    return int(found or 0)


def ask(connection: sa.Connection, approval: Approval) -> bool:
    """Insert an approval in state `asked`; return False if another one of its binding is open."""
    subject = approval.subject
    row = {
        "id": approval.id,
        "binding": subject.binding,
        "state": State.ASKED.value,
        "caller": subject.caller,
        "principal": subject.principal,
        "operation": subject.operation,
        "host": subject.host,
        "arguments": dumps(subject.arguments).decode(),
        "command": subject.command,
        "effect": subject.effect,
        "catalogue_digest": subject.catalogue_digest,
        "operation_digest": subject.operation_digest,
        "request_id": approval.request_id,
        "asked_at": approval.asked_at,
        "expires_at": approval.expires_at,
    }
    try:
        # A savepoint: PostgreSQL would refuse everything after the failed statement.
        with connection.begin_nested():
            connection.execute(sa.insert(APPROVAL).inline(), [row])
    except IntegrityError:
        return False
    return True


def grant(connection: sa.Connection, approval: Approval, approver: str, now: datetime, until: datetime) -> bool:
    """Grant what is asked for and not over; return False if it is neither any more."""
    values = {"approver": approver, "decided_at": now, "expires_at": until}
    return _step(connection, approval, State.ASKED, State.GRANTED, APPROVAL.c.expires_at > now, values)


def refuse(connection: sa.Connection, approval: Approval, approver: str, now: datetime) -> bool:
    """Refuse what is asked for and not over; return False if it is neither any more."""
    values = {"approver": approver, "decided_at": now}
    return _step(connection, approval, State.ASKED, State.REFUSED, APPROVAL.c.expires_at > now, values)


def consume(connection: sa.Connection, approval: Approval, request_id: str, now: datetime) -> bool:
    """Use a grant for one request; return False if another one did, or its time is over.

    Of any number that try at once, one gets True: the database gives the row to one statement at a time,
    and the others find that it is no longer granted.
    """
    in_time = sa.and_(APPROVAL.c.expires_at > now, APPROVAL.c.approver == approval.approver)
    return _step(connection, approval, State.GRANTED, State.CONSUMED, in_time, {"consumed_by": request_id})


def expire(connection: sa.Connection, approval: Approval) -> bool:
    """Close what was not decided or not used in time; return False if it was meanwhile."""
    return _step(connection, approval, approval.state, State.EXPIRED, sa.true(), {})


def body(
    approval: Approval, state: State, by: Actor, now: datetime, request_id: str | None = None, **more: str
) -> JsonObject:
    """Return the record of one step.

    Args:
        request_id: of the request that took the step; by default the one that asked.
        more: further fields, such as what a person said.
    """
    subject = approval.subject
    return {
        "kind": "approval",
        "reason": state.value,
        "at": rfc3339(now),
        "approval": approval.id,
        "request_id": request_id or approval.request_id,
        "asked_by": approval.request_id,
        "caller": subject.caller,
        "principal": subject.principal,
        "operation": subject.operation,
        "host": subject.host,
        "effect": subject.effect,
        "arguments": subject.arguments,
        "command": subject.command,
        "binding": subject.binding,
        "catalogue_digest": subject.catalogue_digest,
        "operation_digest": subject.operation_digest,
        "approver": approval.approver,
        "expires_at": rfc3339(approval.expires_at),
        **by.as_json(),
        **more,
    }


def _step(
    connection: sa.Connection,
    approval: Approval,
    before: State,
    after: State,
    condition: sa.ColumnElement[bool],
    values: dict[str, object],
) -> bool:
    """Take one step by one statement, so that of several who try only one succeeds."""
    statement = (
        sa.update(APPROVAL)
        .where(APPROVAL.c.id == approval.id, APPROVAL.c.state == before.value, condition)
        .values(state=after.value, **values)
    )
    return connection.execute(statement).rowcount == 1


def _approval(row: sa.Row[tuple[object, ...]]) -> Approval:
    return Approval(
        id=row.id,
        state=State(row.state),
        subject=Subject(
            binding=row.binding,
            caller=row.caller,
            principal=row.principal,
            operation=row.operation,
            host=row.host,
            arguments=json.loads(row.arguments),
            command=row.command,
            effect=row.effect,
            catalogue_digest=row.catalogue_digest,
            operation_digest=row.operation_digest,
        ),
        request_id=row.request_id,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        approver=row.approver,
        decided_at=row.decided_at,
        consumed_by=row.consumed_by,
    )
