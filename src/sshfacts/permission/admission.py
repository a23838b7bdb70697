"""The executor's own check: nothing runs on the word of a decision alone."""

from dataclasses import dataclass
from typing import Self

from sshfacts.commands.operation import Operation
from sshfacts.commands.render import render
from sshfacts.commands.settings import CallerSettings, Host
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.approvals import Standing, may_not_approve, subject_of
from sshfacts.permission.decision import Decision, Verdict, derive_terms
from sshfacts.permission.request import Request
from sshfacts.values import JsonObject


@dataclass(frozen=True, slots=True)
class Admission:
    """The right to run one operation once; the run stage takes nothing else."""

    caller: CallerSettings
    operation: Operation
    host: Host
    arguments: JsonObject
    command: str
    """The exact text that is sent to the host."""

    @classmethod
    def of(
        cls,
        decision: Decision,
        site: Site,
        caller: CallerSettings,
        request: Request,
        consumed: Standing | None = None,
        paused: str | None = None,
    ) -> Self:
        """Derive the rule again from the executor's own sources, and admit only what holds in both.

        A decision can come from a cache, a queue or a bug. Its `allow` is believed only if every term
        it states is true, and every term is true here and now.

        Args:
            consumed: what the store of approvals has just consumed for this call; it must be bound to this call
                and given by somebody who may, and what the decision names counts for nothing by itself.
            paused: the pause that stops this call, if one does.

        Raises:
            Refusal: with the first term that does not hold, or the decision's own reason; or the
                arguments cannot be made a command.
        """
        if decision.verdict is not Verdict.ALLOW:
            raise decision.refusal()
        derived = derive_terms(site, caller, request, paused)
        for terms in (derived, decision.terms):
            broken = terms.refused_because(consumed)
            if broken is not None:
                raise Refusal(broken)
        needed = derived.approval_needed or decision.terms.approval_needed
        if needed and not _counts(consumed, decision, site, caller, request):
            raise Refusal("approval_required")
        operation, host = site.operations[request.tool], site.require_settings().hosts[request.host]
        return cls(caller, operation, host, request.arguments, render(operation, request.arguments))


def _counts(
    consumed: Standing | None, decision: Decision, site: Site, caller: CallerSettings, request: Request
) -> bool:
    """Tell whether an approval is for this call, and was given by somebody who is neither the caller nor behind it."""
    if consumed is None or consumed.approver is None or consumed.id != decision.approval:
        return False
    if consumed.binding != subject_of(site, caller, request).binding:
        return False
    return may_not_approve(site.require_settings(), consumed.approver, caller.name, caller.principal) is None
