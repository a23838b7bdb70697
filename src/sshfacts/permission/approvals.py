"""Approvals: what one is bound to, who may give it, and how a call comes by it.

    same call, the first time      asked       APPROVAL_REQUIRED with the id of a new approval
    same call, while it waits      asked       the same id
    same call, after the grant     consumed    runs, once
    same call, after a refusal     refused     DENIED, until the time in which it could be decided is over
    same call, too late            expired     DENIED, once; then it is asked anew

Any other call, another caller, or another catalogue has another binding, and so no approval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from sshfacts.commands.render import render
from sshfacts.commands.settings import ApprovalSettings, CallerSettings, Role, Settings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.request import Request
from sshfacts.schemas.envelope import new_approval_id
from sshfacts.storage import approvals as table
from sshfacts.storage.approvals import Approval, State, Subject
from sshfacts.storage.canonical import dumps
from sshfacts.storage.engine import transaction
from sshfacts.storage.ledger import Actor, Change, Ledger
from sshfacts.values import JsonObject

_FORMAT = 1
"""Part of every binding; raised when the way of binding changes."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a call stands with the people it was put before."""

    state: State
    id: str
    binding: str
    approver: str | None = None
    """Who decided."""

    @property
    def is_consumed(self) -> bool:
        """Whether this call, and no other one, may run on it."""
        return self.state is State.CONSUMED


def subject_of(site: Site, caller: CallerSettings, request: Request) -> Subject:
    """Return what an approval of this call is bound to, and what its approver sees.

    The principal is a part of it: an agent that works for somebody else is put before people anew, since the
    one who approved may be the one it works for now.

    Args:
        request: allowed but for the approval.

    Raises:
        Refusal: `arguments_invalid`, the command cannot be made.
    """
    operation = site.operations[request.tool]
    bound: JsonObject = {
        "format": _FORMAT,
        "caller": caller.name,
        "principal": caller.principal,
        "operation": operation.name,
        "arguments": request.arguments,
        "host": request.host,
        "catalogue_digest": site.digest,
    }
    command = render(operation, request.arguments)
    return Subject(
        binding=sha256(dumps(bound)).hexdigest(),
        caller=caller.name,
        principal=caller.principal,
        operation=operation.name,
        host=request.host,
        arguments=request.arguments,
        command=command,
        effect=operation.effect.value,
        catalogue_digest=site.digest,
        operation_digest=operation.digest,
    )


def may_not_approve(settings: Settings, person: str, caller: str, principal: str | None) -> str | None:
    """Return why a person may not decide about calls of a caller; `None` means that the person may.

    Names that differ only in case are taken for one person: two mail addresses that do are.
    """
    known = settings.people.get(person)
    if known is None or Role.APPROVER not in known.roles:
        return f"{person} is no approver"
    if person.casefold() == caller.casefold():
        return f"{person} is the caller"
    if principal is not None and person.casefold() == principal.casefold():
        return f"the caller works for {person}"
    return None


@dataclass(frozen=True, slots=True)
class Claim:
    """One call that asks: what it asks for, and by which rules."""

    subject: Subject
    request_id: str
    by: Actor
    now: datetime
    rules: ApprovalSettings
    most_waiting: int
    """How many approvals of this caller may wait for a person."""
    may_not_approve: Callable[[str], str | None]
    """Why a person may not decide about this call, now."""


class Approvals:
    """The approvals in the database, as calls meet them. All methods block.

    Args:
        reading: engine for looking only, so that a call that asks again and again takes no lock.
        ledger: of the same database.
    """

    def __init__(self, reading: sa.Engine, ledger: Ledger) -> None:
        self._reading = reading
        self._ledger = ledger

    def claim(self, claim: Claim) -> Standing:
        """Return where a call stands, after the step that is due: consumed, expired, or asked anew.

        Raises:
            Refusal: `busy.caller`, too many of this caller's calls wait for people.
            RecordUnavailable: the step is not known to be durable and on record.
        """
        standing = self.look(claim)
        if standing is not None and standing.state in (State.ASKED, State.REFUSED):
            return standing
        return self._ledger.change(lambda connection: _settle(connection, claim))

    def look(self, claim: Claim) -> Standing | None:
        """Return where a call stands, without any step; `None` means that it would be asked anew.

        A state of `granted` means that the call would run.

        Raises:
            RecordUnavailable: the database cannot be read.
        """
        with transaction(self._reading) as connection:
            found = table.latest(connection, claim.subject.binding)
        if found is None or _is_past(found, claim.now):
            return None
        return _standing(found, State.EXPIRED if _has_expired(found, claim) else found.state)


def _settle(connection: sa.Connection, claim: Claim) -> Change[Standing]:
    """Take the step that is due, in one transaction with its record."""
    found = table.latest(connection, claim.subject.binding)
    if found is not None and not _is_past(found, claim.now):
        step = _step(connection, found, claim)
        if step is not None:
            return step
    return _ask(connection, claim)


def _step(connection: sa.Connection, found: Approval, claim: Claim) -> Change[Standing] | None:
    """Take a step of an approval that counts; `None` means that another call was quicker."""
    if _has_expired(found, claim):
        if not table.expire(connection, found):
            return None
        record = table.body(found, State.EXPIRED, claim.by, claim.now, claim.request_id)
        return Change(_standing(found, State.EXPIRED), [record])
    if found.state is not State.GRANTED:
        return Change(_standing(found, found.state))
    if not table.consume(connection, found, claim.request_id, claim.now):
        return None
    record = table.body(found, State.CONSUMED, claim.by, claim.now, claim.request_id)
    return Change(_standing(found, State.CONSUMED), [record])


def _ask(connection: sa.Connection, claim: Claim) -> Change[Standing]:
    if table.waiting(connection, claim.subject.caller, claim.now) >= claim.most_waiting:
        raise Refusal("busy.caller", f"{claim.most_waiting} calls wait for a person")
    until = claim.now + timedelta(seconds=claim.rules.wait)
    asked = Approval(new_approval_id(), State.ASKED, claim.subject, claim.request_id, claim.now, until)
    if table.ask(connection, asked):
        return Change(_standing(asked, State.ASKED), [table.body(asked, State.ASKED, claim.by, claim.now)])
    # Another replica asked for the same call in this moment; its approval is the one.
    other = table.latest(connection, claim.subject.binding)
    if other is None:
        raise Refusal("internal", "an approval that is open and is not there")
    return Change(_standing(other, State.ASKED))


def _is_past(found: Approval, now: datetime) -> bool:
    """Whether an approval counts for nothing any more, so that the call is asked anew."""
    return found.state in (State.CONSUMED, State.EXPIRED) or (found.state is State.REFUSED and found.is_over(now))


def _has_expired(found: Approval, claim: Claim) -> bool:
    """Whether an open approval is too old, or was given by somebody who may not give it any more."""
    if found.state not in table.OPEN:
        return False
    if found.approver is not None and claim.may_not_approve(found.approver) is not None:
        return True
    return found.is_over(claim.now)


def _standing(found: Approval, state: State) -> Standing:
    return Standing(state, found.id, found.subject.binding, found.approver)
