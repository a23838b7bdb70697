"""What an approver does: look at what waits, and grant or refuse it. Agents reach none of this."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from sshfacts.commands.render import render
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal, UsageError
from sshfacts.permission.approvals import may_not_approve
from sshfacts.storage import approvals as table
from sshfacts.storage.approvals import Approval, State
from sshfacts.storage.engine import transaction
from sshfacts.storage.ledger import Actor, Change, change_once


def find(engine: sa.Engine, approval_id: str) -> Approval:
    """Return the approval of this id.

    Args:
        engine: opened for reading.

    Raises:
        UsageError: there is none.
        RecordUnavailable: the database cannot be read.
    """
    with transaction(engine) as connection:
        return _require(connection, approval_id)


def may_not_grant(site: Site, approval: Approval, person: str | None, now: datetime) -> str | None:
    """Return why `person` cannot grant this approval now, in words; `None` means that the person can.

    What the approver sees is read from this site's files, so it must be the catalogue that the call was made on.
    """
    subject = approval.subject
    reason = _may_not_decide(site, approval, person, now)
    if reason is not None:
        return reason
    operation = site.operations.get(subject.operation)
    if subject.catalogue_digest != site.digest or operation is None or operation.digest != subject.operation_digest:
        return "the catalogue has changed since the call was made; the agent must make it again"
    try:
        command = render(operation, subject.arguments)
    except Refusal:
        command = None
    return None if command == subject.command else "the command would be another one than the one asked for"


def grant(engine: sa.Engine, site: Site, approval_id: str, by: Actor, now: datetime) -> Approval:
    """Let the same call run once, if it is made again in time.

    Args:
        engine: opened for writing.
        by: the person who grants it, known by a token.
        now: aware.

    Raises:
        UsageError: there is no such approval, or this person cannot grant it now.
        RecordUnavailable: the grant is not known to be durable and on record.
    """
    until = now + timedelta(seconds=site.require_settings().approvals.use)

    def apply(connection: sa.Connection) -> Change[Approval]:
        approval = _require(connection, approval_id)
        reason = may_not_grant(site, approval, by.person, now)
        if reason is not None or not table.grant(connection, approval, str(by.person), now, until):
            raise UsageError(f"not approved: {reason or _NO_LONGER_ASKED}")
        granted = _require(connection, approval_id)
        return Change(granted, [table.body(granted, State.GRANTED, by, now)])

    return change_once(engine, apply)


def refuse(engine: sa.Engine, site: Site, approval_id: str, because: str, by: Actor, now: datetime) -> Approval:
    """Refuse the call, also when it is made again, for as long as it could have waited.

    Args:
        because: what the person says, for the record; agents do not see it.

    Raises:
        UsageError: there is no such approval, or this person cannot decide about it now.
        RecordUnavailable: the refusal is not known to be durable and on record.
    """

    def apply(connection: sa.Connection) -> Change[Approval]:
        approval = _require(connection, approval_id)
        reason = _may_not_decide(site, approval, by.person, now)
        if reason is not None or not table.refuse(connection, approval, str(by.person), now):
            raise UsageError(f"not refused: {reason or _NO_LONGER_ASKED}")
        refused = _require(connection, approval_id)
        return Change(refused, [table.body(refused, State.REFUSED, by, now, because=because)])

    return change_once(engine, apply)


_NO_LONGER_ASKED = "somebody else has just decided"


def _may_not_decide(site: Site, approval: Approval, person: str | None, now: datetime) -> str | None:
    if person is None:
        return "who decides is known by a token"
    if approval.state is not State.ASKED:
        return f"it is {approval.state} already"
    if approval.is_over(now):
        return "its time is over; the agent must make the call again"
    settings, subject = site.require_settings(), approval.subject
    caller = settings.callers.get(subject.caller)
    # The one it worked for when it asked, and the one it works for now.
    for principal in {subject.principal, caller.principal if caller is not None else None}:
        reason = may_not_approve(settings, person, subject.caller, principal)
        if reason is not None:
            return reason
    return None


def _require(connection: sa.Connection, approval_id: str) -> Approval:
    approval = table.get(connection, approval_id)
    if approval is None:
        raise UsageError("there is no approval of this id; see `sshfacts approvals list`")
    return approval
