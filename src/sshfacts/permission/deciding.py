"""The stage `decide`: the rule, with what people decided about this call while the service runs."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version

import sqlalchemy as sa

from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.approvals import Approvals, Claim, Standing, may_not_approve, subject_of
from sshfacts.permission.decision import OK, Decision, Verdict, decide
from sshfacts.permission.request import Request
from sshfacts.storage.approvals import State
from sshfacts.storage.engine import reading
from sshfacts.storage.ledger import Actor, Ledger
from sshfacts.storage.pauses import pause_of

_JUDGED_FURTHER = frozenset({OK, "arguments_invalid", "approval_required"})
"""Reasons that a pause or an approval can change."""
_NOBODY = Actor(None, "preview")


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision, and the evidence from the database that the executor checks it against."""

    decision: Decision
    approval: Standing | None = None
    paused: str | None = None
    """The pause that stops this call, by its id."""


class Decider:
    """Decides about requests on one site.

    Pauses and approvals are read for each call, so what people decide acts at once on all replicas that
    share the database. Both are looked at only for calls that are allowed but for them: nobody can make the
    database work with names that do not exist.

    Args:
        engine: of the record's database, opened for writing.
    """

    def __init__(self, site: Site, engine: sa.Engine) -> None:
        self._site = site
        self._reading = reading(engine)
        self._ledger = Ledger(engine, {"service_version": version("sshfacts"), "catalogue_digest": site.digest})
        self._approvals = Approvals(self._reading, self._ledger)

    async def decide(
        self, caller: CallerSettings, request: Request, request_id: str, by: Actor, now: datetime
    ) -> Ruling:
        """Decide about one request, and take the step of its approval that is due.

        Cancelling does not take the step back: an approval that was used for a call that went away is used.

        Raises:
            Refusal: `busy.caller`, too many calls of this caller wait for people.
            RecordUnavailable: the database does not say whether the call is paused or approved.
        """
        decision = decide(self._site, caller, request)
        if decision.reason not in _JUDGED_FURTHER:
            return Ruling(decision)
        paused = await asyncio.to_thread(pause_of, self._reading, request.tool, request.host, caller.name)
        if paused is not None:
            return Ruling(decide(self._site, caller, request, paused=paused.id), paused=paused.id)
        if decision.verdict is not Verdict.ASK:
            return Ruling(decision)
        claim = self._claim(caller, request, request_id, by, now)
        if isinstance(claim, Refusal):
            # People are not asked about a command that cannot be made.
            terms = replace(decision.terms, where=claim.where)
            return Ruling(replace(decision, terms=terms, verdict=Verdict.DENY, reason=claim.detail))
        standing = await asyncio.to_thread(self._approvals.claim, claim)
        return Ruling(decide(self._site, caller, request, standing), standing)

    def preview(self, caller: CallerSettings, request: Request, now: datetime) -> Ruling:
        """Return what would be decided now, without any step: nothing is asked, used or recorded. Blocks.

        Raises:
            RecordUnavailable: the database cannot be read.
        """
        decision = decide(self._site, caller, request)
        if decision.reason not in _JUDGED_FURTHER:
            return Ruling(decision)
        paused = pause_of(self._reading, request.tool, request.host, caller.name)
        if paused is not None:
            return Ruling(decide(self._site, caller, request, paused=paused.id), paused=paused.id)
        claim = self._claim(caller, request, "", _NOBODY, now) if decision.verdict is Verdict.ASK else None
        standing = self._approvals.look(claim) if isinstance(claim, Claim) else None
        if standing is not None and standing.state is State.GRANTED:
            standing = replace(standing, state=State.CONSUMED)
        return Ruling(decide(self._site, caller, request, standing), standing)

    def _claim(
        self, caller: CallerSettings, request: Request, request_id: str, by: Actor, now: datetime
    ) -> Claim | Refusal:
        """Return what a call that asks is put before people with, or why it is not."""
        settings = self._site.require_settings()

        def why_not(person: str) -> str | None:
            return may_not_approve(settings, person, caller.name, caller.principal)

        try:
            subject = subject_of(self._site, caller, request)
        except Refusal as refusal:
            return refusal
        return Claim(subject, request_id, by, now, settings.approvals, caller.pending_approvals, why_not)

    async def close(self) -> None:
        """End the chain of the steps that were taken.

        Raises:
            RecordUnavailable: its last record could not be written; the steps are durable.
        """
        await asyncio.to_thread(self._ledger.close)
